/*
 * The objects of one or more directories of packs, by name: all copies of each
 * object, and flags that verify, prune and repair set while they visit every
 * object. Other code asks the store.
 *
 * Order of calls: load; find and read; free. The inventory shows the
 * directories as they were at load; packs stay mapped, so that renamed and
 * deleted packs remain readable. Not thread-safe.
 */
#ifndef GUARD_SNAPSHOT_STORE_INVENTORY_H
#define GUARD_SNAPSHOT_STORE_INVENTORY_H

#include "snapshot/store/pack.h"
#include "snapshot/store/store.h"

/* Flags of one copy of an object. */
enum copy_flags {
	COPY_BAD = 1, /* the bytes cannot be read, or do not match the name */
	/* Flags of a name, stored at its first copy. */
	COPY_REACHED = 2,
	COPY_TAINTED = 4, /* the object, or an object that it refers to, is
			     lost */
	COPY_KEPT = 8, /* for prune: the name will be in a pack that stays */
};

struct inventory_pack {
	char *name;
	uint64_t size; /* size of the file */
	size_t dir; /* number of the pack's directory */
	int fault_num; /* errno of the failed open */
	struct pack *pack; /* NULL: the pack cannot be opened */
	char *fault; /* text of a known fault, or NULL */
	unsigned char *flags; /* one for each entry of the index */
	uint64_t plain; /* unpacked bytes of the objects in blocks */
	uint64_t blocks; /* bytes of these blocks in the file */
};

/* Location of a copy. pack is the pack's number + 1; 0 means none. */
struct copy {
	uint32_t pack, entry;
};

struct blockcache;

struct inventory {
	struct hash_key key;
	struct inventory_pack *packs; /* sorted by name, so the oldest first */
	size_t count;
	uint64_t objects;
	uint64_t reached; /* cost of the names that were reached, in bytes */
	/* A hash table in the order of the hashes, so that a pass over a pack's
	 * index is one over the table, too. */
	struct copy *slots;
	unsigned int slot_bits;
	struct blockcache *cache;
};

/* Loads all packs of the store. A pack that cannot be opened is in the list
 * with its fault. */
int inventory_load(struct store *s, struct inventory *ret, struct err *err);
/* As inventory_load(), with more directories: the store's own is the last
 * (number `count`), and its copies are found first. */
int inventory_load_dirs(struct store *s, const int *dir_fds, size_t count,
			struct inventory *ret, struct err *err);
void inventory_free(struct inventory *inv); /* also for {0} */

/* inventory_find() returns the first copy of this name (of the newest pack),
 * inventory_next() the copy behind `copy`; NULL when there is none. */
const struct copy *inventory_find(const struct inventory *inv,
				  const struct oid *id);
const struct copy *inventory_next(const struct inventory *inv,
				  const struct oid *id,
				  const struct copy *copy);
/*
 * Hashes are random, so in a large store each part of a lookup waits for the
 * memory. A caller that knows its next names first calls
 * inventory_prefetch_slot() for each of them, then inventory_prefetch_copy();
 * the parts are loaded side by side then.
 */
void inventory_prefetch_slot(const struct inventory *inv, const struct oid *id);
void inventory_prefetch_copy(const struct inventory *inv, const struct oid *id);
/* The flags (enum copy_flags) of a copy, owned by the inventory. */
unsigned char *inventory_flags(const struct inventory *inv,
			       const struct copy *copy);

/* The pack that holds the copy. */
const struct inventory_pack *inventory_pack(const struct inventory *inv,
					    const struct copy *copy);

/* An object of a pack. */
struct inventory_entry {
	struct pack_entry entry;
	struct copy copy;
	bool damaged; /* the entry's values are invalid */
	bool wanted; /* for inventory_repack() */
};

/* All objects of a pack in the order of their offsets, so that each block is
 * unpacked once; to free. */
struct inventory_entry *inventory_by_offset(const struct inventory *inv,
					    size_t pack, size_t *ret_count);

/* Appends the bytes of one copy when they match its name. Otherwise returns
 * -EBADMSG and sets COPY_BAD. */
int inventory_read_copy(struct inventory *inv, const struct copy *copy,
			struct buf *to, struct err *err);
/* Appends the bytes of the first intact copy. -ENOENT: no copy. -EBADMSG: no
 * intact copy. */
int inventory_read(struct inventory *inv, const struct oid *id, struct buf *to,
		   struct err *err);
/* Whether a copy exists that is not marked COPY_BAD. Reads no copy. */
bool inventory_has(const struct inventory *inv, const struct oid *id);

/* Bytes of the copy in its pack; for an object in a block its share. */
uint64_t inventory_cost(const struct inventory *inv, const struct copy *copy);
/* Whether the index over many packs (midx.h) is intact and has all objects of
 * its packs. 0 also without an index, and for that of a newer guard, which is
 * not used. -EBADMSG: damaged. */
int inventory_check_index(const struct inventory *inv, const struct store *s,
			  struct err *err);
/* Clears all flags except COPY_BAD. */
void inventory_clear(struct inventory *inv);

/* --- repacking --- */

/*
 * Copies objects of packs that will be removed into new packs, under the same
 * names. Records with only wanted objects are copied unchanged; the wanted
 * objects of other blocks are packed into new blocks. Every byte is compared
 * with its hash on the way.
 *
 * Copies from each of the packs (numbers in the inventory) the objects for
 * which wanted() returns true, and flushes the store: the new packs are durable
 * when it returns 0. *ret_bytes: their size without the indexes. -EBADMSG: one
 * of the packs is damaged. No new pack is in packs/ before all of them are
 * written, so that an error, ENOSPC for example, leaves no copies there.
 */
int inventory_repack(struct store *s, struct inventory *inv,
		     const size_t *packs, size_t count,
		     bool (*wanted)(void *arg, const struct oid *id,
				    const struct copy *copy),
		     void *arg, uint64_t *ret_bytes, struct err *err);

/* --- replicas --- */

/*
 * Recovers lost objects from replicas: objects of the same keyed hash, length
 * and type with a higher ordinal. An object that cannot be read is not known to
 * be equal to new bytes, so a snapshot between the damage and the repair stores
 * the same bytes again under the next ordinal. inventory_fill_replicas() stores
 * these bytes under the missing lower ordinals, too: old snapshots have their
 * objects again, and new trees refer to the same names as the old ones.
 *
 * An object that was compared with all lower ordinals and differs from them
 * lacks the flag `again` (packformat.h) and is never used as a replica: of two
 * colliding objects, one never becomes the other. Candidates of one hash with
 * different bytes prove a collision, too, and are not used. The remaining case,
 * a collision whose first object was lost before the second was stored, has
 * probability 2^-52 without knowledge of the secret (hash.h).
 *
 * s must be open for writing, and must be closed and opened again afterwards,
 * so that lookups find the lower ordinals first. *ret_count: names that have
 * bytes again, durable when this returns 0.
 */
int inventory_fill_replicas(struct store *s, uint64_t *ret_count,
			    struct err *err);

#endif
