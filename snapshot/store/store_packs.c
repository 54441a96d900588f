#include "snapshot/store/store_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/text.h"

/* --- the bytes of an object --- */

int store_fail(struct store *s, const struct err *err)
{
	store_lock(s);
	if (!s->failed.num)
		s->failed = *err;
	(void)pthread_cond_broadcast(&s->changed);
	store_unlock(s);
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
	struct view view = {.len = e->id.len};
	struct record_head head;
	size_t len;
	bool good;

	if (e->in_block) {
		if (block_load(cache, place, &view.block, err) < 0)
			return -err->num;
		view.data = view.block->data + e->inner;
		good = e->inner <= view.block->len &&
		       view.len <= view.block->len - e->inner;
	} else {
		if (record_read(place, &head, &view.owned, &len, err) < 0)
			return -err->num;
		view.data = view.owned;
		good = head.type == e->id.type && len == view.len;
	}
	if (good)
		*ret = view;
	else
		store_view_done(cache, &view);
	return good ? 0 : fail(err, EBADMSG, "a pack's index is invalid");
}

void store_view_done(struct blockcache *cache, struct view *view)
{
	if (view->block)
		blockcache_release(cache, view->block);
	free(view->owned);
	*view = (struct view){0};
}

void store_place_unpin(struct store *s, const struct place *place)
{
	if (place->out && --place->out->users == 0)
		(void)pthread_cond_broadcast(&s->changed);
}

int store_own_read(struct store *s, const struct object *object,
		   struct view *ret, struct err *err)
{
	const struct block *block = object->block;
	struct place place = {
		.entry = {.offset = block->offset,
			  .id = {.len = object->len, .type = object->type},
			  .inner = object->inner,
			  .in_block = !block->single},
	};
	int got;

	if (!block->out) {
		*ret = (struct view){.len = object->len};
		ret->owned =
			mem_dup(block->data.data + object->inner, object->len);
		ret->data = ret->owned;
		return 0;
	}
	place.pack = block->out->pack;
	if (!place.pack) {
		place.out = block->out;
		place.out->users++;
	}
	store_unlock(s);
	got = store_place_read(s->cache, &place, ret, err);
	store_lock(s);
	store_place_unpin(s, &place);
	return got;
}

/* --- packs of other processes --- */

/*
 * New packs in packs/. Writers never wait for each other, so two of them may
 * store the same bytes at the same time, which only costs space. When they give
 * one name (hash, ordinal) to *different* bytes, the writer that commits later
 * must notice it and fail.
 */

bool store_is_pack_name(const char *name)
{
	return path_ends(name, ".gpk");
}

/* Called under the mutex. */
static bool is_new_pack(const struct store *s, const char *name)
{
	const struct out_pack *out = s->outs;

	while (out && strcmp(out->name, name) != 0)
		out = out->next;
	return store_is_pack_name(name) && !out &&
	       !dirlist_find(&s->listed, name) &&
	       !(s->midx && midx_number(s->midx, name) < midx_count(s->midx));
}

/* Records a text for the message about a missing object. Called under the
 * mutex. */
static void note_damage(struct store *s, const char *text)
{
	char *old = s->damaged;

	if (old && strlen(old) > 400)
		return;
	s->damaged = old ? mem_printf("%s; %s", old, text) : mem_strdup(text);
	free(old);
}

/* Opens a pack, under the mutex. unread: see pack_open(). A damaged pack
 * (-EBADMSG, -EPROTO) is recorded for the message about a missing object, and
 * is not opened again. */
static int open_store_pack(struct store *s, const char *name, bool unread,
			   struct pack **ret, struct err *err)
{
	int got;

	if (mem_list_has(s->damaged_names, name))
		return fail(err, EBADMSG, "pack %s is damaged",
			    text_quote(name));
	got = pack_open(s->store_dir.packs_fd, name, s->store_dir.format.uuid,
			unread, ret, err);
	if (got == 0 && pack_damaged(*ret)) {
		auto_free char *text =
			mem_printf("pack %s is damaged", text_quote(name));

		note_damage(s, text);
	} else if (got == -EBADMSG || got == -EPROTO) {
		mem_list_add(&s->damaged_names, name);
		note_damage(s, err->text);
	}
	return got;
}

