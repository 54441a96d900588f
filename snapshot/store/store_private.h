/*
 * The fields of struct store, for the modules of the store only. Each calls
 * only modules below it in this list:
 *
 *	inventory.c	every pack and record, for prune and repair
 *	store_objects.c	opening, finding, adding
 *	storecommit.c	packs being written and published
 *	store_index.c	packs of other processes, the index over packs
 *	store_place.c	the bytes of an object
 *
 * Locks, always in this order: the commit lock (a file, between processes),
 * `mutex` (all fields below it), the mutex of the block cache. Hashing,
 * compressing, reading and writing happen without the mutex.
 */
#ifndef GUARD_SNAPSHOT_STORE_STORE_PRIVATE_H
#define GUARD_SNAPSHOT_STORE_STORE_PRIVATE_H

#include <pthread.h>

#include "base/vec.h"
#include "snapshot/store/blockcache.h"
#include "snapshot/store/chunk.h"
#include "snapshot/store/store_dir.h"
#include "snapshot/store/midx.h"
#include "snapshot/store/objects.h"
#include "snapshot/store/pack.h"
#include "snapshot/store/store.h"

#define BLOCK_SPARES 4

/* The packs that the index over many packs names. */
struct indexed_packs {
	struct midx *midx;
	/* One for each name; NULL: not opened so far, or not readable.
	 * Protected by the store's mutex. */
	struct pack **packs;
};

/* Packs of other processes, sorted by name. A set is never changed, only
 * replaced. */
struct pack_set {
	struct indexed_packs *indexed_packs; /* index of the store; NULL: all
						packs are in `packs` */
	size_t count; /* number of `packs`, which are not in the index */
	/* Filter with one bit for the first bits of each hash in the packs:
	 * most new objects need no search, whatever the number of packs. NULL
	 * in a store open for reading. */
	unsigned char *filter;
	unsigned int filter_bits;
	struct pack_set *older; /* kept until the store is freed */
	struct pack *packs[];
};

/* A pack of this process: first being written, later read like any other. */
struct out_pack {
	struct packer *writer; /* NULL once `pack` is set */
	struct pack *pack;
	char *name;
	unsigned int users; /* running writes to and reads from `writer` */
	struct out_pack *next; /* in the list of all */
};

/* Of this process. */
struct store_stats {
	uint64_t put_objects, put_bytes; /* passed to store_put() */
	uint64_t new_objects, new_bytes; /* not stored before, uncompressed */
	uint64_t stored_bytes; /* written into packs */
	uint64_t collisions; /* equal hash, different bytes */
};

struct store {
	struct store_dir store_dir;
	enum store_mode mode;
	struct blockcache *cache;
	struct gear gear;

	pthread_mutex_t mutex;
	pthread_cond_t changed; /* signaled when users, busy or flushing go
				   down */
	struct pack_set *set;
	struct indexed_packs *indexed_packs; /* freed with the store */
	bool checked; /* the indexes of all packs in the set were read */
	char *damaged; /* text about unreadable packs, or NULL */
	struct names damaged_names;
	struct objects objects;
	struct block *blocks; /* list of all */
	struct block *filling[PACK_KINDS];
	struct buf spares[BLOCK_SPARES]; /* memory for the next blocks */
	unsigned int spare_count;
	struct out_pack *outs; /* list of all */
	struct out_pack *open[PACK_KINDS];
	struct out_pack *syncing; /* full and finished, not in packs/ yet */
	VEC(struct out_pack *) ended; /* finished, for the flush to publish */
	bool hold_packs; /* full packs wait for the flush, too */
	unsigned int busy; /* full blocks and packs that are being written */
	bool flushing;
	struct err failed; /* num 0: no failure so far */
	bool limited;
	uint64_t min_free, max_size; /* see store_limit() */
	uint64_t packed; /* bytes of all packs when the limit was set */
	uint64_t space_left; /* bytes to write before the free space is checked
			      again */
	struct store_stats stats;
};

/* Where the bytes of an object can be read: in `pack` or in `out`. */
struct place {
	struct pack *pack;
	struct out_pack *out;
	struct pack_entry entry;
};

/* The first bits of a hash as a number. */
static inline uint64_t store_hash_start(const unsigned char *hash,
					unsigned int bits)
{
	uint64_t v = 0;
	int i;

	for (i = 0; i < 8; i++)
		v = v << 8 | hash[i];
	return v >> (64 - bits);
}

