#include "snapshot/store/store_index.h"

#include <errno.h>
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

/* Searching this many packs costs a third of a millisecond. Tests include this
 * file and set it. */
static unsigned int loose_max = 16;
/* Share of the indexed packs that must be new, so that the cost of writing the
 * index is spread over the packs added. */
#define LOOSE_SHARE 64

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
	VEC(struct midx_entry)
	entries; /* entries of packs that old does not have */
};

static void index_update_free(struct index_update *u)
{
	midx_free(&u->old);
	dirlist_free(&u->list);
	free(u->number);
	free(u->names);
	VEC_FREE(&u->entries);
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
	uint32_t i;

	if (u->old && old < midx_count(u->old)) {
		u->number[old] = (uint32_t)u->count;
	} else {
		if (pack_open(u->store_dir->packs_fd, name,
			      u->store_dir->format.uuid, false, &pack,
			      &ignored) < 0 ||
		    pack_damaged(pack) || strlen(name) != MIDX_NAME_LEN)
			return;
		for (i = 0; i < pack_count(pack); i++)
			*VEC_ADD(&u->entries) = (struct midx_entry){
				hash_prefix(pack_hash(pack, i), 64),
				(uint32_t)u->count};
	}
	u->names[u->count++] = (char *)(uintptr_t)name;
}

static void remove_index(const struct store_dir *f)
{
	struct err ignored;
	int lock = store_dir_commit_begin(f, &ignored);

	if (lock < 0)
		return;
	(void)unlinkat(f->fd, MIDX_FILE, 0);
	store_dir_commit_end(f, lock);
}

static void index_update(const struct store_dir *f, bool tidy)
{
	AUTO(index_update) struct index_update u = {.store_dir = f};
	AUTO(buf) struct buf bytes = {0};
	size_t i, old, most;
	struct err ignored;

	if (compare_index_with_packs(&u, &ignored) < 0)
		return;
	old = u.old ? midx_count(u.old) : 0;
	most = (old - u.dead) / LOOSE_SHARE;
	if (tidy ? !u.loose && !u.dead && !u.is_broken
		 : u.loose < (most > loose_max ? most : loose_max))
		return;
	if (u.list.count < loose_max) {
		if (u.old || u.is_broken)
			remove_index(f);
		return;
	}
	u.number = mem_resize(NULL, old + 1, sizeof(*u.number));
	memset(u.number, 0xff, (old + 1) * sizeof(*u.number));
	u.names = mem_resize(NULL, u.list.count + 1, sizeof(*u.names));
	for (i = 0; i < u.list.count; i++)
		if (store_is_pack_name(u.list.items[i].name))
			add_update_pack(&u, u.list.items[i].name);
	midx_make(f->format.uuid, u.names, u.count, u.entries.items,
		  u.entries.count, u.old, u.number, &bytes);
	(void)store_dir_put_cache(f, MIDX_FILE, &bytes, &ignored);
}

void store_index_grown(const struct store_dir *f, size_t loose)
{
	if (loose >= loose_max)
		index_update(f, false);
}

void store_index_tidy(const struct store_dir *f)
{
	index_update(f, true);
}