/* Opens the new packs. Called under the mutex. */
static int open_new_packs(struct store *s, const struct dirlist *list,
			  struct err *err)
{
	struct pack *pack;
	size_t i;

	for (i = 0; i < list->count; i++) {
		const char *name = list->items[i].name;
		int got;

		if (!is_new_pack(s, name))
			continue;
		got = open_store_pack(s, name, s->mode == STORE_READ, &pack,
				      err);
		if (got == 0)
			*VEC_ADD(&s->packs) = pack;
		else if (got != -EBADMSG && got != -EPROTO && got != -ENOENT)
			return got;
	}
	return 0;
}

/* 16 bits for each object: one search in 16 for a new hash is in vain. Called
 * under the mutex. */
static void make_packs_filter(struct store *s)
{
	uint64_t objects = 0;
	unsigned int bits = 16;
	size_t i;
	uint32_t k;

	for (i = 0; i < s->packs.count; i++)
		objects += pack_count(s->packs.items[i]);
	while (bits < 40 && (uint64_t)1 << bits < 16 * objects)
		bits++;
	free(s->filter);
	s->filter = mem_zalloc((size_t)1 << (bits - 3));
	s->filter_bits = bits;
	for (i = 0; i < s->packs.count; i++) {
		const struct pack *pack = s->packs.items[i];

		for (k = 0; k < pack_count(pack); k++) {
			uint64_t at = hash_prefix(pack_hash(pack, k), bits);

			s->filter[at / 8] |= (unsigned char)(1 << at % 8);
		}
	}
}

bool store_check_packs(struct store *s)
{
	struct err ignored;
	size_t i, count;
	bool any;

	store_lock(s);
	any = !s->checked && s->midx && !s->midx_dropped;
	/* Every pack is searched from now on. */
	for (i = 0; any && i < midx_count(s->midx); i++)
		if (s->indexed[i] ||
		    open_store_pack(s, midx_name(s->midx, i), true,
				    &s->indexed[i], &ignored) == 0)
			*VEC_ADD(&s->packs) = TAKE(s->indexed[i]);
	s->midx_dropped |= any;
	count = s->checked ? 0 : s->packs.count;
	for (i = 0; i < count; i++) {
		struct pack *pack = s->packs.items[i];

		if (pack_failed(pack) &&
		    open_store_pack(s, pack_name(pack), false, &pack,
				    &ignored) == 0)
			*VEC_ADD(&s->packs) = pack;
	}
	any |= s->packs.count > count && !s->checked;
	s->checked = true;
	store_unlock(s);
	return any;
}

/* Whether object i of this process and the object at `theirs` have one name and
 * different bytes. Called under the mutex, which is released in between. */
static bool object_differs(struct store *s, size_t i,
			   const struct place *theirs)
{
	const struct object *o = &s->objects.items[i];
	const struct oid *id = &theirs->entry.id;
	struct view a = {0}, b = {0};
	struct err ignored;
	bool differ = false;

	if (id->type != o->type || id->ord != o->ord)
		return false;
	if (id->len != o->len)
		return true;
	if (store_own_read(s, o, &a, &ignored) < 0)
		return false;
	store_unlock(s);
	if (store_place_read(s->cache, theirs, &b, &ignored) == 0)
		differ = memcmp(a.data, b.data, b.len) != 0;
	store_view_done(s->cache, &a);
	store_view_done(s->cache, &b);
	store_lock(s);
	return differ;
}

/* Called under the mutex, which is released in between. */
static bool has_clashing_object(struct store *s, struct pack *pack)
{
	size_t i, count = s->objects.count;

	for (i = 0; i < count; i++) {
		unsigned char hash[HASH_LEN];
		struct copies c = {.hash = hash, .pack = pack};
		struct place place;

		memcpy(hash, s->objects.items[i].hash, HASH_LEN);
		c.at = pack_find(pack, hash);
		while (copies_next(s, &c, &place))
			if (object_differs(s, i, &place))
				return true;
	}
	return false;
}

