/* Similar texts: by their place in a moved directory, by a unique name, and,
 * for few files, each with each. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/path.h"
#include "restore/git/libgit.h"
#include "restore/git/moves_private.h"

/* Fingerprint of a file by libgit2's measure, as in `git diff -M`: about 1 KB,
 * whatever its size. */
struct similar {
	const struct libgit *git;
	git_hashsig *sig;
};

/* 1 and *ret, to free; 0: the content is too short to be measured. */
static int similar_make(const void *data, size_t len, struct similar **ret,
			struct err *err)
{
	const struct libgit *git;
	git_hashsig *sig = NULL;
	int got;

	if (libgit_load(&git, err) < 0)
		return -err->num;
	got = git->hashsig_create(&sig, data, len,
				  GIT_HASHSIG_SMART_WHITESPACE);
	if (got == GIT_EBUFS)
		return 0;
	if (got < 0)
		return libgit_failed("measure a file", err);
	*ret = mem_alloc(sizeof(**ret));
	**ret = (struct similar){git, sig};
	return 1;
}

static void similar_free(struct similar **s)
{
	if (*s)
		(*s)->git->hashsig_free((*s)->sig);
	free(*s);
	*s = NULL;
}

/* Similarity in percent. */
static unsigned similar_percent(const struct similar *a,
				const struct similar *b)
{
	int got = a->git->hashsig_compare(a->sig, b->sig);

	return got < 0 ? 0 : (unsigned)got;
}

static bool is_open(const struct moves_file *f)
{
	return moves_is_free(f) && S_ISREG(f->mode) && f->size && !f->over &&
	       !f->plain && f->size <= MOVES_SIMILAR_MAX;
}

/* Whether the smaller file could be half of the larger one. */
static bool may_be_similar(const struct moves_file *a,
			   const struct moves_file *b)
{
	return a->size <= 2 * b->size && b->size <= 2 * a->size;
}

static struct similar *measure_file(struct moves_work *w,
				    const struct moves_file *f, bool added)
{
	AUTO(buf) struct buf bytes = {0};
	struct similar *ret = NULL;
	struct err ignored;

	if (w->similar_bytes + f->size > MOVES_SIMILAR_BYTES) {
		w->m->limited = true;
		return NULL;
	}
	w->similar_bytes += f->size;
	if (w->source->bytes(w->source->arg, f, added, &bytes, &ignored) < 0 ||
	    similar_make(bytes.data, bytes.len, &ret, &ignored) <= 0)
		return NULL;
	return ret;
}

/* 100 means the same bytes. */
static unsigned percent_of(const struct similar *a, const struct similar *b)
{
	unsigned percent = a && b ? similar_percent(a, b) : 0;

	return percent > 99 ? 99 : percent;
}

static void try_pair(struct moves_work *w, uint32_t deleted, uint32_t added)
{
	const struct moves_file *f = &w->m->deleted.items[deleted];
	const struct moves_file *g = &w->m->added.items[added];
	AUTO(similar) struct similar *a = NULL;
	AUTO(similar) struct similar *b = NULL;
	unsigned percent;

	if (!is_open(f) || !is_open(g) || !may_be_similar(f, g))
		return;
	a = measure_file(w, f, false);
	b = a ? measure_file(w, g, true) : NULL;
	percent = percent_of(a, b);
	if (percent >= MOVES_SIMILAR)
		moves_pair(w->m, deleted, added, percent);
}

static void pair_expected_places(struct moves_work *w)
{
	uint32_t i;

	for (i = 0; i < w->m->deleted.count; i++) {
		uint32_t to;

		if (!is_open(&w->m->deleted.items[i]))
			continue;
		to = moves_expected(w, i);
		if (to != MOVES_NONE)
			try_pair(w, i, to);
	}
}

/* --- unique names --- */

struct named {
	const char *name;
	uint32_t at;
	bool added;
};

static int compare_named_files(const void *a, const void *b)
{
	return strcmp(((const struct named *)a)->name,
		      ((const struct named *)b)->name);
}

static size_t list_open(const struct moves_side *side, bool added,
			struct named *to)
{
	size_t n = 0;
	uint32_t i;

	for (i = 0; i < side->count; i++)
		if (is_open(&side->items[i]))
			to[n++] = (struct named){path_name(side->items[i].path),
						 i, added};
	return n;
}

