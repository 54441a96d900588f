#include "guard/history/versions.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/text.h"
#include "base/vec.h"
#include "guard/history/locate.h"
#include "guard/state/report.h"
#include "snapshot/tree/time_spec.h"

/* A chain: the snapshots of one root, in their order. */
struct chain {
	char *root_path;
	/* Excludes of the snapshots, and whether they are partial. Only
	 * snapshots with equal values are compared with each other. */
	char **excludes;
	bool partial;
	struct entry top; /* the searched entry of the newest snapshot */
	char *top_path; /* absolute */
	size_t length;
	uint64_t seq;
	struct timestamp time;
};

struct version_loader {
	struct versions *v;
	struct store *store;
	const char *path;
	struct chain *chains;
	size_t count, capacity;
	struct chain *chain; /* the chain of the current snapshot */
	uint64_t seq;
	struct timestamp time;
};

static void version_loader_free(struct version_loader *l)
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

/* --- versions by path --- */

static size_t *path_slot(struct versions *v, const char *path)
{
	return &v->slots[store_hash_text(path) & (v->slot_count - 1)];
}

/* NULL: no such version. */
static struct version *find_version(struct version_loader *l, const char *path,
				    const struct entry *e)
{
	struct versions *v = l->v;
	size_t chain = (size_t)(l->chain - l->chains), i;

	if (v->slot_count <= v->count) {
		v->slot_count = v->slot_count ? 4 * v->slot_count : 1024;
		free(v->slots);
		v->slots = mem_zalloc(v->slot_count * sizeof(*v->slots));
		for (i = 0; i < v->count; i++) {
			size_t *slot = path_slot(v, v->items[i].path);

			v->items[i].next = *slot;
			*slot = i + 1;
		}
	}
	for (i = *path_slot(v, path); i; i = v->items[i - 1].next) {
		struct version *item = &v->items[i - 1];

		if (item->chain == chain && strcmp(item->path, path) == 0 &&
		    entry_same_state(&item->entry, e))
			return item;
	}
	return NULL;
}

/* --- from one snapshot to the next --- */

/* The chain's next snapshot does not hold the version. */
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

static int record_version_change(void *arg, const char *path,
				 const struct entry *a, const struct entry *b,
				 struct err *err)
{
	struct version_loader *l = arg;
	struct versions *v = l->v;
	auto_free char *full_path = path_join(l->chain->top_path, path);
	struct version *item;
	size_t *slot;

	(void)err;
	if (a && b && entry_same_state(a, b))
		return 0;
	if (a && (!v->want || v->want(v->arg, full_path, a)))
		close_version(l->chain, find_version(l, full_path, a));
	if (!b || (v->want && !v->want(v->arg, full_path, b)))
		return 0;
	item = find_version(l, full_path, b);
	if (!item) {
		slot = path_slot(v, full_path);
		item = VEC_ADD(v);
		*item = (struct version){
			.path = TAKE(full_path),
			.chain = (size_t)(l->chain - l->chains),
			.first = l->seq,
			.first_time = l->time,
			.next = *slot,
		};
		entry_copy(&item->entry, b);
		*slot = v->count;
	}
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

static struct chain *find_chain(struct version_loader *l,
				const struct snapshot *s)
{
	bool above = path_below(l->path, s->root_path);
	bool partial = s->root.flags & ENTRY_INCOMPLETE && !s->excludes;
	size_t i;

	for (i = 0; i < l->count; i++)
		if (strcmp(l->chains[i].root_path, s->root_path) == 0 &&
		    l->chains[i].partial == partial &&
		    same_texts(l->chains[i].excludes, s->excludes))
			return &l->chains[i];
	GROW(l->chains, l->count, l->capacity);
	l->chains[l->count] = (struct chain){
		.root_path = mem_strdup(s->root_path),
		.excludes =
			snapshot_copy_texts((const char *const *)s->excludes),
		.partial = partial,
		.top_path = mem_strdup(above ? l->path : s->root_path),
	};
	return &l->chains[l->count++];
}

static int extend_chain(struct version_loader *l, const struct snapshot *s,
			struct err *err)
{
	AUTO(entry) struct entry top = {0};
	struct chain *c;
	int got;

