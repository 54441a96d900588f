/*
 * What lies in a folder of packs, by the names of the objects: which copies
 * there are of each, and what was found out about them. For verify, prune and
 * repair, which ask about every object; everybody else asks the store.
 *
 * Order of calls: load, find and read, free. It shows the folder as it was
 * when it was loaded; packs stay mapped, so what is renamed or deleted later
 * can still be read. Not thread-safe.
 */
#ifndef GUARD_SNAPSHOT_STORE_INVENTORY_H
#define GUARD_SNAPSHOT_STORE_INVENTORY_H

#include "snapshot/store/pack.h"
#include "snapshot/store/store.h"

/* Of one copy of an object. */
enum copy_flags {
	COPY_BAD = 1, /* its bytes cannot be had, or are others */
	/* Of a name; they stand at its first copy. */
	COPY_REACHED = 2,
	COPY_TAINTED = 4, /* it, or what it refers to, is lost */
	COPY_KEPT = 8, /* for prune: will lie in a pack that stays */
};

struct inventory_pack {
	char *name;
	uint64_t size; /* of the file */
	size_t dir; /* the number of the folder that it lies in */
	int fault_num; /* errno of what is wrong, when it cannot be opened */
	struct pack *pack; /* NULL: it cannot be opened */
	char *fault; /* what is wrong with it, NULL: nothing known */
	unsigned char *flags; /* for each entry of its index */
	uint64_t plain; /* bytes of its objects in blocks, unpacked */
	uint64_t blocks; /* bytes of these blocks in the file */
};

/* Where a copy lies; pack is a number + 1, 0: nowhere. */
struct copy {
	uint32_t pack, entry;
};

struct blockcache;

struct inventory {
	struct hash_key key;
	struct inventory_pack *packs; /* by name, so the oldest first */
	size_t count;
	uint64_t objects;
	uint64_t reached; /* bytes that the names cost that were reached */
	struct copy *slots;
	size_t slot_count; /* a power of two */
	struct blockcache *cache;
};

/* All packs of the store; one that cannot be opened is there with its fault. */
int inventory_load(struct store *s, struct inventory *ret, struct err *err);
/* The same of other folders, the store's own last (number `count`): copies in
 * it are found first. */
int inventory_load_dirs(struct store *s, const int *dir_fds, size_t count,
			struct inventory *ret, struct err *err);
void inventory_free(struct inventory *inv); /* of {0} too */

/*
 * The first copy of this name (the newest pack's), and the one behind `copy`;
 * NULL when there is none. The entry is put into *ret, which may be NULL.
 */
const struct copy *inventory_find(const struct inventory *inv,
				  const struct oid *id, struct pack_entry *ret);
const struct copy *inventory_next(const struct inventory *inv,
				  const struct oid *id, const struct copy *copy,
				  struct pack_entry *ret);
/* The copy behind `copy` (NULL: the first) of the same hash, length and type
 * under a higher ordinal, stored again because a lower one could not be read,
 * and its name. */
const struct copy *inventory_replica(const struct inventory *inv,
				     const struct oid *id,
				     const struct copy *copy, struct oid *ret);
unsigned char *inventory_flags(const struct inventory *inv,
			       const struct copy *copy);
const struct inventory_pack *inventory_pack(const struct inventory *inv,
					    const struct copy *copy);

/* Appends the bytes of one copy, when they are what their name says; else
 * -EBADMSG, and the copy is COPY_BAD from then on. */
int inventory_read_copy(struct inventory *inv, const struct oid *id,
			const struct copy *copy, struct buf *to,
			struct err *err);
/* From the first copy that is whole: -ENOENT: there is none; -EBADMSG. */
int inventory_read(struct inventory *inv, const struct oid *id, struct buf *to,
		   struct err *err);
/* A copy that is not known to be bad (none of them is read). */
bool inventory_has(const struct inventory *inv, const struct oid *id);

/* Bytes that a copy takes in its pack; in a block its share. */
uint64_t inventory_cost(const struct inventory *inv, const struct copy *copy);
/* Forgets what was reached and chosen; what is bad stays so. */
void inventory_clear(struct inventory *inv);

/* The entry as a name. */
void inventory_oid(const struct pack_entry *e, struct oid *ret);

#endif