int store_refresh_packs(struct store *s, struct err *err)
{
	AUTO(dirlist) struct dirlist list = {0};
	bool clash = false;
	size_t i, before;
	int got;

	store_lock(s);
	before = i = s->packs.count;
	got = dirlist_read(s->store_dir.packs_fd, &list, err);
	if (got == 0)
		got = open_new_packs(s, &list, err);
	if (got == 0) {
		dirlist_free(&s->listed);
		s->listed = TAKE(list);
	}
	while (got < 0 && s->packs.count > before)
		pack_free(&s->packs.items[--s->packs.count]);
	if (s->packs.count > before) {
		s->checked = false;
		if (s->mode != STORE_READ)
			make_packs_filter(s);
	}
	/* Objects that are stored from here on are compared with the new packs
	 * by store_put(). */
	for (; i < s->packs.count && !clash; i++)
		clash = has_clashing_object(s, s->packs.items[i]);
	store_unlock(s);
	return clash ? fail(err, EAGAIN,
			    "another process stored different bytes of the "
			    "same hash at the same time: try again")
		     : got;
}

int store_refresh(struct store *s, struct err *err)
{
	int got = store_refresh_packs(s, err);

	return got < 0 ? store_fail(s, err) : 0;
}

/* --- the copies of an object in them --- */

void store_load_midx(struct store *s)
{
	AUTO(midx) struct midx *m = NULL;
	struct err ignored;

	if (midx_open(s->store_dir.fd, MIDX_FILE, s->store_dir.format.uuid, &m,
		      &ignored) < 0 ||
	    (s->mode == STORE_WRITE && !midx_is_intact(m)))
		return;
	s->indexed = mem_zalloc(midx_count(m) * sizeof(struct pack *));
	s->midx = TAKE(m);
}

struct copies copies_start(const struct store *s, const unsigned char *hash)
{
	struct copies c = {.hash = hash, .loose = s->packs.count};
	uint64_t at = s->filter ? hash_prefix(hash, s->filter_bits) : 0;

	if (s->filter && !(s->filter[at / 8] >> at % 8 & 1))
		c.loose = 0;
	c.midx = s->midx_dropped ? NULL : s->midx;
	c.first = SIZE_MAX;
	return c;
}

/* The next pack that may have the object; NULL at the end. */
static struct pack *next_pack(struct store *s, struct copies *c)
{
	struct pack *pack = NULL;
	struct err ignored;

	if (c->loose) {
		store_lock(s);
		pack = s->packs.items[--c->loose];
		store_unlock(s);
		c->number = c->loose + (c->midx ? midx_count(c->midx) : 0);
		return pack;
	}
	if (c->midx && c->first == SIZE_MAX)
		(void)midx_find(c->midx, c->hash, &c->first, &c->end);
	while (c->midx && !pack && c->end > c->first) {
		size_t i = midx_pack(c->midx, --c->end);
		int got = 0;

		if (i == midx_count(c->midx))
			continue;
		/* A pack that is missing was removed by prune: its objects are
		 * in other packs, or nothing refers to them. */
		store_lock(s);
		if (!s->indexed[i])
			got = open_store_pack(s, midx_name(c->midx, i),
					      s->mode == STORE_READ,
					      &s->indexed[i], &ignored);
		if (err_is_exhaustion(-got))
			c->failed = -got;
		pack = s->indexed[i];
		store_unlock(s);
		c->number = i;
	}
	return pack;
}

bool copies_next(struct store *s, struct copies *c, struct place *ret)
{
	for (;;) {
		while (c->pack && c->at < pack_count(c->pack)) {
			bool good = pack_get(c->pack, c->at++, &ret->entry);

			if (memcmp(ret->entry.id.hash, c->hash, HASH_LEN) != 0)
				break;
			ret->pack = c->pack;
			ret->out = NULL;
			if (good)
				return true;
		}
		c->pack = next_pack(s, c);
		if (!c->pack)
			return false;
		c->at = pack_find(c->pack, c->hash);
	}
}
