/* Where an object of this process or of a pack lies, and its bytes there. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "snapshot/store/store_private.h"

int store_fail(struct store *s, const struct err *err)
{
	(void)pthread_mutex_lock(&s->mutex);
	if (!s->failed.num)
		s->failed = *err;
	(void)pthread_cond_broadcast(&s->changed);
	(void)pthread_mutex_unlock(&s->mutex);
	return -err->num;
}

static int record_read(const struct place *place, struct record_head *head,
		       unsigned char **ret, size_t *ret_len, struct err *err)
{
	if (place->pack)
		return pack_read(place->pack, place->entry.offset, head, ret,
				 ret_len, err);
	return packer_read(place->out->writer, place->entry.offset, head, ret,
			   ret_len, err);
}

static int block_load(struct blockcache *cache, const struct place *place,
		      struct cached_block **ret, struct err *err)
{
	const void *owner = place->pack ? (const void *)place->pack
					: (const void *)place->out;
	auto_free unsigned char *plain = NULL;
	struct record_head head;
	size_t len;

	*ret = blockcache_get(cache, owner, place->entry.offset);
	if (*ret)
		return 0;
	if (record_read(place, &head, &plain, &len, err) < 0)
		return -err->num;
	if (head.type != RECORD_BLOCK)
		return fail(err, EBADMSG, "a pack's index is invalid");
	*ret = blockcache_put(cache, owner, place->entry.offset, TAKE(plain),
			      len - (size_t)head.count * BLOCK_TABLE_ENTRY);
	return 0;
}

int store_place_read(struct blockcache *cache, const struct place *place,
		     struct view *ret, struct err *err)
{
	const struct pack_entry *e = &place->entry;
	struct view view = {0};
	struct record_head head;

	if (!e->in_block) {
		if (record_read(place, &head, &view.owned, &view.len, err) < 0)
			return -err->num;
		view.data = view.owned;
		if (head.type == e->id.type && view.len == e->id.len) {
			*ret = view;
			return 0;
		}
	} else {
		if (block_load(cache, place, &view.block, err) < 0)
			return -err->num;
		view.data = view.block->data + e->inner;
		view.len = e->id.len;
		if (e->inner <= view.block->len &&
		    e->id.len <= view.block->len - e->inner) {
			*ret = view;
			return 0;
		}
	}
	store_place_done(cache, &view);
	return fail(err, EBADMSG, "a pack's index is invalid");
}

void store_place_done(struct blockcache *cache, struct view *view)
{
	if (view->block)
		blockcache_release(cache, view->block);
	free(view->owned);
	*view = (struct view){0};
}

void store_place_pin(const struct object *object, struct place *ret)
{
	struct block *block = object->block;

	*ret = (struct place){
		.entry = {.offset = block->offset,
			  .id = {.len = object->len,
				 .ord = object->ord,
				 .type = object->type},
			  .inner = object->inner,
			  .in_block = !block->single},
	};
	memcpy(ret->entry.id.hash, object->hash, HASH_LEN);
	ret->pack = block->out->pack;
	if (!ret->pack) {
		ret->out = block->out;
		block->out->users++;
	}
}

void store_place_unpin(struct store *s, const struct place *place)
{
	if (place->out && --place->out->users == 0)
		(void)pthread_cond_broadcast(&s->changed);
}
