#include "snapshot/store/blockcache.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/mem.h"

#define SLOTS 16 /* 4 MiB */

struct blockcache {
	pthread_mutex_t mutex;
	struct cached_block *slots[SLOTS]; /* most recently used first */
};

struct blockcache *blockcache_new(void)
{
	struct blockcache *cache = mem_zalloc(sizeof(*cache));

	(void)pthread_mutex_init(&cache->mutex, NULL);
	return cache;
}

/* The cache itself counts as a user of its blocks. */
static void unref_block(struct cached_block *block)
{
	if (block && --block->users == 0) {
		free(block->data);
		free(block);
	}
}

void blockcache_free(struct blockcache **cache)
{
	unsigned int i;

	if (!*cache)
		return;
	for (i = 0; i < SLOTS; i++)
		unref_block((*cache)->slots[i]);
	(void)pthread_mutex_destroy(&(*cache)->mutex);
	free(*cache);
	*cache = NULL;
}

/* Moves slot i to the front and returns its block. */
static struct cached_block *move_slot_to_front(struct blockcache *cache,
					       unsigned int i)
{
	struct cached_block *block = cache->slots[i];

	for (; i > 0; i--)
		cache->slots[i] = cache->slots[i - 1];
	cache->slots[0] = block;
	return block;
}

struct cached_block *blockcache_get(struct blockcache *cache, const void *owner,
				    uint64_t offset)
{
	struct cached_block *found = NULL;
	unsigned int i;

	(void)pthread_mutex_lock(&cache->mutex);
	for (i = 0; i < SLOTS && cache->slots[i]; i++) {
		if (cache->slots[i]->owner == owner &&
		    cache->slots[i]->offset == offset) {
			found = move_slot_to_front(cache, i);
			found->users++;
			break;
		}
	}
	(void)pthread_mutex_unlock(&cache->mutex);
	return found;
}

struct cached_block *blockcache_put(struct blockcache *cache, const void *owner,
				    uint64_t offset, unsigned char *data,
				    size_t len)
{
	struct cached_block *block = mem_alloc(sizeof(*block));

	*block = (struct cached_block){.owner = owner,
				       .offset = offset,
				       .data = data,
				       .len = len,
				       .users = 2};
	(void)pthread_mutex_lock(&cache->mutex);
	unref_block(cache->slots[SLOTS - 1]);
	cache->slots[SLOTS - 1] = block;
	(void)move_slot_to_front(cache, SLOTS - 1);
	(void)pthread_mutex_unlock(&cache->mutex);
	return block;
}

void blockcache_release(struct blockcache *cache, struct cached_block *block)
{
	(void)pthread_mutex_lock(&cache->mutex);
	unref_block(block);
	(void)pthread_mutex_unlock(&cache->mutex);
}
