/*
 * The fields of struct store, for the modules of the store only. Each calls
 * only modules below it in this list:
 *
 *	inventory.c	every pack and record, for prune and repair
 *	store_objects.c	opening, finding, adding
 *	storecommit.c	packs being written and published
 *	store_packs.c	packs of other processes, and where an object is in
 *them; the bytes of an object
 *
 * Locks, always in this order: the commit lock (a file, between processes),
 * `mutex` (all fields below it), the mutex of the block cache. Hashing,
 * compressing, reading and writing happen without the mutex.
 */
#ifndef GUARD_SNAPSHOT_STORE_STORE_PRIVATE_H
#define GUARD_SNAPSHOT_STORE_STORE_PRIVATE_H

#include <pthread.h>

#include "base/dirtree.h"
#include "base/vec.h"
#include "snapshot/store/blockcache.h"
#include "snapshot/store/chunk.h"
#include "snapshot/store/store_dir.h"
#include "snapshot/store/midx.h"
#include "snapshot/store/objects.h"
#include "snapshot/store/pack.h"
#include "snapshot/store/store.h"

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
	/* Packs of other processes that the index over packs lacks, the newest
	 * last. The list only grows. */
	VEC(struct pack *) packs;
	struct dirlist listed; /* packs/ when it was read last */
	/* Filter with one bit for the first bits of each hash in `packs`: most
	 * new objects need no search, whatever the number of packs. NULL in a
	 * store open for reading. */
	unsigned char *filter;
	unsigned int filter_bits;
	struct midx *midx; /* the index over packs, or NULL; never replaced */
	/* The packs of midx. NULL: not opened so far, or not readable. */
	struct pack **indexed;
	bool midx_dropped; /* midx is not used any more */
	bool checked; /* the indexes of all packs were read */
	char *damaged; /* text about unreadable packs, or NULL */
	char **damaged_names; /* packs that are not opened again */
	struct objects objects;
	struct block *blocks; /* list of all */
	struct block *filling[PACK_KINDS];
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

static inline void store_lock(struct store *s)
{
	(void)pthread_mutex_lock(&s->mutex);
}

static inline void store_unlock(struct store *s)
{
	(void)pthread_mutex_unlock(&s->mutex);
}

/* Waits until another thread reports a change. */
static inline void store_wait(struct store *s)
{
	(void)pthread_cond_wait(&s->changed, &s->mutex);
}

/* Where the bytes of an object can be read: in `pack` or in `out`. */
struct place {
	struct pack *pack;
	struct out_pack *out;
	struct pack_entry entry;
};

/* Iterates over the copies of an object in the packs of other processes, and
 * over all objects with its hash; those in the newest packs come first. */
struct copies {
	const unsigned char *hash;
	const struct midx *midx; /* or NULL */
	size_t loose; /* remaining packs of the store's `packs` */
	size_t first, end; /* remaining entries of midx; first SIZE_MAX: all */
	struct pack *pack; /* the present pack and its next entry */
	uint32_t at;
	size_t number; /* number of the present pack, in the order of ages */
	int failed; /* errno: a pack could not be opened for want of
		       descriptors or memory; 0: none */
};

/* Under the mutex. */
struct copies copies_start(const struct store *s, const unsigned char *hash);
/* Whether there may be a copy. False is certain. */
static inline bool copies_any(const struct copies *c)
{
	return c->loose || c->midx;
}

/* The place of the next copy with valid values; false at the end. Without the
 * mutex. */
bool copies_next(struct store *s, struct copies *c, struct place *ret);

/* The bytes of a place, valid until store_view_done(). */
struct view {
	const unsigned char *data;
	size_t len;
	struct cached_block *block;
	unsigned char *owned;
};

/* Reads the bytes of a place. -EBADMSG: damaged. Without the mutex. */
int store_place_read(struct blockcache *cache, const struct place *place,
		     struct view *ret, struct err *err);
void store_view_done(struct blockcache *cache, struct view *view);
/* Under the mutex, which is released meanwhile: reads an own object. */
int store_own_read(struct store *s, const struct object *object,
		   struct view *ret, struct err *err);
/* Under the mutex: ends the use of a place in a pack that is being written. */
void store_place_unpin(struct store *s, const struct place *place);

/* Records the first failure: nothing may use the packs that this process has
 * open from then on. Returns -err->num. Without the mutex. */
int store_fail(struct store *s, const struct err *err);
/* Under the mutex: the failure that was recorded, or 0. */
int store_failed(const struct store *s, struct err *err);
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
/* At the open: loads the index over packs, if there is a usable one. A writer
 * reads and checks the whole index. */
void store_load_midx(struct store *s);

/* Loads the packs that other processes have added, under the commit lock.
 * -EAGAIN: another process has given the same name to different bytes. */
int store_refresh_packs(struct store *s, struct err *err);

/* A store open for reading does not read the indexes of its packs. Reads them
 * now, and adds packs with damaged indexes, rebuilt from their records, to the
 * list. True: packs were added, and the caller searches again. */
bool store_check_packs(struct store *s);

#endif
