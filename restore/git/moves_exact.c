/* Files of the same bytes, each read once. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/path.h"
#include "restore/git/moves_work.h"

/* One of either side. */
struct thing {
	const struct moves_file *file;
	uint32_t at;
	bool came;
	unsigned char key[HASH_LEN];
};

struct things {
	struct thing *items;
	size_t count, room;
};

static void things_add(struct things *t, const struct moves_side *side,
		       uint32_t at, bool came)
{
	GROW(t->items, t->count, t->room);
	t->items[t->count++] = (struct thing){
		.file = &side->items[at],
		.at = at,
		.came = came,
	};
}

/* The targets of links are short: all are one size. */
static uint64_t size_of(const struct moves_file *f)
{
	return S_ISLNK(f->mode) ? 0 : f->size;
}

static int by_size(const void *a, const void *b)
{
	const struct moves_file *x = ((const struct thing *)a)->file;
	const struct moves_file *y = ((const struct thing *)b)->file;
	uint32_t p = x->mode & S_IFMT, q = y->mode & S_IFMT;

	if (size_of(x) != size_of(y))
		return size_of(x) < size_of(y) ? -1 : 1;
	return (p > q) - (p < q);
}

static int by_key(const void *a, const void *b)
{
	const struct thing *x = a, *y = b;
	int order = memcmp(x->key, y->key, sizeof(x->key));

	return order ? order : by_size(a, b);
}

static void collect(const struct moves_side *side, bool came, struct things *to)
{
	uint32_t i;

	for (i = 0; i < side->count; i++)
		if (S_ISREG(side->items[i].mode) ||
		    S_ISLNK(side->items[i].mode))
			things_add(to, side, i, came);
}

/* Takes out what has nothing of its size on the other side, and what cannot be
 * read. The small ones come first: they are many, and soon read. */
static void read_keys(struct moves_work *w, struct things *t)
{
	size_t kept = 0, from, end, i;
	struct err ignored;

	if (t->count)
		qsort(t->items, t->count, sizeof(*t->items), by_size);
	for (from = 0; from < t->count; from = end) {
		size_t gone = 0;

		for (end = from; end < t->count &&
				 by_size(&t->items[from], &t->items[end]) == 0;
		     end++)
			gone += !t->items[end].came;
		if (!gone || gone == end - from)
			continue;
		for (i = from; i < end; i++) {
			struct thing *x = &t->items[i];
			int got = w->source->key(w->source->arg, x->file,
						 x->came, x->key, &ignored);

			w->m->limited |= got == -EFBIG;
			if (got >= 0)
				t->items[kept++] = *x;
		}
	}
	t->count = kept;
}

static bool same_name(const struct moves_file *a, const struct moves_file *b)
{
	return strcmp(path_name(a->path), path_name(b->path)) == 0;
}

/* Any two empty files are the same: only one of its name was moved. */
static bool may_pair(const struct moves_file *a, const struct moves_file *b)
{
	return (S_ISREG(a->mode) && a->size) || same_name(a, b);
}

/* One group of the same bytes. */
static void pair_only(struct moves_work *w, const struct things *t, size_t from,
		      size_t end)
{
	const struct thing *gone = NULL, *came = NULL;
	size_t goners = 0, comers = 0, i;

	for (i = from; i < end; i++) {
		const struct thing *x = &t->items[i];

		if (!x->came)
			goners++;
		else if (!x->file->over)
			comers++;
		if (!x->came)
			gone = x;
		else if (!x->file->over)
			came = x;
	}
	if (goners == 1 && comers == 1 && may_pair(gone->file, came->file))
		moves_pair(w->m, gone->at, came->at, 100);
}

void moves_exact(struct moves_work *w)
{
	struct things t = {0};
	size_t from, end, i;
	uint32_t group = 0;

	collect(&w->m->gone, false, &t);
	collect(&w->m->came, true, &t);
	read_keys(w, &t);
	if (t.count)
		qsort(t.items, t.count, sizeof(*t.items), by_key);
	for (from = 0; from < t.count; from = end) {
		group++;
		for (end = from; end < t.count &&
				 by_key(&t.items[from], &t.items[end]) == 0;
		     end++)
			continue;
		for (i = from; i < end; i++)
			*(t.items[i].came ? &w->came_group[t.items[i].at]
					  : &w->gone_group[t.items[i].at]) =
				group;
		pair_only(w, &t, from, end);
	}
	free(t.items);
}

/* --- several that would do --- */

struct choice {
	const struct moves_file *file;
	uint32_t at, group;
	bool came;
};

static int by_name(const void *a, const void *b)
{
	const struct choice *x = a, *y = b;

	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	return strcmp(path_name(x->file->path), path_name(y->file->path));
}

static int by_group(const void *a, const void *b)
{
	const struct choice *x = a, *y = b;

	return (x->group > y->group) - (x->group < y->group);
}

/* Within one class: sides apart, each in the order of its paths. */
static int by_side(const void *a, const void *b)
{
	const struct choice *x = a, *y = b;

	if (x->came != y->came)
		return x->came ? 1 : -1;
	if (x->file->over != y->file->over)
		return x->file->over ? 1 : -1;
	return (x->at > y->at) - (x->at < y->at);
}

static struct choice *choices(const struct moves_work *w, size_t *ret)
{
	const struct moves *m = w->m;
	struct choice *list =
		mem_alloc((m->gone.count + m->came.count) * sizeof(*list));
	size_t n = 0;
	uint32_t i;

	for (i = 0; i < m->gone.count; i++)
		if (w->gone_group[i] && moves_is_free(&m->gone.items[i]))
			list[n++] = (struct choice){&m->gone.items[i], i,
						    w->gone_group[i], false};
	for (i = 0; i < m->came.count; i++)
		if (w->came_group[i] && moves_is_free(&m->came.items[i]))
			list[n++] = (struct choice){&m->came.items[i], i,
						    w->came_group[i], true};
	*ret = n;
	return list;
}

/* Pairs those of a class one by one. */
static void pair_class(struct moves_work *w, struct choice *list, size_t count)
{
	size_t came = 0, i;

	qsort(list, count, sizeof(*list), by_side);
	while (came < count && !list[came].came)
		came++;
	for (i = 0; came + i < count && !list[i].came; i++)
		if (may_pair(list[i].file, list[came + i].file))
			moves_pair(w->m, list[i].at, list[came + i].at, 100);
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

	for (i = 0; i < w->m->gone.count; i++) {
		uint32_t to;

		if (!w->gone_group[i] || !moves_is_free(&w->m->gone.items[i]))
			continue;
		to = moves_expected(w, i);
		if (to != MOVES_NONE && w->came_group[to] == w->gone_group[i] &&
		    moves_is_free(&w->m->came.items[to]))
			moves_pair(w->m, i, to, 100);
	}
	pair_classes(w, by_name);
	pair_classes(w, by_group);
}
