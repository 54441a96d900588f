/*
 * The objects that this process has added to the store, by hash: first in
 * memory, in a block that is being filled, then in a pack that is being
 * written, then in a published pack. Not thread-safe: the store's mutex
 * protects it.
 */
#ifndef GUARD_SNAPSHOT_STORE_OBJECTS_H
#define GUARD_SNAPSHOT_STORE_OBJECTS_H

#include "snapshot/store/packformat.h"

struct out_pack;

/* A group of objects of this process that are stored together. */
struct block {
	struct buf data; /* objects (and table) while in memory */
	struct buf table;
	uint32_t count;
	enum pack_kind kind;
	/* set once the block is written; data is empty from then on */
	struct out_pack *out;
	uint64_t offset;
	bool single; /* one object, no table */
	struct block *next; /* in the list of all blocks */
};

struct object {
	unsigned char hash[HASH_LEN];
	uint32_t len, inner;
	struct block *block;
	uint32_t next; /* index + 1 of an older object in the same hash chain */
	uint16_t ord;
	uint8_t type;
};

struct objects {
	struct object *items;
	size_t count, capacity;
	uint32_t *heads; /* index + 1 */
	size_t head_count; /* a power of two */
};

/* Frees the table and empties it. */
void objects_free(struct objects *o);

/* Adds an object and returns it, valid until the next call. */
struct object *objects_add(struct objects *o, const unsigned char *hash,
			   uint8_t type);
/* The oldest object of this hash and type whose index is >= from, and its index
 * in *ret_index; NULL when there is none. */
struct object *objects_find(const struct objects *o, const unsigned char *hash,
			    uint8_t type, size_t from, size_t *ret_index);

#endif
