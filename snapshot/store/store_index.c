#include "snapshot/store/store_index.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/dirtree.h"
#include "base/fd.h"
#include "base/text.h"
#include "base/vec.h"
#include "snapshot/store/store_private.h"

/* --- packs of other processes --- */

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

/* Opens a pack, under the mutex. A damaged pack (-EBADMSG, -EPROTO) is recorded
 * for the message about a missing object. */
static int store_open_pack(struct store *s, const char *name, struct pack **ret,
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
	vec_sort(set->packs, count, sizeof(*set->packs), compare_pack_names);
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

/* --- the index over packs --- */

/* The index over many packs, read and written. It covers the packs that existed
 * when it was written. Newer packs are searched one by one until there are too
 * many of them. */

/* Searching this many packs costs a third of a millisecond. Tests include this
 * file and set it. */
static unsigned int loose_max = 16;
/* Share of the indexed packs that must be new, so that the cost of writing the
 * index is spread over the packs added. */
#define LOOSE_SHARE 64

/* --- reading it --- */

struct indexed_packs *store_indexed_packs_load(const struct store_dir *f,
					       bool complete)
{
	AUTO(midx) struct midx *m = NULL;
	struct indexed_packs *c;
	struct err ignored;

	if (midx_open(f->fd, MIDX_FILE, f->format.uuid, &m, &ignored) < 0 ||
	    (complete && !midx_is_intact(m)))
		return NULL;
	c = mem_zalloc(sizeof(*c));
	c->packs = mem_zalloc((midx_count(m) + 1) * sizeof(struct pack *));
	c->midx = TAKE(m);
	return c;
}

void store_indexed_packs_free(struct indexed_packs **indexed_packs)
{
	struct indexed_packs *c = *indexed_packs;
	size_t i;

	if (!c)
		return;
	for (i = 0; i < midx_count(c->midx); i++)
		pack_free(&c->packs[i]);
	free(c->packs);
	midx_free(&c->midx);
	free(c);
	*indexed_packs = NULL;
}

struct pack_walk pack_walk_start(const struct pack_set *set,
				 const unsigned char *hash)
{
	struct pack_walk w = {.set = set, .loose = set->count};

	if (set->filter && !pack_set_filtered(set, hash))
		w.loose = 0;
	if (set->indexed_packs)
		(void)midx_find(set->indexed_packs->midx, hash, &w.first,
				&w.end);
	return w;
}

struct pack *pack_walk_next(struct store *s, struct pack_walk *w)
{
	const struct pack_set *set = w->set;
	struct err ignored;

	if (w->loose) {
		w->number = --w->loose;
		if (set->indexed_packs)
			w->number += midx_count(set->indexed_packs->midx);
		return set->packs[w->loose];
	}
	while (w->end > w->first) {
		size_t i = midx_pack(set->indexed_packs->midx, --w->end);
		struct pack *pack;
		int got = 0;

		if (i == midx_count(set->indexed_packs->midx))
			continue;
		/* A pack that is missing was removed by prune: its objects are
		 * in other packs, or nothing refers to them. */
		(void)pthread_mutex_lock(&s->mutex);
		if (!set->indexed_packs->packs[i])
			got = store_open_pack(
				s, midx_name(set->indexed_packs->midx, i),
				&set->indexed_packs->packs[i], &ignored);
		if (err_is_exhaustion(got))
			w->failed = -got;
		pack = set->indexed_packs->packs[i];
		(void)pthread_mutex_unlock(&s->mutex);
		w->number = i;
		if (pack)
			return pack;
	}
	return NULL;
}

/* --- writing it --- */

struct index_update {
	const struct store_dir *store_dir;
	struct midx *old; /* NULL: no usable index */
	uint32_t *number; /* for each pack of old its index in names, or
			     UINT32_MAX */
	struct dirlist list; /* entries of packs/ */
	size_t loose, dead;
	bool is_broken; /* an index exists that cannot be used */
	char **names; /* names of all packs of the new index, sorted */
	size_t count;
	struct midx_entry *entries; /* entries of packs that old does not
				       have */
	size_t entry_count, entry_capacity;
};

static void index_update_free(struct index_update *u)
{
	midx_free(&u->old);
	dirlist_free(&u->list);
	free(u->number);
	free(u->names);
	free(u->entries);
}

static int compare_index_with_packs(struct index_update *u, struct err *err)
{
	const struct store_dir *f = u->store_dir;
	size_t i, covered = 0;
	int got = midx_open(f->fd, MIDX_FILE, f->format.uuid, &u->old, err);

	if (got == 0 && !midx_is_intact(u->old))
		midx_free(&u->old);
	u->is_broken = !u->old && got != -ENOENT;
	if (dirlist_read(f->packs_fd, &u->list, err) < 0)
		return -err->num;
	for (i = 0; i < u->list.count; i++) {
		const char *name = u->list.items[i].name;

		if (!store_is_pack_name(name))
			continue;
		if (u->old && midx_number(u->old, name) < midx_count(u->old))
			covered++;
		else
			u->loose++;
	}
	u->dead = u->old ? midx_count(u->old) - covered : 0;
	return 0;
}

/* Damaged packs are not indexed: lookups that need them report the damage. */
static void add_update_pack(struct index_update *u, const char *name)
{
	AUTO(pack) struct pack *pack = NULL;
	struct err ignored;
	size_t old = u->old ? midx_number(u->old, name) : 0;
	uint32_t i, count;

	if (u->old && old < midx_count(u->old)) {
		u->number[old] = (uint32_t)u->count;
	} else {
		if (pack_open(u->store_dir->packs_fd, name,
			      u->store_dir->format.uuid, &pack, &ignored) < 0 ||
		    pack_damaged(pack) || strlen(name) != MIDX_NAME_LEN)
			return;
		count = pack_count(pack);
		if (u->entry_capacity - u->entry_count < count) {
			u->entry_capacity = 2 * u->entry_capacity + count;
			u->entries = mem_resize(u->entries, u->entry_capacity,
						sizeof(*u->entries));
		}
		for (i = 0; i < count; i++)
			u->entries[u->entry_count++] = (struct midx_entry){
				midx_start(pack_hash(pack, i)),
				(uint32_t)u->count};
	}
	u->names[u->count++] = (char *)(uintptr_t)name;
}

/* Takes the commit lock and puts the file temp of tmp/ in the place of the
 * index. temp NULL: removes the index. */
static int put_index_locked(const struct store_dir *f, const char *temp,
			    struct err *err)
{
	int got = 0, lock = store_dir_commit_begin(f, err);

	if (lock < 0)
		return lock;
	if (temp ? renameat(f->tmp_fd, temp, f->fd, MIDX_FILE)
		 : unlinkat(f->fd, MIDX_FILE, 0))
		got = fail_errno(err, "replace the index of all packs");
	store_dir_commit_end(f, lock);
	return got;
}

static int index_update(struct index_update *u, bool tidy, struct err *err)
{
	const struct store_dir *f = u->store_dir;
	char temp[STORE_DIR_TEMP_LEN];
	AUTO(buf) struct buf bytes = {0};
	auto_close int fd = -1;
	size_t i, old, most;
	int got;

	if (compare_index_with_packs(u, err) < 0)
		return 0;
	old = u->old ? midx_count(u->old) : 0;
	most = (old - u->dead) / LOOSE_SHARE;
	if (tidy ? !u->loose && !u->dead && !u->is_broken
		 : u->loose < (most > loose_max ? most : loose_max))
		return 0;
	if (u->list.count < loose_max)
		return u->old || u->is_broken ? put_index_locked(f, NULL, err)
					      : 0;
	u->number = mem_resize(NULL, old + 1, sizeof(*u->number));
	memset(u->number, 0xff, (old + 1) * sizeof(*u->number));
	u->names = mem_resize(NULL, u->list.count + 1, sizeof(*u->names));
	for (i = 0; i < u->list.count; i++)
		if (store_is_pack_name(u->list.items[i].name))
			add_update_pack(u, u->list.items[i].name);
	midx_make(f->format.uuid, u->names, u->count, u->entries,
		  u->entry_count, u->old, u->number, &bytes);
	/* Not synced: a torn index is detected and recreated. */
	fd = store_dir_create_temp(f->tmp_fd, "midx", temp, err);
	if (fd < 0)
		return fd;
	if (fd_write(fd, bytes.data, bytes.len) < 0)
		got = fail_errno(err, "write the index of all packs");
	else
		got = put_index_locked(f, temp, err);
	if (got < 0)
		(void)unlinkat(f->tmp_fd, temp, 0);
	return got;
}

static void index_update_quietly(const struct store_dir *f, bool tidy)
{
	AUTO(index_update) struct index_update u = {.store_dir = f};
	struct err ignored;

	(void)index_update(&u, tidy, &ignored);
}

void store_index_grown(const struct store_dir *f, size_t loose)
{
	if (loose >= loose_max)
		index_update_quietly(f, false);
}

void store_index_tidy(const struct store_dir *f)
{
	index_update_quietly(f, true);
}
