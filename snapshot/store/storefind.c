#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "snapshot/store/store_private.h"

/* --- the bytes of a place --- */

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
		return fail(err, EBADMSG, "a pack's index is wrong");
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
	return fail(err, EBADMSG, "a pack's index is wrong");
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

/* --- finding --- */

/* Appends the object when its bytes at the place are intact. */
static int fetch_object(struct store *s, const struct place *place,
			const struct oid *id, struct buf *to, struct err *err)
{
	unsigned char hash[HASH_LEN];
	struct view view;

	if (store_place_read(s->cache, place, &view, err) < 0)
		return -err->num;
	hash_keyed(&s->store_dir.key, view.data, view.len, hash);
	if (memcmp(hash, id->hash, HASH_LEN) != 0) {
		store_place_done(s->cache, &view);
		return fail(err, EBADMSG, "an object is damaged");
	}
	buf_add(to, view.data, view.len);
	store_place_done(s->cache, &view);
	return 0;
}

/* 1: found; 0: not an object of this process; negative: it cannot be read. */
static int get_own_object(struct store *s, const struct oid *id, struct buf *to,
			  struct err *err)
{
	struct place place;
	struct object *o;
	size_t i = 0;
	int got;

	(void)pthread_mutex_lock(&s->mutex);
	while ((o = objects_find(&s->objects, id->hash, id->type, i, &i))) {
		if (o->ord == id->ord && o->len == id->len)
			break;
		i++;
	}
	if (!o || !o->block->out) {
		if (o && to)
			buf_add(to, o->block->data.data + o->inner, o->len);
		(void)pthread_mutex_unlock(&s->mutex);
		return o ? 1 : 0;
	}
	store_place_pin(o, &place);
	(void)pthread_mutex_unlock(&s->mutex);
	got = to ? fetch_object(s, &place, id, to, err) : 0;
	(void)pthread_mutex_lock(&s->mutex);
	store_place_unpin(s, &place);
	(void)pthread_mutex_unlock(&s->mutex);
	return got < 0 ? got : 1;
}

static struct pack_set *get_pack_set(struct store *s)
{
	struct pack_set *set;

	(void)pthread_mutex_lock(&s->mutex);
	set = s->set;
	(void)pthread_mutex_unlock(&s->mutex);
	return set;
}

/* As get_own_object(), from packs of other processes. Tries every copy. */
static int get_packed_object(struct store *s, const struct oid *id,
			     struct buf *to, struct err *err)
{
	struct pack_walk walk = pack_walk_start(get_pack_set(s), id->hash);
	struct place place = {0};
	int got = 0;

	while (got != 1 && (place.pack = pack_walk_next(s, &walk))) {
		uint32_t at = pack_find(place.pack, id->hash);

		for (; at < pack_count(place.pack) && got != 1; at++) {
			bool ok = pack_get(place.pack, at, &place.entry);

			if (memcmp(place.entry.id.hash, id->hash, HASH_LEN) !=
			    0)
				break;
			if (!ok || !oid_equal(&place.entry.id, id))
				continue;
			got = !to ? 1 : fetch_object(s, &place, id, to, err);
			if (to && got == 0)
				got = 1;
		}
	}
	return got;
}

/* As get_packed_object(); a store open for reading checks the indexes of its
 * packs and searches a second time. */
static int find_packed_object(struct store *s, const struct oid *id,
			      struct buf *to, struct err *err)
{
	int got = get_packed_object(s, id, to, err);
	struct err ignored;

	if (s->mode != STORE_READ)
		return got;
	/* A reader holds no lock: prune may have moved the object into a pack
	 * that did not exist when the packs were listed. */
	if (got == 0 && store_refresh_packs(s, &ignored) == 0)
		got = get_packed_object(s, id, to, err);
	if (got != 1 && store_check_packs(s))
		got = get_packed_object(s, id, to, err);
	return got;
}

static bool is_oid_valid(const struct oid *id)
{
	return id->type >= OBJECT_DATA && id->type <= OBJECT_ATTRSET &&
	       id->len <= OBJECT_LEN_MAX;
}

/* A pack with a read error, or NULL. Called under the mutex. */
static const struct pack *find_failed_pack(const struct pack_set *set)
{
	const struct indexed_packs *c = set->indexed_packs;
	size_t i;

	for (i = 0; i < set->count; i++)
		if (pack_failed(set->packs[i]))
			return set->packs[i];
	for (i = 0; c && i < midx_count(c->midx); i++)
		if (c->packs[i] && pack_failed(c->packs[i]))
			return c->packs[i];
	return NULL;
}

static int fail_object_missing(struct store *s, struct err *err)
{
	const struct pack *failed;
	int got;

	(void)pthread_mutex_lock(&s->mutex);
	failed = find_failed_pack(s->set);
	if (failed)
		got = pack_fail(failed, err);
	else if (s->damaged)
		got = fail(err, EBADMSG,
			   "an object is missing and packs are damaged: %s",
			   s->damaged);
	else
		got = fail(err, ENOENT,
			   "an object is missing from the store: `guard "
			   "repair` fills in what is still to be had");
	(void)pthread_mutex_unlock(&s->mutex);
	return got;
}

int store_get(struct store *s, const struct oid *id, struct buf *to,
	      struct err *err)
{
	struct err own;
	int got;

	if (!is_oid_valid(id))
		return fail(err, EBADMSG, "not the name of an object");
	got = get_own_object(s, id, to, &own);
	if (got == 1)
		return 0;
	if (got < 0)
		*err = own;
	if (got == 0)
		got = find_packed_object(s, id, to, err);
	else if (get_packed_object(s, id, to, &own) == 1)
		got = 1;
	if (got == 1)
		return 0;
	return got < 0 ? got : fail_object_missing(s, err);
}

bool store_has(struct store *s, const struct oid *id)
{
	struct err ignored;

	return is_oid_valid(id) &&
	       (get_own_object(s, id, NULL, &ignored) == 1 ||
		find_packed_object(s, id, NULL, &ignored) == 1);
}

/* Packs are much smaller than this. */
#define WHERE_PACK_SHIFT 40

uint64_t store_position(struct store *s, const struct oid *id)
{
	struct pack_walk walk = pack_walk_start(get_pack_set(s), id->hash);
	const struct pack *pack;
	struct pack_entry e;

	while ((pack = pack_walk_next(s, &walk))) {
		uint32_t at = pack_find(pack, id->hash);

		for (; at < pack_count(pack) && pack_get(pack, at, &e); at++) {
			if (memcmp(e.id.hash, id->hash, HASH_LEN) != 0)
				break;
			if (oid_equal(&e.id, id))
				return (uint64_t)walk.number
					       << WHERE_PACK_SHIFT |
				       e.offset;
		}
	}
	return UINT64_MAX;
}