	if (!path_below(l->path, s->root_path) &&
	    !path_below(s->root_path, l->path))
		return 0;
	/* The entry that the search covers: l->path, or the root below it. */
	if (s->root.mode && !path_below(l->path, s->root_path))
		entry_copy(&top, &s->root);
	else if (s->root.mode &&
		 tree_lookup(l->store, &s->root,
			     path_rest(l->path, s->root_path), &top, err) < 0)
		return -err->num;
	c = l->chain = find_chain(l, s);
	l->seq = s->seq;
	l->time = s->time;
	got = tree_diff(l->store, &c->top, &top, record_version_change, l, err);
	entry_free(&c->top);
	c->top = TAKE(top);
	c->length++;
	c->seq = s->seq;
	c->time = s->time;
	return got;
}

static int load_all_versions(struct version_loader *l, struct err *err)
{
	auto_free uint64_t *seqs = NULL;
	size_t count = 0, i;

	if (catalog_list(l->store, &seqs, &count, err) < 0)
		return -err->num;
	for (i = 0; i < count; i++) {
		AUTO(snapshot) struct snapshot s = {0};
		struct err damage;
		int got = catalog_load(l->store, seqs[i], &s, &damage);
		bool pruned = got == -ENOENT; /* during the loop */

		if (got == 0 && !snapshot_is_hidden(&s))
			got = extend_chain(l, &s, &damage);
		if (err_is_exhaustion(-got)) {
			*err = damage;
			return got;
		}
		if (got < 0 && !pruned) {
			l->v->damaged++;
			report_warning("snapshot %" PRIu64
				       " was not searched completely: %s",
				       seqs[i], damage.text);
		}
		if (l->v->progress)
			l->v->progress(l->v->arg, "snapshot", i + 1, count);
	}
	return 0;
}

/* A sequence number selects its snapshot, whatever the snapshot's root. */
static int load_versions_at(struct version_loader *l, struct context *c,
			    const char *at, struct err *err)
{
	AUTO(snapshot) struct snapshot s = {0};
	struct time_spec time_spec;
	struct err ignored;
	bool is_number = time_spec_parse(at, timestamp_now(), &time_spec,
					 &ignored) == 0 &&
			 time_spec.kind == TIME_SPEC_SEQ;
	int got = is_number ? catalog_load_version(l->store, time_spec.number,
						   &s, err)
			    : locate_find(c, at, l->path, false, &s, err);

	/* The lookup may have opened the store again. */
	l->store = c->store;
	if (got < 0)
		return got;
	if (is_number && !path_below(l->path, s.root_path) &&
	    !path_below(s.root_path, l->path))
		return fail(err, ENOENT,
			    "snapshot %" PRIu64
			    " is a snapshot of %s and does not cover %s",
			    s.seq, text_quote(s.root_path),
			    text_quote(l->path));
	return extend_chain(l, &s, err);
}

int versions_load(struct versions *v, struct context *c, const char *path,
		  const char *at, struct err *err)
{
	AUTO(version_loader)
	struct version_loader l = {.v = v, .store = c->store, .path = path};
	int got = at ? load_versions_at(&l, c, at, err)
		     : load_all_versions(&l, err);
	size_t i, k;

	/* Closes the versions that the newest snapshot of a chain holds. A
	 * newer complete snapshot of the same root may be in another chain. */
	for (i = 0; i < v->count; i++) {
		struct version *item = &v->items[i];
		const struct chain *chain = &l.chains[item->chain];

		if (!item->opened)
			continue;
		item->newest = true;
		for (k = 0; k < l.count && item->newest; k++)
			item->newest = l.chains[k].partial ||
				       l.chains[k].excludes ||
				       l.chains[k].seq <= chain->seq ||
				       strcmp(l.chains[k].root_path,
					      chain->root_path) != 0;
		close_version(chain, item);
	}
	return got;
}

static int compare_versions(const void *a, const void *b)
{
	const struct version *x = a, *y = b;
	int order = path_compare(x->path, y->path);

	if (order)
		return order;
	if (x->last != y->last)
		return x->last > y->last ? -1 : 1;
	return (x->first < y->first) - (x->first > y->first);
}

void versions_sort(struct versions *v)
{
	size_t kept = 0, start = 0, i, k;

	VEC_SORT(v, compare_versions);
	for (i = 0; i < v->count; i++) {
		struct version *item = &v->items[kept], *same;

		*item = v->items[i];
		if (strcmp(v->items[start].path, item->path) != 0)
			start = kept;
		for (k = start; k < kept; k++)
			if (v->items[k].chain != item->chain &&
			    entry_same_state(&v->items[k].entry, &item->entry))
				break;
		if (k == kept) {
			kept++;
			continue;
		}
		/* An earlier item of the path is the same version. */
		same = &v->items[k];
		same->snapshots += item->snapshots;
		same->newest |= item->newest;
		if (item->first < same->first) {
			same->first = item->first;
			same->first_time = item->first_time;
		}
		if (item->last > same->last) {
			same->last = item->last;
			same->last_time = item->last_time;
		}
		free(item->path);
		entry_free(&item->entry);
	}
	v->count = kept;
}
