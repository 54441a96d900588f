#include "guard/history/versions.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/text.h"
#include "guard/output.h"
#include "snapshot/tree/time_spec.h"

/* The snapshots of one root, in their order. */
struct chain {
	char *root_path;
	/* What they leave out, or that they hold some paths only: to be
	 * compared with others like it. */
	char **excludes;
	bool partial;
	struct entry top; /* of the newest: what is searched of it */
	char *top_path; /* absolute */
	size_t length;
	uint64_t seq;
	struct timestamp time;
};

struct loading {
	struct versions *v;
	struct store *store;
	const char *path;
	struct chain *chains;
	size_t count, room;
	struct chain *chain; /* the one that goes on */
	uint64_t seq;
	struct timestamp time;
};

static void loading_free(struct loading *l)
{
	size_t i;

	for (i = 0; i < l->count; i++) {
		mem_list_free(&l->chains[i].excludes);
		free(l->chains[i].root_path);
		free(l->chains[i].top_path);
		entry_free(&l->chains[i].top);
	}
	free(l->chains);
}

void versions_free(struct versions *v)
{
	size_t i;

	for (i = 0; i < v->count; i++) {
		free(v->items[i].path);
		entry_free(&v->items[i].entry);
	}
	free(v->items);
	free(v->slots);
	*v = (struct versions){0};
}

/* --- by path --- */

static size_t *slot_of(struct versions *v, const char *path)
{
	return &v->slots[store_hash_text(path) & (v->slot_count - 1)];
}

static void make_room(struct versions *v)
{
	size_t i;

	if (v->slot_count > v->count)
		return;
	v->slot_count = v->slot_count ? 4 * v->slot_count : 1024;
	free(v->slots);
	v->slots = mem_zalloc(v->slot_count * sizeof(*v->slots));
	for (i = 0; i < v->count; i++) {
		size_t *slot = slot_of(v, v->items[i].path);

		v->items[i].next = *slot;
		*slot = i + 1;
	}
}

static bool same_version(const struct entry *a, const struct entry *b)
{
	return entry_same_content(a, b) && entry_same_meta(a, b);
}

/* NULL when there is none. */
static struct version *find(struct loading *l, const char *path,
			    const struct entry *e)
{
	struct versions *v = l->v;
	size_t chain = (size_t)(l->chain - l->chains), i;

	make_room(v);
	for (i = *slot_of(v, path); i; i = v->items[i - 1].next) {
		struct version *item = &v->items[i - 1];

		if (item->chain == chain && strcmp(item->path, path) == 0 &&
		    same_version(&item->entry, e))
			return item;
	}
	return NULL;
}

static struct version *add(struct loading *l, const char *path,
			   const struct entry *e)
{
	struct versions *v = l->v;
	struct version *item;
	size_t *slot;

	GROW(v->items, v->count, v->room);
	item = &v->items[v->count++];
	*item = (struct version){
		.path = mem_strdup(path),
		.chain = (size_t)(l->chain - l->chains),
		.first = l->seq,
		.first_time = l->time,
	};
	entry_copy(&item->entry, e);
	slot = slot_of(v, path);
	item->next = *slot;
	*slot = v->count;
	return item;
}

/* --- going from one snapshot to the next --- */

/* The chain goes on without it. */
static void close_version(const struct chain *c, struct version *item)
{
	if (!item || !item->opened)
		return;
	item->snapshots += c->length - item->opened + 1;
	item->opened = 0;
	if (c->seq >= item->last) {
		item->last = c->seq;
		item->last_time = c->time;
	}
}

static int note_change(void *arg, const char *path, const struct entry *a,
		       const struct entry *b, struct err *err)
{
	struct loading *l = arg;
	struct versions *v = l->v;
	auto_free char *full_path = path_join(l->chain->top_path, path);
	struct version *item;

	(void)err;
	if (a && b && same_version(a, b))
		return 0;
	if (a && (!v->want || v->want(v->arg, full_path, a)))
		close_version(l->chain, find(l, full_path, a));
	if (!b || (v->want && !v->want(v->arg, full_path, b)))
		return 0;
	item = find(l, full_path, b);
	if (!item)
		item = add(l, full_path, b);
	item->opened = l->chain->length + 1;
	return 0;
}

static bool same_texts(char *const *a, char *const *b)
{
	while (a && b && *a && *b && strcmp(*a, *b) == 0) {
		a++;
		b++;
	}
	return (!a || !*a) && (!b || !*b);
}

static struct chain *chain_of(struct loading *l, const struct snapshot *s)
{
	bool above = path_below(l->path, s->root_path);
	bool partial = s->root.flags & ENTRY_INCOMPLETE && !s->excludes;
	size_t i;

	for (i = 0; i < l->count; i++)
		if (strcmp(l->chains[i].root_path, s->root_path) == 0 &&
		    l->chains[i].partial == partial &&
		    same_texts(l->chains[i].excludes, s->excludes))
			return &l->chains[i];
	GROW(l->chains, l->count, l->room);
	l->chains[l->count] = (struct chain){
		.root_path = mem_strdup(s->root_path),
		.excludes =
			snapshot_copy_texts((const char *const *)s->excludes),
		.partial = partial,
		.top_path = mem_strdup(above ? l->path : s->root_path),
	};
	return &l->chains[l->count++];
}

/* What is searched of the snapshot. */
static int top_of(struct loading *l, const struct snapshot *s,
		  struct entry *ret, struct err *err)
{
	if (!s->root.mode)
		return 0;
	if (path_below(l->path, s->root_path))
		return tree_lookup(l->store, &s->root,
				   path_rest(l->path, s->root_path), ret, err);
	entry_copy(ret, &s->root);
	return 1;
}