static void pair_only_names(struct moves_work *w)
{
	const struct moves *m = w->m;
	auto_free struct named *list =
		mem_alloc((m->deleted.count + m->added.count) * sizeof(*list));
	size_t count = list_open(&m->deleted, false, list), from, end;

	if (!count)
		return;
	count += list_open(&m->added, true, list + count);
	qsort(list, count, sizeof(*list), compare_named_files);
	for (from = 0; from < count; from = end) {
		for (end = from;
		     end < count &&
		     compare_named_files(&list[from], &list[end]) == 0;
		     end++)
			continue;
		if (end - from == 2 && list[from].added != list[from + 1].added)
			try_pair(w, list[from + list[from].added].at,
				 list[from + !list[from].added].at);
	}
}

/* --- each with each --- */

struct open_file {
	uint32_t at;
	struct similar *measured;
};

struct candidate {
	uint32_t deleted, added;
	unsigned percent;
	bool name; /* the same name */
};

/* Number of candidates that are kept for each added file. */
#define BEST 4

/* The best first. */
static int compare_candidates(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->percent != y->percent)
		return x->percent > y->percent ? -1 : 1;
	if (x->name != y->name)
		return x->name ? -1 : 1;
	if (x->added != y->added)
		return x->added < y->added ? -1 : 1;
	return (x->deleted > y->deleted) - (x->deleted < y->deleted);
}

static void keep_best(struct candidate *best, const struct candidate *one)
{
	size_t at = BEST;

	while (at && compare_candidates(one, &best[at - 1]) < 0)
		at--;
	if (at == BEST)
		return;
	memmove(best + at + 1, best + at, (BEST - 1 - at) * sizeof(*best));
	best[at] = *one;
}

struct matrix {
	struct open_file *deleted, *added;
	size_t deleted_count, added_count;
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

static int compare_sizes(const void *a, const void *b)
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
	qsort(sizes, other_count, sizeof(*sizes), compare_sizes);
	for (i = 0; i < *count; i++) {
		uint64_t size = side->items[list[i].at].size;
		size_t low = 0, high = other_count;

		/* The smallest size of which it could be half, or that is its
		 * half. */
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
			bool added, struct open_file *list, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		list[i].measured =
			measure_file(w, &side->items[list[i].at], added);
}

static void compare_all(struct moves_work *w, const struct matrix *x,
			struct candidate *found)
{
	size_t i, k;

	for (i = 0; i < x->added_count; i++)
		for (k = 0; k < x->deleted_count; k++) {
			const struct moves_file *c =
				&w->m->added.items[x->added[i].at];
			const struct moves_file *g =
				&w->m->deleted.items[x->deleted[k].at];
			struct candidate one = {x->deleted[k].at,
						x->added[i].at, 0, false};

			if (!may_be_similar(c, g))
				continue;
			one.percent = percent_of(x->deleted[k].measured,
						 x->added[i].measured);
			if (one.percent < MOVES_SIMILAR)
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
		qsort(found, count, sizeof(*found), compare_candidates);
	for (i = 0; i < count && found[i].percent; i++)
		if (moves_is_free(&w->m->deleted.items[found[i].deleted]) &&
		    moves_is_free(&w->m->added.items[found[i].added]))
			moves_pair(w->m, found[i].deleted, found[i].added,
				   found[i].percent);
}

static void matrix_free(struct matrix *x)
{
	size_t i;

	for (i = 0; i < x->deleted_count; i++)
		similar_free(&x->deleted[i].measured);
	for (i = 0; i < x->added_count; i++)
		similar_free(&x->added[i].measured);
	free(x->deleted);
	free(x->added);
}

static void pair_similar_texts(struct moves_work *w)
{
	struct moves *m = w->m;
	struct matrix x = {0};
	auto_free struct candidate *found = NULL;

	x.deleted = files_of(&m->deleted, &x.deleted_count);
	x.added = files_of(&m->added, &x.added_count);
	want(&m->deleted, x.deleted, &x.deleted_count, &m->added, x.added,
	     x.added_count);
	want(&m->added, x.added, &x.added_count, &m->deleted, x.deleted,
	     x.deleted_count);
	if (x.deleted_count + x.added_count > MOVES_SIMILAR_FILES) {
		m->limited = true;
	} else if (x.deleted_count) {
		measure_all(w, &m->deleted, false, x.deleted, x.deleted_count);
		measure_all(w, &m->added, true, x.added, x.added_count);
		found = mem_zalloc((x.added_count * BEST + 1) * sizeof(*found));
		compare_all(w, &x, found);
		pair_best(w, found, x.added_count * BEST);
	}
	matrix_free(&x);
}

void moves_similar(struct moves_work *w)
{
	pair_expected_places(w);
	pair_only_names(w);
	pair_similar_texts(w);
}
