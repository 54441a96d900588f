/*
 * A cache of a few unpacked blocks: reading the small objects of one block one
 * after the other unpacks the block once. Thread-safe. A block that a caller
 * holds stays valid until blockcache_release(), also after it has left the
 * cache.
 */
#ifndef GUARD_SNAPSHOT_STORE_BLOCKCACHE_H
#define GUARD_SNAPSHOT_STORE_BLOCKCACHE_H

#include <stddef.h>
#include <stdint.h>

struct blockcache;

struct cached_block {
	const void *owner; /* the key, together with offset */
	uint64_t offset;
	unsigned char *data;
	size_t len; /* length of the objects, without the table */
	unsigned int users; /* for the cache only */
};

/* Makes an empty cache. blockcache_free() sets *cache to NULL; no block may be
 * held then. */
struct blockcache *blockcache_new(void);
void blockcache_free(struct blockcache **cache);

/* Returns a held block, or NULL when the cache does not have it. The caller
 * releases it. */
struct cached_block *blockcache_get(struct blockcache *cache, const void *owner,
				    uint64_t offset);
/* Adds a block and returns it as blockcache_get() does. The cache owns data
 * (from mem_alloc) from this call on. */
struct cached_block *blockcache_put(struct blockcache *cache, const void *owner,
				    uint64_t offset, unsigned char *data,
				    size_t len);

/* Ends the use of a block from blockcache_get() or blockcache_put(). */
void blockcache_release(struct blockcache *cache, struct cached_block *block);

#endif
