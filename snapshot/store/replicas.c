#include "snapshot/store/replicas.h"

#include <string.h>

#include "base/auto.h"
#include "snapshot/store/inventory.h"
#include "snapshot/store/store_private.h"

/* Replicas are stored in blocks, which have a maximum length. */
#define REPLICA_LEN_MAX ((uint64_t)BLOCK_LEN_MAX / 2)

/* Reads the bytes that all replicas of a name share. False: no replica, or
 * replicas with different bytes. */
static bool read_replica(struct inventory *inv, const struct oid *id,
			 struct buf *ret)
{
	const struct copy *copy = NULL;
	AUTO(buf) struct buf other = {0};
	struct err ignored;
	struct oid replica;
	bool any = false;

	while ((copy = inventory_replica(inv, id, copy, &replica))) {
		buf_clear(&other);
		if (inventory_read_copy(inv, copy, any ? &other : ret,
					&ignored) < 0)
			continue;
		if (any && memcmp(other.data, ret->data, ret->len) != 0)
			return false;
		any = true;
	}
	return any;
}

static int fill_lower_ordinal(struct store *s, struct inventory *inv,
			      struct oid id, uint64_t *count, struct err *err)
{
	AUTO(buf) struct buf bytes = {0};

	while (id.ord-- > 0) {
		if (inventory_has(inv, &id) || store_has(s, &id))
			continue;
		buf_clear(&bytes);
		if (!read_replica(inv, &id, &bytes))
			continue;
		if (store_put_as(s, &id, bytes.data, false, err) < 0)
			return -err->num;
		(*count)++;
	}
	return 0;
}

int replicas_fill(struct store *s, uint64_t *ret_count, struct err *err)
{
	AUTO(inventory) struct inventory inv = {0};
	uint64_t count = 0;
	size_t i;
	uint32_t k;

	if (inventory_load(s, &inv, err) < 0)
		return -err->num;
	for (i = 0; i < inv.count; i++) {
		const struct pack *pack = inv.packs[i].pack;
		struct pack_entry e;

		for (k = 0; pack && k < pack_count(pack); k++) {
			if (!pack_get(pack, k, &e) || !e.id.ord ||
			    e.id.len > REPLICA_LEN_MAX)
				continue;
			if (fill_lower_ordinal(s, &inv, e.id, &count, err) < 0)
				return -err->num;
		}
	}
	if (count && store_flush(s, err) < 0)
		return -err->num;
	*ret_count = count;
	return 0;
}
