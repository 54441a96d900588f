/*
 * What the store is inside: storeopen.c, storefind.c (finding and reading),
 * storeput.c (adding), storecommit.c (packs on their way out), storerefresh.c
 * (packs of others), store_index.c (the index over them). Only for them,
 * content.c, and for what looks after a store as a whole: inventory.c,
 * verify.c, prune, repair.
 *
 * Locks, always in this order: the commit lock (a file, between processes),
 * `mutex` (all fields below it), the block cache's own. Hashing, compressing,
 * reading and writing happen without the mutex.
 */
#ifndef GUARD_SNAPSHOT_STORE_STORE_PRIVATE_H
#define GUARD_SNAPSHOT_STORE_STORE_PRIVATE_H

#include <pthread.h>

#include "snapshot/store/blockcache.h"
#include "snapshot/store/chunk.h"
#include "snapshot/store/store_dir.h"
#include "snapshot/store/midx.h"
#include "snapshot/store/objects.h"
#include "snapshot/store/pack.h"
#include "snapshot/store/packer.h"
#include "snapshot/store/store.h"

#define BLOCK_SPARES 4

/* Packs that the index over many of them names. */
struct indexed_packs {
	struct midx *midx;
	/* Of each; NULL: not needed so far, or it cannot be opened. Under the
	 * mutex. */
	struct pack **packs;
};

/* Packs of others, sorted by name; never changed, only replaced. */
struct pack_set {
	struct indexed_packs
		*indexed_packs; /* the store's; NULL: all are in `packs` */
	size_t count; /* of `packs`, that it does not cover */
	/* A bit for the start of each hash that one of these has: most new
	 * bytes are told at once, however many packs there are. NULL where
	 * nothing is to be added. */
	unsigned char *filter;
	unsigned int filter_bits;
	struct pack_set *older; /* kept till the store is freed */
	struct pack *packs[];
};

/* A pack of this process: being written, later like any other. */
struct out_pack {
	struct packer *writer; /* NULL once `pack` is there */
	struct pack *pack;
	char *name;
	unsigned int users; /* writes and reads under way on `writer` */
	struct out_pack *next; /* of all */
};

struct store {
	struct store_dir store_dir;
	enum store_mode mode;
	struct blockcache *cache;
	struct gear gear;

	pthread_mutex_t mutex;
	pthread_cond_t changed; /* users, busy, flushing went down */
	struct pack_set *set;
	struct indexed_packs *indexed_packs; /* freed with the store */
	bool checked; /* the indexes of all packs in it were read */
	char *damaged; /* text about packs that cannot be read, or NULL */
	struct names damaged_names;
	struct objects objects;
	struct block *blocks; /* all */
	struct block *filling[PACK_KINDS];
	struct buf spares[BLOCK_SPARES]; /* memory for the next blocks */
	unsigned int spare_count;
	struct out_pack *outs; /* all */
	struct out_pack *open[PACK_KINDS];
	struct out_pack *syncing; /* full, finished, not in packs/ yet */
	struct out_pack *ended[2 * PACK_KINDS]; /* at a flush, likewise */
	size_t ended_count;
	unsigned int busy; /* full blocks and packs being written out */
	bool flushing;
	struct err failed; /* num 0: nothing has failed */
	bool limited;
	uint64_t min_free, max_size; /* see store_limit() */
	uint64_t packed; /* bytes of packs when the limit was set */
	uint64_t capacity; /* bytes that may be written before looking again */
	struct store_stats stats;
};

/* Where the bytes of an object can be read: in one of both. */
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

/* False: none of them has it. */
static inline bool pack_set_may_have(const struct pack_set *set,
				     const unsigned char *hash)
{
	if (set->indexed_packs || !set->filter)
		return set->indexed_packs || set->count;
	return pack_set_filtered(set, hash);
}

/* A way through the packs of a set that may have an object of a hash, the
 * newest first. */
struct pack_walk {
	const struct pack_set *set;
	size_t loose; /* of set->packs: these are left */
	size_t first, end; /* entries of the midx: these are left */
	size_t number; /* of the pack that came last, in the order of names */
};

struct pack_walk pack_walk_start(const struct pack_set *set,
				 const unsigned char *hash);
/* NULL: there are no more. Not under the mutex. */
struct pack *pack_walk_next(struct store *s, struct pack_walk *w);

/* The bytes of a place, until store_place_done(). */
struct view {
	const unsigned char *data;
	size_t len;
	struct cached_block *block;
	unsigned char *owned;
};

/* -EBADMSG when they cannot be had. Not under the mutex. */
int store_place_read(struct store *s, const struct place *place,
		     struct view *ret, struct err *err);
void store_place_done(struct store *s, struct view *view);

/* Under the mutex: an own object that is written; it is held in place until
 * store_place_unpin(). */
void store_place_pin(struct store *s, const struct object *object,
		     struct place *ret);
void store_place_unpin(struct store *s, const struct place *place);

/* Remembers the first failure; nothing of this process's open packs may be
 * used from then on. Returns -err->num. Not under the mutex. */
int store_fail(struct store *s, const struct err *err);
/* Under the mutex: so many that `busy` counts are done. */
void store_busy_done(struct store *s, unsigned int count);

/* Compresses (what is worth it) and writes a full block; counts as busy. */
int store_write_block(struct store *s, struct block *block, struct err *err);
/* Writes one big object into a pack that stays pinned. */
int store_write_single(struct store *s, const struct record_head *head,
		       const void *payload, struct place *ret,
		       struct out_pack **ret_full, struct err *err);
/* Ends a pack that nobody adds to any more (counted as busy). Its sync is only
 * begun, and that of the one before is waited for: with the bytes of a pack it
 * is long over by then. */
int store_end_pack(struct store *s, struct out_pack *out, struct err *err);

/* For repair: bytes of a name that is lost, under that very name; the caller
 * has compared them with its hash. At most BLOCK_LEN_MAX / 2 bytes. */
int store_put_as(struct store *s, const struct oid *id, const void *data,
		 struct err *err);

/* --- packs of others, and the index over them --- */

bool store_is_pack_name(const char *name);
/* Under the mutex. One that is damaged (-EBADMSG, -EPROTO) is remembered for
 * what is said when an object is missing. */
int store_open_pack(struct store *s, const char *name, struct pack **ret,
		    struct err *err);

/* NULL: there is none that can be used. whole: read and check all of it. */
struct indexed_packs *store_indexed_packs_load(const struct store_dir *f,
					       bool complete);
void store_indexed_packs_free(struct indexed_packs **indexed_packs);

/* Under the commit lock: what others have added since; -EAGAIN when they and
 * we gave one name to different bytes. */
int store_refresh_packs(struct store *s, struct err *err);

/*
 * STORE_READ opens packs without reading their indexes. Reads them now, and
 * adds those of damaged ones, made anew from their records, to the set. True
 * when there were any: it is worth looking again.
 */
bool store_check_packs(struct store *s);

#endif
