/*
 * The objects that this process has added to the store, found by their hash.
 * They are known from the moment they were put: first in memory, in a block
 * that is being filled, then in a pack that is being written, then in one
 * that others see as well. Not thread-safe: the store's mutex guards it.
 */
#ifndef GUARD_SNAPSHOT_STORE_OBJECTS_H
#define GUARD_SNAPSHOT_STORE_OBJECTS_H

#include "snapshot/store/packformat.h"

struct out_pack;

/* Where objects of this process lie together. */
struct block {
	struct buf data; /* objects (and table) while in memory */
	struct buf table;
	uint32_t count;
	enum pack_kind kind;
	/* Set once it is written; data is empty from then on. */
	struct out_pack *out;
	uint64_t offset;
	bool single; /* one object, no table */
	struct block *next; /* of all, for freeing */
};

struct object {
	unsigned char hash[HASH_LEN];
	uint32_t len, inner;
	struct block *block;
	uint32_t next; /* index + 1 of an older one in the same chain */
	uint16_t ord;
	uint8_t type;
};

struct objects {
	struct object *items;
	size_t count, capacity;
	uint32_t *heads; /* index + 1 */
	size_t head_count; /* a power of two */
};

void objects_free(struct objects *o);
struct object *objects_add(struct objects *o, const unsigned char *hash,
			   uint8_t type);
/*
 * The oldest one of this hash and type whose index is >= from; its index in
 * *ret_index. NULL when there is none.
 */
struct object *objects_find(const struct objects *o, const unsigned char *hash,
			    uint8_t type, size_t from, size_t *ret_index);

#endif
