/* Moved directories, derived from the destinations of their files. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/vec.h"
#include "restore/git/moves_private.h"

struct vote {
	uint32_t from, to;
};

struct votes {
	struct vote *items;
	size_t count, capacity;
};

static int compare_votes(const void *a, const void *b)
{
	const struct vote *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return (x->to > y->to) - (x->to < y->to);
}

static bool same_dir_name(const struct moves_work *w, uint32_t deleted,
			  uint32_t added)
{
	return strcmp(path_name(w->m->deleted.items[deleted].path),
		      path_name(w->m->added.items[added].path)) == 0;
}

/* A file votes for every directory above it in which it kept its relative
 * path. */
static void vote(const struct moves_work *w, uint32_t deleted, struct votes *to)
{
	uint32_t added = w->m->deleted.items[deleted].other;

	while (same_dir_name(w, deleted, added)) {
		deleted = w->deleted_parent[deleted];
		added = w->added_parent[added];
		if (deleted == MOVES_NONE || added == MOVES_NONE)
			return;
		*VEC_ADD(to) = (struct vote){deleted, added};
	}
}

void moves_vote(struct moves_work *w)
{
	const struct moves_side *deleted = &w->m->deleted;
	struct votes v = {0};
	size_t from, end;
	uint32_t i;

	for (i = 0; i < deleted->count; i++) {
		w->best[i] = MOVES_NONE;
		w->votes[i] = 0;
		if (!S_ISDIR(deleted->items[i].mode) &&
		    !moves_is_free(&deleted->items[i]))
			vote(w, i, &v);
	}
	if (v.count)
		qsort(v.items, v.count, sizeof(*v.items), compare_votes);
	for (from = 0; from < v.count; from = end) {
		const struct vote *x = &v.items[from];

		for (end = from;
		     end < v.count && compare_votes(x, &v.items[end]) == 0;
		     end++)
			continue;
		if (end - from > w->votes[x->from]) {
			w->votes[x->from] = (uint32_t)(end - from);
			w->best[x->from] = x->to;
		}
	}
	free(v.items);
}

uint32_t moves_expected(const struct moves_work *w, uint32_t deleted)
{
	const char *path = w->m->deleted.items[deleted].path;
	uint32_t at = w->deleted_parent[deleted], to;

	for (; at != MOVES_NONE; at = w->deleted_parent[at]) {
		auto_free char *there = NULL;

		if (w->best[at] == MOVES_NONE)
			continue;
		there = path_join(
			w->m->added.items[w->best[at]].path,
			path_rest(path, w->m->deleted.items[at].path));
		to = moves_find_path(&w->m->added, there);
		if (to != MOVES_NONE)
			return to;
	}
	return MOVES_NONE;
}

/* The number of files below each directory, at any depth. */
static uint32_t *count_files_below(const struct moves_work *w)
{
	const struct moves_side *deleted = &w->m->deleted;
	uint32_t *count = mem_zalloc(deleted->count * sizeof(*count)), i, at;

	for (i = 0; i < deleted->count; i++)
		if (!S_ISDIR(deleted->items[i].mode))
			for (at = w->deleted_parent[i]; at != MOVES_NONE;
			     at = w->deleted_parent[at])
				count[at]++;
	return count;
}

/* The place of the file in its directory, where that was moved. */
static uint32_t inherited(const struct moves_work *w, uint32_t deleted)
{
	uint32_t above = w->deleted_parent[deleted];
	auto_free char *there = NULL;

	if (above == MOVES_NONE || moves_is_free(&w->m->deleted.items[above]))
		return MOVES_NONE;
	there = path_join(
		w->m->added.items[w->m->deleted.items[above].other].path,
		path_name(w->m->deleted.items[deleted].path));
	return moves_find_path(&w->m->added, there);
}

static bool is_free_dir(const struct moves_work *w, uint32_t added)
{
	return added != MOVES_NONE && S_ISDIR(w->m->added.items[added].mode) &&
	       moves_is_free(&w->m->added.items[added]);
}

void moves_dirs(struct moves_work *w)
{
	struct moves_side *deleted = &w->m->deleted;
	auto_free uint32_t *files = count_files_below(w);
	uint32_t i;

	for (i = 0; i < deleted->count; i++) {
		struct moves_file *f = &deleted->items[i];
		uint32_t to = inherited(w, i);

		if (S_ISDIR(f->mode)) {
			if (is_free_dir(w, w->best[i]) &&
			    w->votes[i] * 2 > files[i])
				to = w->best[i];
			if (is_free_dir(w, to))
				moves_pair(w->m, i, to, 100);
		}
		if (moves_is_free(f) || to == MOVES_NONE || f->other != to)
			continue;
		f->with_parent = inherited(w, i) == to;
		w->m->added.items[to].with_parent = f->with_parent;
	}
}
