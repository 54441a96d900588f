/* Files with the same bytes, each read once. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/vec.h"
#include "restore/git/moves_private.h"

/* A file of either side. */
struct keyed_file {
	const struct moves_file *file;
	uint32_t at;
	bool added;
	unsigned char key[HASH_LEN];
};

struct keyed_files {
	struct keyed_file *items;
	size_t count, capacity;
};

static void keyed_files_add(struct keyed_files *t,
			    const struct moves_side *side, uint32_t at,
			    bool added)
{
	*VEC_ADD(t) = (struct keyed_file){
		.file = &side->items[at],
		.at = at,
		.added = added,
	};
}

/* Targets of symbolic links are short: all count as one size. */
static uint64_t size_of(const struct moves_file *f)
{
	return S_ISLNK(f->mode) ? 0 : f->size;
}

static int compare_keyed_sizes(const void *a, const void *b)
{
	const struct moves_file *x = ((const struct keyed_file *)a)->file;
	const struct moves_file *y = ((const struct keyed_file *)b)->file;
	uint32_t p = x->mode & S_IFMT, q = y->mode & S_IFMT;

	if (size_of(x) != size_of(y))
		return size_of(x) < size_of(y) ? -1 : 1;
	return (p > q) - (p < q);
}

static int compare_keys(const void *a, const void *b)
{
	const struct keyed_file *x = a, *y = b;
	int order = memcmp(x->key, y->key, sizeof(x->key));

	return order ? order : compare_keyed_sizes(a, b);
}

static void collect_keyed_files(const struct moves_side *side, bool added,
				struct keyed_files *to)
{
	uint32_t i;

	for (i = 0; i < side->count; i++)
		if (S_ISREG(side->items[i].mode) ||
		    S_ISLNK(side->items[i].mode))
			keyed_files_add(to, side, i, added);
}

/* Removes files without a file of their size on the other side, and unreadable
 * files. Small files come first: there are many, and they are read fast. */
static void read_keys(struct moves_work *w, struct keyed_files *t)
{
	size_t kept = 0, from, end, i;
	struct err ignored;

	if (t->count)
		qsort(t->items, t->count, sizeof(*t->items),
		      compare_keyed_sizes);
	for (from = 0; from < t->count; from = end) {
		size_t deleted = 0;

		for (end = from;
		     end < t->count &&
		     compare_keyed_sizes(&t->items[from], &t->items[end]) == 0;
		     end++)
			deleted += !t->items[end].added;
		if (!deleted || deleted == end - from)
			continue;
		for (i = from; i < end; i++) {
			struct keyed_file *x = &t->items[i];
			int got = w->source->key(w->source->arg, x->file,
						 x->added, x->key, &ignored);

			w->m->limited |= got == -EFBIG;
			if (got >= 0)
				t->items[kept++] = *x;
		}
	}
	t->count = kept;
}

static bool same_file_name(const struct moves_file *a,
			   const struct moves_file *b)
{
	return strcmp(path_name(a->path), path_name(b->path)) == 0;
}

/* All empty files are equal: only one with the same name was moved. */
static bool may_pair(const struct moves_file *a, const struct moves_file *b)
{
	return (S_ISREG(a->mode) && a->size) || same_file_name(a, b);
}

/* Pairs a group with the same bytes when the pair is unique. */
static void pair_only(struct moves_work *w, const struct keyed_files *t,
		      size_t from, size_t end)
{
	const struct keyed_file *deleted = NULL, *added = NULL;
	size_t goners = 0, comers = 0, i;

	for (i = from; i < end; i++) {
		const struct keyed_file *x = &t->items[i];

		if (!x->added)
			goners++;
		else if (!x->file->over)
			comers++;
		if (!x->added)
			deleted = x;
		else if (!x->file->over)
			added = x;
	}
	if (goners == 1 && comers == 1 && may_pair(deleted->file, added->file))
		moves_pair(w->m, deleted->at, added->at, 100);
}

