#include "snapshot/store/objects.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

void objects_free(struct objects *o)
{
	free(o->items);
	free(o->heads);
	*o = (struct objects){0};
}

/* The hash is keyed, so its first bytes are random. */
static size_t object_chain_head(const struct objects *o,
				const unsigned char *hash)
{
	uint64_t v;

	memcpy(&v, hash, sizeof(v));
	return (size_t)v & (o->head_count - 1);
}

static void link_object(struct objects *o, size_t i)
{
	size_t head = object_chain_head(o, o->items[i].hash);

	o->items[i].next = o->heads[head];
	o->heads[head] = (uint32_t)(i + 1);
}

static void grow_object_heads(struct objects *o)
{
	size_t i;

	o->head_count = o->head_count ? 2 * o->head_count : 1024;
	free(o->heads);
	o->heads = mem_zalloc(o->head_count * sizeof(*o->heads));
	for (i = 0; i < o->count; i++)
		link_object(o, i);
}

struct object *objects_add(struct objects *o, const unsigned char *hash,
			   uint8_t type)
{
	struct object *item;

	if (o->count >= UINT32_MAX - 1)
		abort();
	if (o->count >= o->head_count)
		grow_object_heads(o);
	item = VEC_ADD(o);
	item->type = type;
	memcpy(item->hash, hash, HASH_LEN);
	link_object(o, o->count - 1);
	return item;
}

struct object *objects_find(const struct objects *o, const unsigned char *hash,
			    uint8_t type, size_t from, size_t *ret_index)
{
	struct object *found = NULL;
	uint32_t at = o->head_count ? o->heads[object_chain_head(o, hash)] : 0;

	/* A chain has the newest object first: the last match is the oldest. */
	for (; at > from; at = o->items[at - 1].next) {
		struct object *item = &o->items[at - 1];

		if (item->type == type &&
		    memcmp(item->hash, hash, HASH_LEN) == 0) {
			found = item;
			*ret_index = at - 1;
		}
	}
	return found;
}
