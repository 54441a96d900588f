/* Texts that are alike: by their place in a moved folder, by their name, and
 * where there are few, each with each. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/path.h"
#include "restore/git/moves_work.h"
#include "restore/git/similar.h"

static bool is_open(const struct moves_file *f)
{
	return moves_is_free(f) && S_ISREG(f->mode) && f->size && !f->over &&
	       !f->plain && f->size <= MOVES_ALIKE_MAX;
}

/* The smaller could be half of the larger. */
static bool may_be_alike(const struct moves_file *a, const struct moves_file *b)
{
	return a->size <= 2 * b->size && b->size <= 2 * a->size;
}

static struct similar *measure(struct moves_work *w, const struct moves_file *f,
			       bool came)
{
	AUTO(buf) struct buf bytes = {0};
	struct similar *ret = NULL;
	struct err ignored;

	if (w->alike_bytes + f->size > MOVES_ALIKE_BYTES) {
		w->m->limited = true;
		return NULL;
	}
	w->alike_bytes += f->size;
	if (w->source->bytes(w->source->arg, f, came, &bytes, &ignored) < 0 ||
	    similar_make(bytes.data, bytes.len, &ret, &ignored) <= 0)
		return NULL;
	return ret;
}

/* A hundred is for the very bytes. */
static unsigned percent_of(const struct similar *a, const struct similar *b)
{
	unsigned percent = a && b ? similar_percent(a, b) : 0;

	return percent > 99 ? 99 : percent;
}

static void try_pair(struct moves_work *w, uint32_t gone, uint32_t came)
{
	const struct moves_file *f = &w->m->gone.items[gone];
	const struct moves_file *g = &w->m->came.items[came];
	AUTO(similar) struct similar *a = NULL;
	AUTO(similar) struct similar *b = NULL;
	unsigned percent;

	if (!is_open(f) || !is_open(g) || !may_be_alike(f, g))
		return;
	a = measure(w, f, false);
	b = a ? measure(w, g, true) : NULL;
	percent = percent_of(a, b);
	if (percent >= MOVES_ALIKE)
		moves_pair(w->m, gone, came, percent);
}

static void by_place(struct moves_work *w)
{
	uint32_t i;

	for (i = 0; i < w->m->gone.count; i++) {
		uint32_t to;

		if (!is_open(&w->m->gone.items[i]))
			continue;
		to = moves_expected(w, i);
		if (to != MOVES_NONE)
			try_pair(w, i, to);
	}
}

/* --- the only one of its name on either side --- */

struct named {
	const char *name;
	uint32_t at;
	bool came;
};

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct named *)a)->name,
		      ((const struct named *)b)->name);
}

static size_t list_open(const struct moves_side *side, bool came,
			struct named *to)
{
	size_t n = 0;
	uint32_t i;

	for (i = 0; i < side->count; i++)
		if (is_open(&side->items[i]))
			to[n++] = (struct named){path_name(side->items[i].path),
						 i, came};
	return n;
}

static void by_only_name(struct moves_work *w)
{
	const struct moves *m = w->m;
	auto_free struct named *list =
		mem_alloc((m->gone.count + m->came.count) * sizeof(*list));
	size_t count = list_open(&m->gone, false, list), from, end;

	if (!count)
		return;
	count += list_open(&m->came, true, list + count);
	qsort(list, count, sizeof(*list), by_name);
	for (from = 0; from < count; from = end) {
		for (end = from;
		     end < count && by_name(&list[from], &list[end]) == 0;
		     end++)
			continue;
		if (end - from == 2 && list[from].came != list[from + 1].came)
			try_pair(w, list[from + list[from].came].at,
				 list[from + !list[from].came].at);
	}
}

/* --- each with each --- */

struct open_file {
	uint32_t at;
	struct similar *measured;
};

struct candidate {
	uint32_t gone, came;
	unsigned percent;
	bool name; /* the same */
};

/* Of one that came, so many are kept that it may be. */
#define BEST 4

/* The best first. */
static int by_percent(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->percent != y->percent)
		return x->percent > y->percent ? -1 : 1;
	if (x->name != y->name)
		return x->name ? -1 : 1;
	if (x->came != y->came)
		return x->came < y->came ? -1 : 1;
	return (x->gone > y->gone) - (x->gone < y->gone);
}