static inline bool pack_set_filtered(const struct pack_set *set,
				     const unsigned char *hash)
{
	uint64_t at = store_hash_start(hash, set->filter_bits);

	return set->filter[at / 8] >> at % 8 & 1;
}

/* Whether a pack of the set may have the hash. False is certain. */
static inline bool pack_set_may_have(const struct pack_set *set,
				     const unsigned char *hash)
{
	if (set->indexed_packs || !set->filter)
		return set->indexed_packs || set->count;
	return pack_set_filtered(set, hash);
}

/* Iterates over the packs of a set that may have an object with a hash, the
 * newest first. */
struct pack_walk {
	const struct pack_set *set;
	size_t loose; /* remaining packs of set->packs */
	size_t first, end; /* remaining entries of the midx */
	size_t number; /* number of the last pack, in the order of names */
	int failed; /* errno: a pack could not be opened for want of
		       descriptors or memory; 0: none */
};

struct pack_walk pack_walk_start(const struct pack_set *set,
				 const unsigned char *hash);
/* The next pack; NULL at the end. Without the mutex. */
struct pack *pack_walk_next(struct store *s, struct pack_walk *w);

/* The bytes of a place, valid until store_place_done(). */
struct view {
	const unsigned char *data;
	size_t len;
	struct cached_block *block;
	unsigned char *owned;
};

/* Reads the bytes of a place. -EBADMSG: damaged. Without the mutex. */
int store_place_read(struct blockcache *cache, const struct place *place,
		     struct view *ret, struct err *err);
void store_place_done(struct blockcache *cache, struct view *view);

/* Under the mutex: returns the place of an own object that is written and keeps
 * it valid until store_place_unpin(). */
void store_place_pin(const struct object *object, struct place *ret);
void store_place_unpin(struct store *s, const struct place *place);

/* Records the first failure: nothing may use the packs that this process has
 * open from then on. Returns -err->num. Without the mutex. */
int store_fail(struct store *s, const struct err *err);
/* Compresses the bytes of a record if that is worthwhile (probe: see
 * compress_bytes()) and completes its head. Returns the payload: data, or
 * memory of this thread that is valid until the thread's next call. */
const void *store_compress(struct record_head *head, const void *data,
			   size_t len, bool probe);
/* Compresses (if worthwhile) and writes a full block, which counts as busy. */
int store_write_block(struct store *s, struct block *block, struct err *err);
/* The packs that hold objects of a type. */
static inline enum pack_kind store_pack_kind(uint8_t type)
{
	return type == OBJECT_DATA ? PACK_DATA : PACK_META;
}

/* Reserves space for a record in the open pack of this kind and writes it
 * there. ret->out stays pinned. *ret_full: a pack that is full now and that the
 * caller passes to store_end_pack() (it counts as busy), or NULL. */
int store_write_record(struct store *s, enum pack_kind kind,
		       const struct record_head *head, const void *payload,
		       struct place *ret, struct out_pack **ret_full,
		       struct err *err);
/* Finishes a pack to which nothing is added any more (it counts as busy).
 * Starts its sync and waits for the sync of the previous pack, which normally
 * has ended long ago. */
int store_end_pack(struct store *s, struct out_pack *out, struct err *err);

/* For repair and prune: stores bytes under a given name; the caller has
 * compared their hash. At most BLOCK_LEN_MAX / 2 bytes. */
int store_put_as(struct store *s, const struct oid *id, const void *data,
		 bool again, struct err *err);

/* --- packs of other processes, and the index over them --- */

bool store_is_pack_name(const char *name);
/* Loads the index; NULL when no usable index exists. complete: reads and checks
 * the whole index. */
struct indexed_packs *store_indexed_packs_load(const struct store_dir *f,
					       bool complete);
void store_indexed_packs_free(struct indexed_packs **indexed_packs);

/* Loads the packs that other processes have added, under the commit lock.
 * -EAGAIN: another process has given the same name to different bytes. */
int store_refresh_packs(struct store *s, struct err *err);

/* A store open for reading does not read the indexes of its packs. Reads them
 * now, and adds packs with damaged indexes, rebuilt from their records, to the
 * set. True: the set has changed, and the caller searches again. */
bool store_check_packs(struct store *s);

#endif
