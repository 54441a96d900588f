/*
 * A few unpacked blocks, so that reading the small objects of one block one
 * after the other unpacks it once. Thread-safe; what was handed out stays
 * until it is given back, also when it has left the cache.
 */
#ifndef GUARD_SNAPSHOT_STORE_BLOCKCACHE_H
#define GUARD_SNAPSHOT_STORE_BLOCKCACHE_H

#include <stddef.h>
#include <stdint.h>

struct blockcache;

struct cached_block {
	const void *owner; /* with offset: the key */
	uint64_t offset;
	unsigned char *data;
	size_t len; /* of the objects, without the table */
	unsigned int users; /* the cache's own */
};

struct blockcache *blockcache_new(void);
void blockcache_free(struct blockcache **cache);

/* NULL when it is not there. */
struct cached_block *blockcache_get(struct blockcache *cache, const void *owner,
				    uint64_t offset);
/* Takes over data (from mem_alloc) and returns it as blockcache_get() does. */
struct cached_block *blockcache_put(struct blockcache *cache, const void *owner,
				    uint64_t offset, unsigned char *data,
				    size_t len);
void blockcache_release(struct blockcache *cache, struct cached_block *block);

#endif