static void keep_best(struct candidate *best, const struct candidate *one)
{
	size_t at = BEST;

	while (at && by_percent(one, &best[at - 1]) < 0)
		at--;
	if (at == BEST)
		return;
	memmove(best + at + 1, best + at, (BEST - 1 - at) * sizeof(*best));
	best[at] = *one;
}

struct matrix {
	struct open_file *gone, *came;
	size_t gone_count, came_count;
};

static struct open_file *files_of(const struct moves_side *side, size_t *ret)
{
	struct open_file *list = mem_zalloc((side->count + 1) * sizeof(*list));
	size_t n = 0;
	uint32_t i;

	for (i = 0; i < side->count; i++)
		if (is_open(&side->items[i]))
			list[n++].at = i;
	*ret = n;
	return list;
}

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void want(const struct moves_side *side, struct open_file *list,
		 size_t *count, const struct moves_side *other_side,
		 const struct open_file *other, size_t other_count)
{
	auto_free uint64_t *sizes =
		mem_alloc((other_count + 1) * sizeof(*sizes));
	size_t kept = 0, i;

	for (i = 0; i < other_count; i++)
		sizes[i] = other_side->items[other[i].at].size;
	qsort(sizes, other_count, sizeof(*sizes), by_size);
	for (i = 0; i < *count; i++) {
		uint64_t size = side->items[list[i].at].size;
		size_t low = 0, high = other_count;

		/* The smallest that it could be half of, or that is its half.
		 */
		while (low < high) {
			size_t mid = (low + high) / 2;

			if (sizes[mid] * 2 < size)
				low = mid + 1;
			else
				high = mid;
		}
		if (low < other_count && sizes[low] <= 2 * size)
			list[kept++] = list[i];
	}
	*count = kept;
}

static void measure_all(struct moves_work *w, const struct moves_side *side,
			bool came, struct open_file *list, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		list[i].measured = measure(w, &side->items[list[i].at], came);
}

static void compare_all(struct moves_work *w, const struct matrix *x,
			struct candidate *found)
{
	size_t i, k;

	for (i = 0; i < x->came_count; i++)
		for (k = 0; k < x->gone_count; k++) {
			const struct moves_file *c =
				&w->m->came.items[x->came[i].at];
			const struct moves_file *g =
				&w->m->gone.items[x->gone[k].at];
			struct candidate one = {x->gone[k].at, x->came[i].at, 0,
						false};

			if (!may_be_alike(c, g))
				continue;
			one.percent = percent_of(x->gone[k].measured,
						 x->came[i].measured);
			if (one.percent < MOVES_ALIKE)
				continue;
			one.name = strcmp(path_name(c->path),
					  path_name(g->path)) == 0;
			keep_best(found + i * BEST, &one);
		}
}

static void pair_best(struct moves_work *w, struct candidate *found,
		      size_t count)
{
	size_t i;

	if (count)
		qsort(found, count, sizeof(*found), by_percent);
	for (i = 0; i < count && found[i].percent; i++)
		if (moves_is_free(&w->m->gone.items[found[i].gone]) &&
		    moves_is_free(&w->m->came.items[found[i].came]))
			moves_pair(w->m, found[i].gone, found[i].came,
				   found[i].percent);
}

static void matrix_free(struct matrix *x)
{
	size_t i;

	for (i = 0; i < x->gone_count; i++)
		similar_free(&x->gone[i].measured);
	for (i = 0; i < x->came_count; i++)
		similar_free(&x->came[i].measured);
	free(x->gone);
	free(x->came);
}

static void by_text(struct moves_work *w)
{
	struct moves *m = w->m;
	struct matrix x = {0};
	auto_free struct candidate *found = NULL;

	x.gone = files_of(&m->gone, &x.gone_count);
	x.came = files_of(&m->came, &x.came_count);
	want(&m->gone, x.gone, &x.gone_count, &m->came, x.came, x.came_count);
	want(&m->came, x.came, &x.came_count, &m->gone, x.gone, x.gone_count);
	if (x.gone_count + x.came_count > MOVES_ALIKE_FILES) {
		m->limited = true;
	} else if (x.gone_count) {
		measure_all(w, &m->gone, false, x.gone, x.gone_count);
		measure_all(w, &m->came, true, x.came, x.came_count);
		found = mem_zalloc((x.came_count * BEST + 1) * sizeof(*found));
		compare_all(w, &x, found);
		pair_best(w, found, x.came_count * BEST);
	}
	matrix_free(&x);
}

void moves_alike(struct moves_work *w)
{
	by_place(w);
	by_only_name(w);
	by_text(w);
}
