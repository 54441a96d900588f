/* Folders that moved, told from where the files in them went. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/path.h"
#include "restore/git/moves_work.h"

struct vote {
	uint32_t from, to;
};

struct votes {
	struct vote *items;
	size_t count, room;
};

static int by_vote(const void *a, const void *b)
{
	const struct vote *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return (x->to > y->to) - (x->to < y->to);
}

static bool same_name(const struct moves_work *w, uint32_t gone, uint32_t came)
{
	return strcmp(path_name(w->m->gone.items[gone].path),
		      path_name(w->m->came.items[came].path)) == 0;
}

/* A file speaks for every folder above it that it kept its place in. */
static void vote(const struct moves_work *w, uint32_t gone, struct votes *to)
{
	uint32_t came = w->m->gone.items[gone].other;

	while (same_name(w, gone, came)) {
		gone = w->gone_parent[gone];
		came = w->came_parent[came];
		if (gone == MOVES_NONE || came == MOVES_NONE)
			return;
		GROW(to->items, to->count, to->room);
		to->items[to->count++] = (struct vote){gone, came};
	}
}

void moves_vote(struct moves_work *w)
{
	const struct moves_side *gone = &w->m->gone;
	struct votes v = {0};
	size_t from, end;
	uint32_t i;

	for (i = 0; i < gone->count; i++) {
		w->best[i] = MOVES_NONE;
		w->votes[i] = 0;
		if (!S_ISDIR(gone->items[i].mode) &&
		    !moves_is_free(&gone->items[i]))
			vote(w, i, &v);
	}
	if (v.count)
		qsort(v.items, v.count, sizeof(*v.items), by_vote);
	for (from = 0; from < v.count; from = end) {
		const struct vote *x = &v.items[from];

		for (end = from;
		     end < v.count && by_vote(x, &v.items[end]) == 0; end++)
			continue;
		if (end - from > w->votes[x->from]) {
			w->votes[x->from] = (uint32_t)(end - from);
			w->best[x->from] = x->to;
		}
	}
	free(v.items);
}

uint32_t moves_expected(const struct moves_work *w, uint32_t gone)
{
	const char *path = w->m->gone.items[gone].path;
	uint32_t at = w->gone_parent[gone], to;

	for (; at != MOVES_NONE; at = w->gone_parent[at]) {
		auto_free char *there = NULL;

		if (w->best[at] == MOVES_NONE)
			continue;
		there = path_join(w->m->came.items[w->best[at]].path,
				  path_rest(path, w->m->gone.items[at].path));
		to = moves_find_path(&w->m->came, there);
		if (to != MOVES_NONE)
			return to;
	}
	return MOVES_NONE;
}

/* What was in each of them, however deep. */
static uint32_t *count_files(const struct moves_work *w)
{
	const struct moves_side *gone = &w->m->gone;
	uint32_t *count = mem_zalloc(gone->count * sizeof(*count)), i, at;

	for (i = 0; i < gone->count; i++)
		if (!S_ISDIR(gone->items[i].mode))
			for (at = w->gone_parent[i]; at != MOVES_NONE;
			     at = w->gone_parent[at])
				count[at]++;
	return count;
}

/* Its place in the folder that it was in, where that went. */
static uint32_t inherited(const struct moves_work *w, uint32_t gone)
{
	uint32_t above = w->gone_parent[gone];
	auto_free char *there = NULL;

	if (above == MOVES_NONE || moves_is_free(&w->m->gone.items[above]))
		return MOVES_NONE;
	there = path_join(w->m->came.items[w->m->gone.items[above].other].path,
			  path_name(w->m->gone.items[gone].path));
	return moves_find_path(&w->m->came, there);
}

static bool is_free_folder(const struct moves_work *w, uint32_t came)
{
	return came != MOVES_NONE && S_ISDIR(w->m->came.items[came].mode) &&
	       moves_is_free(&w->m->came.items[came]);
}

void moves_folders(struct moves_work *w)
{
	struct moves_side *gone = &w->m->gone;
	auto_free uint32_t *files = count_files(w);
	uint32_t i;

	for (i = 0; i < gone->count; i++) {
		struct moves_file *f = &gone->items[i];
		uint32_t to = inherited(w, i);

		if (S_ISDIR(f->mode)) {
			if (is_free_folder(w, w->best[i]) &&
			    w->votes[i] * 2 > files[i])
				to = w->best[i];
			if (is_free_folder(w, to))
				moves_pair(w->m, i, to, 100);
		}
		if (moves_is_free(f) || to == MOVES_NONE || f->other != to)
			continue;
		f->with_parent = inherited(w, i) == to;
		w->m->came.items[to].with_parent = f->with_parent;
	}
}
