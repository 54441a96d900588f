#include "snapshot/store/store_index.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/dirtree.h"
#include "snapshot/store/store_private.h"

/* The index over many packs, read and written. It covers the packs that existed
 * when it was written. Newer packs are searched one by one until there are too
 * many of them. */

/* Searching this many packs costs less than half a millisecond. */
static unsigned int loose_max = 64;
/* Share of the indexed packs that must be new: the cost of writing the index is
 * then paid for by the number of packs added. */
#define LOOSE_SHARE 16

void store_index_after(unsigned int packs)
{
	loose_max = packs;
}

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

/* A pack that is missing was removed by prune: its objects are in other packs,
 * or nothing refers to them. */
static struct pack *open_indexed_pack(struct store *s, struct indexed_packs *c,
				      size_t i)
{
	struct pack *pack;
	struct err err;

	(void)pthread_mutex_lock(&s->mutex);
	if (!c->packs[i])
		(void)store_open_pack(s, midx_name(c->midx, i), &c->packs[i],
				      &err);
	pack = c->packs[i];
	(void)pthread_mutex_unlock(&s->mutex);
	return pack;
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

	if (w->loose) {
		w->number = --w->loose;
		if (set->indexed_packs)
			w->number += midx_count(set->indexed_packs->midx);
		return set->packs[w->loose];
	}
	while (w->end > w->first) {
		size_t i = midx_pack(set->indexed_packs->midx, --w->end);
		struct pack *pack;

		if (i == midx_count(set->indexed_packs->midx))
			continue;
		pack = open_indexed_pack(s, set->indexed_packs, i);
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

static bool is_update_due(const struct index_update *u, bool tidy)
{
	size_t covered = u->old ? midx_count(u->old) - u->dead : 0;
	size_t most = covered / LOOSE_SHARE;

	if (tidy)
		return u->loose || u->dead || u->is_broken;
	return u->loose >= (most > loose_max ? most : loose_max);
}

static void add_update_entries(struct index_update *u, const struct pack *pack)
{
	uint32_t i, count = pack_count(pack);

	if (u->entry_capacity - u->entry_count < count) {
		u->entry_capacity = 2 * u->entry_capacity + count;
		u->entries = mem_resize(u->entries, u->entry_capacity,
					sizeof(*u->entries));
	}
	for (i = 0; i < count; i++)
		u->entries[u->entry_count++] = (struct midx_entry){
			midx_start(pack_hash(pack, i)), (uint32_t)u->count};
}

/* Damaged packs are not indexed: lookups that need them report the damage. */
static void add_update_pack(struct index_update *u, const char *name)
{
	AUTO(pack) struct pack *pack = NULL;
	struct err ignored;
	size_t old = u->old ? midx_number(u->old, name) : 0;

	if (u->old && old < midx_count(u->old)) {
		u->number[old] = (uint32_t)u->count;
	} else {
		if (pack_open(u->store_dir->packs_fd, name,
			      u->store_dir->format.uuid, &pack, &ignored) < 0 ||
		    pack_damaged(pack) || strlen(name) != MIDX_NAME_LEN)
			return;
		add_update_entries(u, pack);
	}
	u->names[u->count++] = (char *)(uintptr_t)name;
}

static void gather_update_entries(struct index_update *u)
{
	size_t i, old = u->old ? midx_count(u->old) : 0;

	u->number = mem_resize(NULL, old + 1, sizeof(*u->number));
	memset(u->number, 0xff, (old + 1) * sizeof(*u->number));
	u->names = mem_resize(NULL, u->list.count + 1, sizeof(*u->names));
	for (i = 0; i < u->list.count; i++)
		if (store_is_pack_name(u->list.items[i].name))
			add_update_pack(u, u->list.items[i].name);
}

/* Called under the commit lock. bytes NULL: removes the index. */
static int put_index_locked(const struct store_dir *f, const char *temp,
			    struct err *err)
{
	int got = 0, lock = store_dir_commit_begin(f, err);

	if (lock < 0)
		return lock;
	if (temp ? renameat(f->tmp_fd, temp, f->fd, MIDX_FILE)
		 : unlinkat(f->fd, MIDX_FILE, 0))
		got = fail_errno(err, "replace the index over the packs");
	store_dir_commit_end(f, lock);
	return got;
}

/* Not synced: a torn index is detected and recreated. */
static int put_index(const struct store_dir *f, const struct buf *bytes,
		     struct err *err)
{
	auto_free char *temp = mem_printf("midx.%d.tmp", (int)getpid());
	auto_close int fd = -1;
	int got = 0;

	(void)unlinkat(f->tmp_fd, temp, 0);
	fd = openat(f->tmp_fd, temp,
		    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0400);
	if (fd < 0 || fd_write(fd, bytes->data, bytes->len) < 0)
		got = fail_errno(err, "write the index over the packs");
	else
		got = put_index_locked(f, temp, err);
	if (fd >= 0 && got < 0)
		(void)unlinkat(f->tmp_fd, temp, 0);
	return got;
}

static int index_update(struct index_update *u, bool tidy, struct err *err)
{
	const struct store_dir *f = u->store_dir;
	AUTO(buf) struct buf bytes = {0};

	if (compare_index_with_packs(u, err) < 0 || !is_update_due(u, tidy))
		return 0;
	if (u->list.count < loose_max)
		return u->old || u->is_broken ? put_index_locked(f, NULL, err)
					      : 0;
	gather_update_entries(u);
	midx_make(f->format.uuid, u->names, u->count, u->entries,
		  u->entry_count, u->old, u->number, &bytes);
	return put_index(f, &bytes, err);
}

static void index_update_quietly(const struct store_dir *f, bool tidy)
{
	struct index_update u = {.store_dir = f};
	struct err ignored;

	(void)index_update(&u, tidy, &ignored);
	index_update_free(&u);
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
