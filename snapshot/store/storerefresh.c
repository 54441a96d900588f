#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/text.h"
#include "base/dirtree.h"
#include "snapshot/store/store_private.h"

/*
 * New packs in packs/. Writers never wait for each other, so two of them may
 * store the same bytes at the same time, which only costs space. When they give
 * one name (hash, ordinal) to *different* bytes, the writer that commits later
 * must notice it and fail.
 */

bool store_is_pack_name(const char *name)
{
	size_t len = strlen(name);

	return len > 4 && strcmp(name + len - 4, ".gpk") == 0;
}

static int compare_pack_names(const void *a, const void *b)
{
	return strcmp(pack_name(*(struct pack *const *)a),
		      pack_name(*(struct pack *const *)b));
}

static bool is_pack_in_set(const struct pack_set *set, const char *name)
{
	size_t low = 0, high = set->count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		int d = strcmp(pack_name(set->packs[mid]), name);

		if (!d)
			return true;
		if (d < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return false;
}

static bool is_pack_damaged_name(const struct store *s, const char *name)
{
	size_t i;

	for (i = 0; i < s->damaged_names.count; i++) {
		if (strcmp(s->damaged_names.items[i], name) == 0)
			return true;
	}
	return false;
}

/* Called under the mutex. */
static bool is_pack_known(const struct store *s, const char *name)
{
	const struct out_pack *out;

	for (out = s->outs; out; out = out->next) {
		if (strcmp(out->name, name) == 0)
			return true;
	}
	return is_pack_damaged_name(s, name) || is_pack_in_set(s->set, name) ||
	       (s->set->indexed_packs &&
		midx_number(s->set->indexed_packs->midx, name) <
			midx_count(s->set->indexed_packs->midx));
}

/* Records a text for the message about a missing object. Called under the
 * mutex. */
static void note_damaged_pack(struct store *s, const char *text)
{
	char *old = s->damaged;

	if (old && strlen(old) > 400)
		return;
	s->damaged = old ? mem_printf("%s; %s", old, text) : mem_strdup(text);
	free(old);
}

/* Records a damaged pack, opened or refused (-EBADMSG, -EPROTO). Called under
 * the mutex. */
static void note_damaged_name(struct store *s, const char *name,
			      const struct pack *pack, const struct err *err)
{
	if (!pack) {
		names_add(&s->damaged_names, name);
		note_damaged_pack(s, err->text);
	} else if (pack_damaged(pack)) {
		auto_free char *text =
			mem_printf("pack %s is damaged", text_quote(name));

		note_damaged_pack(s, text);
	}
}

int store_open_pack(struct store *s, const char *name, struct pack **ret,
		    struct err *err)
{
	int got;

	if (is_pack_damaged_name(s, name))
		return fail(err, EBADMSG, "pack %s is damaged",
			    text_quote(name));
	got = (s->mode == STORE_READ ? pack_open_unread : pack_open)(
		s->store_dir.packs_fd, name, s->store_dir.format.uuid, ret,
		err);
	if (got == 0)
		note_damaged_name(s, name, *ret, NULL);
	else if (got == -EBADMSG || got == -EPROTO)
		note_damaged_name(s, name, NULL, err);
	return got;
}

/* Opens the new packs. Called under the mutex. */
static int open_new_packs(struct store *s, const struct dirlist *list,
			  struct pack_set *fresh, struct err *err)
{
	size_t i;

	for (i = 0; i < list->count; i++) {
		const char *name = list->items[i].name;
		int got;

		if (!store_is_pack_name(name) || is_pack_known(s, name))
			continue;
		got = store_open_pack(s, name, &fresh->packs[fresh->count],
				      err);
		if (got == 0)
			fresh->count++;
		else if (got != -EBADMSG && got != -EPROTO && got != -ENOENT)
			return got;
	}
	return 0;
}

/* 16 bits for each object: one search in 16 for a new hash is in vain. */
static void make_set_filter(struct pack_set *set)
{
	uint64_t objects = 0;
	unsigned int bits = 16;
	size_t i;
	uint32_t k;

	for (i = 0; i < set->count; i++)
		objects += pack_count(set->packs[i]);
	while (bits < 40 && (uint64_t)1 << bits < 16 * objects)
		bits++;
	set->filter = mem_zalloc((size_t)1 << (bits - 3));
	set->filter_bits = bits;
	for (i = 0; i < set->count; i++) {
		for (k = 0; k < pack_count(set->packs[i]); k++) {
			uint64_t at = store_hash_start(
				pack_hash(set->packs[i], k), bits);

			set->filter[at / 8] |= (unsigned char)(1 << at % 8);
		}
	}
}

/* Called under the mutex. */
static void make_larger_set(struct store *s, const struct pack_set *fresh,
			    struct indexed_packs *indexed_packs)
{
	size_t count = s->set->count + fresh->count;
	struct pack_set *set =
		mem_zalloc(sizeof(*set) + count * sizeof(*set->packs));

	memcpy(set->packs, s->set->packs, s->set->count * sizeof(*set->packs));
	memcpy(set->packs + s->set->count, fresh->packs,
	       fresh->count * sizeof(*set->packs));
	set->indexed_packs = indexed_packs;
	set->count = count;
	if (count)
		qsort(set->packs, count, sizeof(*set->packs),
		      compare_pack_names);
	if (s->mode != STORE_READ)
		make_set_filter(set);
	set->older = s->set;
	s->set = set;
}

/* Every pack is searched from now on. Called under the mutex. */
static void drop_indexed_packs(struct store *s)
{
	struct indexed_packs *c = s->set->indexed_packs;
	size_t i, count = midx_count(c->midx);
	auto_free struct pack_set *fresh =
		mem_zalloc(sizeof(*fresh) + count * sizeof(*fresh->packs));
	struct err ignored;

	for (i = 0; i < count; i++)
		if (c->packs[i] || store_open_pack(s, midx_name(c->midx, i),
						   &c->packs[i], &ignored) == 0)
			fresh->packs[fresh->count++] = TAKE(c->packs[i]);
	make_larger_set(s, fresh, NULL);
}

bool store_check_packs(struct store *s)
{
	struct pack_set *fresh, *set;
	struct err err;
	size_t i;
	bool any;

	(void)pthread_mutex_lock(&s->mutex);
	any = !s->checked && s->set->indexed_packs;
	if (any)
		drop_indexed_packs(s);
	set = s->set;
	fresh = mem_zalloc(sizeof(*fresh) + set->count * sizeof(*fresh->packs));
	for (i = 0; i < set->count && !s->checked; i++) {
		const char *name = pack_name(set->packs[i]);
		struct pack **to = &fresh->packs[fresh->count];

		if (pack_failed(set->packs[i]) &&
		    pack_open(s->store_dir.packs_fd, name,
			      s->store_dir.format.uuid, to, &err) == 0)
			note_damaged_name(s, name, fresh->packs[fresh->count++],
					  NULL);
	}
	if (fresh->count)
		make_larger_set(s, fresh, set->indexed_packs);
	any = any || fresh->count;
	s->checked = true;
	(void)pthread_mutex_unlock(&s->mutex);
	free(fresh);
	return any;
}

/* Whether object i of this process and entry `at` of pack have one name and
 * different bytes. Called under the mutex, which is released in between. */
static bool object_differs(struct store *s, size_t i, struct pack *pack,
			   uint32_t at)
{
	const struct object *o = &s->objects.items[i];
	struct place theirs = {.pack = pack}, ours = {0};
	struct view a = {0}, b = {0};
	AUTO(buf) struct buf copy = {0};
	struct err ignored;
	bool differ = false;

	if (!pack_get(pack, at, &theirs.entry) ||
	    theirs.entry.id.type != o->type || theirs.entry.id.ord != o->ord)
		return false;
	if (theirs.entry.id.len != o->len)
		return true;
	if (!o->block->out) {
		buf_add(&copy, o->block->data.data + o->inner, o->len);
		a = (struct view){.data = copy.data, .len = o->len};
	} else {
		store_place_pin(o, &ours);
	}
	(void)pthread_mutex_unlock(&s->mutex);
	if (store_place_read(s->cache, &theirs, &b, &ignored) == 0 &&
	    (a.data || store_place_read(s->cache, &ours, &a, &ignored) == 0))
		differ = memcmp(a.data, b.data, b.len) != 0;
	store_place_done(s->cache, &a);
	store_place_done(s->cache, &b);
	(void)pthread_mutex_lock(&s->mutex);
	store_place_unpin(s, &ours);
	return differ;
}

/* Called under the mutex, which is released in between. */
static bool has_clashing_object(struct store *s, struct pack *pack)
{
	size_t i, count = s->objects.count;

	for (i = 0; i < count; i++) {
		unsigned char hash[HASH_LEN], found[HASH_LEN];
		struct pack_entry e;
		uint32_t at;

		memcpy(hash, s->objects.items[i].hash, HASH_LEN);
		at = pack_find(pack, hash);
		for (; at < pack_count(pack); at++) {
			(void)pack_get(pack, at, &e);
			memcpy(found, e.id.hash, HASH_LEN);
			if (memcmp(found, hash, HASH_LEN) != 0)
				break;
			if (object_differs(s, i, pack, at))
				return true;
		}
	}
	return false;
}

int store_refresh_packs(struct store *s, struct err *err)
{
	struct dirlist list = {0};
	struct pack_set *fresh;
	bool clash = false;
	size_t i;
	int got;

	(void)pthread_mutex_lock(&s->mutex);
	got = dirlist_read(s->store_dir.packs_fd, &list, err);
	fresh = mem_zalloc(sizeof(*fresh) + list.count * sizeof(*fresh->packs));
	if (got == 0)
		got = open_new_packs(s, &list, fresh, err);
	if (fresh->count) {
		make_larger_set(s, fresh, s->set->indexed_packs);
		s->checked = s->mode != STORE_READ;
	}
	/* Objects that are stored from here on are compared with the new set by
	 * store_put(). */
	for (i = 0; i < fresh->count && !clash; i++)
		clash = has_clashing_object(s, fresh->packs[i]);
	(void)pthread_mutex_unlock(&s->mutex);
	dirlist_free(&list);
	free(fresh);
	if (got == 0 && clash)
		got = fail(err, EAGAIN,
			   "another process stored different bytes of the same "
			   "hash at the same time: try again");
	return got;
}

int store_refresh(struct store *s, struct err *err)
{
	int got = store_refresh_packs(s, err);

	return got < 0 ? store_fail(s, err) : 0;
}