void moves_exact(struct moves_work *w)
{
	struct keyed_files t = {0};
	size_t from, end, i;
	uint32_t group = 0;

	collect_keyed_files(&w->m->deleted, false, &t);
	collect_keyed_files(&w->m->added, true, &t);
	read_keys(w, &t);
	if (t.count)
		qsort(t.items, t.count, sizeof(*t.items), compare_keys);
	for (from = 0; from < t.count; from = end) {
		group++;
		for (end = from;
		     end < t.count &&
		     compare_keys(&t.items[from], &t.items[end]) == 0;
		     end++)
			continue;
		for (i = from; i < end; i++)
			*(t.items[i].added ? &w->added_group[t.items[i].at]
					   : &w->deleted_group[t.items[i].at]) =
				group;
		pair_only(w, &t, from, end);
	}
	free(t.items);
}

/* --- several candidates --- */

struct choice {
	const struct moves_file *file;
	uint32_t at, group;
	bool added;
};

static int compare_choice_names(const void *a, const void *b)
{
	const struct choice *x = a, *y = b;

	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	return strcmp(path_name(x->file->path), path_name(y->file->path));
}

static int compare_choice_groups(const void *a, const void *b)
{
	const struct choice *x = a, *y = b;

	return (x->group > y->group) - (x->group < y->group);
}

/* Within a class: by side, then in path order. */
static int compare_choice_sides(const void *a, const void *b)
{
	const struct choice *x = a, *y = b;

	if (x->added != y->added)
		return x->added ? 1 : -1;
	if (x->file->over != y->file->over)
		return x->file->over ? 1 : -1;
	return (x->at > y->at) - (x->at < y->at);
}

static struct choice *choices(const struct moves_work *w, size_t *ret)
{
	const struct moves *m = w->m;
	struct choice *list =
		mem_alloc((m->deleted.count + m->added.count) * sizeof(*list));
	size_t n = 0;
	uint32_t i;

	for (i = 0; i < m->deleted.count; i++)
		if (w->deleted_group[i] && moves_is_free(&m->deleted.items[i]))
			list[n++] = (struct choice){&m->deleted.items[i], i,
						    w->deleted_group[i], false};
	for (i = 0; i < m->added.count; i++)
		if (w->added_group[i] && moves_is_free(&m->added.items[i]))
			list[n++] = (struct choice){&m->added.items[i], i,
						    w->added_group[i], true};
	*ret = n;
	return list;
}

/* Pairs the files of a class in order. */
static void pair_class(struct moves_work *w, struct choice *list, size_t count)
{
	size_t added = 0, i;

	qsort(list, count, sizeof(*list), compare_choice_sides);
	while (added < count && !list[added].added)
		added++;
	for (i = 0; added + i < count && !list[i].added; i++)
		if (may_pair(list[i].file, list[added + i].file))
			moves_pair(w->m, list[i].at, list[added + i].at, 100);
}

static void pair_classes(struct moves_work *w,
			 int (*order)(const void *a, const void *b))
{
	size_t count, from, end;
	auto_free struct choice *list = choices(w, &count);

	if (count)
		qsort(list, count, sizeof(*list), order);
	for (from = 0; from < count; from = end) {
		for (end = from;
		     end < count && order(&list[from], &list[end]) == 0; end++)
			continue;
		pair_class(w, list + from, end - from);
	}
}

void moves_exact_rest(struct moves_work *w)
{
	uint32_t i;

	for (i = 0; i < w->m->deleted.count; i++) {
		uint32_t to;

		if (!w->deleted_group[i] ||
		    !moves_is_free(&w->m->deleted.items[i]))
			continue;
		to = moves_expected(w, i);
		if (to != MOVES_NONE &&
		    w->added_group[to] == w->deleted_group[i] &&
		    moves_is_free(&w->m->added.items[to]))
			moves_pair(w->m, i, to, 100);
	}
	pair_classes(w, compare_choice_names);
	pair_classes(w, compare_choice_groups);
}