static int go_on(struct loading *l, const struct snapshot *s, struct err *err)
{
	AUTO(entry) struct entry top = {0};
	struct chain *c;
	int got;

	if (!path_below(l->path, s->root_path) &&
	    !path_below(s->root_path, l->path))
		return 0;
	got = top_of(l, s, &top, err);
	if (got < 0)
		return got;
	c = l->chain = chain_of(l, s);
	l->seq = s->seq;
	l->time = s->time;
	got = tree_diff(l->store, &c->top, &top, note_change, l, err);
	entry_free(&c->top);
	c->top = top;
	top = (struct entry){0};
	c->length++;
	c->seq = s->seq;
	c->time = s->time;
	return got;
}

static void load_one(struct loading *l, uint64_t seq)
{
	AUTO(snapshot) struct snapshot s = {0};
	struct err err;
	int got = catalog_load(l->store, seq, &s, &err);

	if (got == -ENOENT) /* pruned meanwhile */
		return;
	if (got == 0)
		got = go_on(l, &s, &err);
	if (got == 0)
		return;
	l->v->damaged++;
	output_warn("snapshot %" PRIu64 " is not searched whole: %s", seq,
		    err.text);
}

static int load_all(struct loading *l, struct err *err)
{
	auto_free uint64_t *seqs = NULL;
	size_t count = 0, i;

	if (catalog_list(l->store, &seqs, &count, err) < 0)
		return -err->num;
	for (i = 0; i < count; i++) {
		load_one(l, seqs[i]);
		if (l->v->progress)
			l->v->progress(l->v->arg, i + 1, count);
	}
	return 0;
}

/* A number is taken as it is, whatever its root. */
static int load_at(struct loading *l, const char *at, struct err *err)
{
	AUTO(snapshot) struct snapshot s = {0};
	struct time_spec time_spec;
	int got;

	if (time_spec_parse(at, timestamp_now(), &time_spec, err) < 0)
		return -err->num;
	got = time_spec.kind == TIME_SPEC_SEQ
		      ? catalog_load(l->store, time_spec.number, &s, err)
		      : catalog_find(l->store, at, l->path, false, &s, err);
	if (got < 0)
		return got;
	if (time_spec.kind == TIME_SPEC_SEQ &&
	    !path_below(l->path, s.root_path) &&
	    !path_below(s.root_path, l->path))
		return fail(err, ENOENT,
			    "snapshot %" PRIu64 " is one of %s, nothing of %s "
			    "is in it",
			    s.seq, text_quote(s.root_path),
			    text_quote(l->path));
	return go_on(l, &s, err);
}

/* Whether what the newest of the chain holds is in the newest of all: the
 * newest whole snapshot of that root may be newer. */
static bool is_newest(const struct loading *l, const struct chain *c)
{
	size_t i;

	for (i = 0; i < l->count; i++)
		if (!l->chains[i].partial && !l->chains[i].excludes &&
		    l->chains[i].seq > c->seq &&
		    strcmp(l->chains[i].root_path, c->root_path) == 0)
			return false;
	return true;
}

/* What the newest of a chain holds is closed with it. */
static void close_all(struct loading *l)
{
	struct versions *v = l->v;
	size_t i;

	for (i = 0; i < v->count; i++) {
		struct version *item = &v->items[i];
		const struct chain *c = &l->chains[item->chain];

		if (!item->opened)
			continue;
		item->newest = is_newest(l, c);
		close_version(c, item);
	}
}

int versions_load(struct versions *v, struct store *store, const char *path,
		  const char *at, struct err *err)
{
	AUTO(loading)
	struct loading l = {.v = v, .store = store, .path = path};
	int got = at ? load_at(&l, at, err) : load_all(&l, err);

	close_all(&l);
	return got;
}

static int by_path(const void *a, const void *b)
{
	const struct version *x = a, *y = b;
	int order = path_compare(x->path, y->path);

	if (order)
		return order;
	if (x->last != y->last)
		return x->last > y->last ? -1 : 1;
	return (x->first < y->first) - (x->first > y->first);
}

static void merge(struct version *to, const struct version *from)
{
	to->snapshots += from->snapshots;
	to->newest = to->newest || from->newest;
	if (from->first < to->first) {
		to->first = from->first;
		to->first_time = from->first_time;
	}
	if (from->last > to->last) {
		to->last = from->last;
		to->last_time = from->last_time;
	}
}

/* The one before i, of the same path, that is the same version; or i. */
static size_t twin_of(const struct versions *v, size_t i, size_t start)
{
	size_t k;

	for (k = start; k < i; k++)
		if (v->items[k].chain != v->items[i].chain &&
		    same_version(&v->items[k].entry, &v->items[i].entry))
			return k;
	return i;
}

void versions_sort(struct versions *v)
{
	size_t kept = 0, start = 0, i;

	if (v->count)
		qsort(v->items, v->count, sizeof(*v->items), by_path);
	for (i = 0; i < v->count; i++) {
		size_t twin;

		v->items[kept] = v->items[i];
		if (strcmp(v->items[start].path, v->items[kept].path) != 0)
			start = kept;
		twin = twin_of(v, kept, start);
		if (twin == kept) {
			kept++;
			continue;
		}
		merge(&v->items[twin], &v->items[kept]);
		free(v->items[kept].path);
		entry_free(&v->items[kept].entry);
	}
	v->count = kept;
}
