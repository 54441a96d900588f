#include "guard/timeline/drop.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/sorted.h"
#include "guard/timeline/contents_private.h"

#define MINUTE 60

void drop_list_free(struct drop_list *list)
{
	VEC_FREE(list);
}

static bool has_number(const struct drop_list *list, uint64_t number)
{
	return sorted_find_number(number, list->items, list->count,
				  sizeof(*list->items)) != NULL;
}

static void sort_once(struct drop_list *list)
{
	size_t i, count = 0;

	VEC_SORT(list, sorted_compare_numbers);
	for (i = 0; i < list->count; i++)
		if (!count || list->items[count - 1] != list->items[i])
			list->items[count++] = list->items[i];
	list->count = count;
}

/* Whether the record says that a path has a content of some bytes. */
static bool has_content(const struct timeline_record *r)
{
	return r->kind == TIMELINE_ENTRY && S_ISREG(r->mode) && r->size;
}

/* --- the records of each path --- */

/* Sorted by root, path and number. */
struct by_path {
	const struct timeline_record **items;
	size_t count, capacity;
};

static void by_path_free(struct by_path *b)
{
	VEC_FREE(b);
}

static int compare_places(const struct timeline_record *r, size_t root,
			  const char *path)
{
	int order = (r->root > root) - (r->root < root);

	return order ? order : strcmp(r->path, path);
}

static int compare_records(const void *pa, const void *pb)
{
	const struct timeline_record *a =
		*(const struct timeline_record *const *)pa;
	const struct timeline_record *b =
		*(const struct timeline_record *const *)pb;
	int order = compare_places(a, b->root, b->path);

	return order ? order
		     : (a->number > b->number) - (a->number < b->number);
}

static struct by_path sort_by_path(const struct timeline *t)
{
	struct by_path b = {0};
	size_t i;

	for (i = 0; i < t->count; i++)
		if (t->items[i].kind >= TIMELINE_ENTRY &&
		    t->items[i].kind <= TIMELINE_NONE)
			*VEC_ADD(&b) = &t->items[i];
	VEC_SORT(&b, compare_records);
	return b;
}

/* The index of the path's first record; of the first one behind, if it has
 * none. */
static size_t find_place(const struct by_path *b, size_t root, const char *path)
{
	size_t low = 0, high = b->count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (compare_places(b->items[mid], root, path) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Whether a directory above the record's path ceased to be one after it, and
 * before the number. */
static bool is_parent_lost(const struct by_path *b,
			   const struct timeline_record *r, uint64_t before)
{
	auto_free char *dir = mem_strdup(r->path);
	char *slash;

	while ((slash = strrchr(dir, '/'))) {
		size_t i;

		*slash = '\0';
		i = find_place(b, r->root, dir);

		for (; i < b->count &&
		       compare_places(b->items[i], r->root, dir) == 0;
		     i++)
			if (b->items[i]->number > r->number &&
			    b->items[i]->number < before &&
			    !S_ISDIR(b->items[i]->mode))
				return true;
	}
	return false;
}

/* --- thinning --- */

/* Ascending by content; of each the highest number of a record that has it. */
struct last_use {
	uint64_t content, number;
};

struct thinning {
	struct by_path records;
	struct drop_list all, keep;
	VEC(struct last_use) uses;
};

static int64_t standing_ns(const struct timeline_record *from,
			   const struct timeline_record *until)
{
	int64_t ns = until->boot_ns - from->boot_ns;

	/* A start of the machine lies between. */
	return ns >= 0 ? ns : (until->time.sec - from->time.sec) * 1000000000;
}

/* Whether the content ended with this record of its path, by an emptying or a
 * deletion, and not by a move. next: the next record of the path, or NULL. */
static bool is_lost_by(const struct thinning *t,
		       const struct timeline_record *r,
		       const struct timeline_record *next)
{
	const struct last_use *use = sorted_find_number(
		r->content, t->uses.items, t->uses.count, sizeof(*use));

	return use->number == r->number &&
	       (!next || !has_content(next) ||
		is_parent_lost(&t->records, r, next->number));
}

/* The records of one path, in the order of their numbers. */
static void thin_path(struct thinning *t, const struct timeline_record **items,
		      size_t count)
{
	int64_t minute = INT64_MIN, longest = -1;
	uint64_t best = 0;
	size_t i = 0;

	while (i < count) {
		const struct timeline_record *first = items[i], *r, *next;
		int64_t ns;

		do
			r = items[i++];
		while (i < count && has_content(first) &&
		       has_content(items[i]) &&
		       items[i]->content == first->content);
		next = i < count ? items[i] : NULL;
		if (!has_content(first))
			continue;
		/* The one at the end takes no other's place. */
		if (!next || is_lost_by(t, r, next))
			*VEC_ADD(&t->keep) = first->content;
		if (!next)
			continue;
		ns = standing_ns(first, next);
		if (first->time.sec / MINUTE != minute) {
			if (best)
				*VEC_ADD(&t->keep) = best;
			minute = first->time.sec / MINUTE;
			longest = -1;
		}
		if (ns >= longest) {
			longest = ns;
			best = first->content;
		}
	}
	if (best)
		*VEC_ADD(&t->keep) = best;
}

static void find_last_uses(struct thinning *t, const struct timeline *timeline)
{
	size_t i, count = 0;

	for (i = 0; i < timeline->count; i++)
		if (has_content(&timeline->items[i])) {
			*VEC_ADD(&t->all) = timeline->items[i].content;
			*VEC_ADD(&t->uses) =
				(struct last_use){timeline->items[i].content,
						  timeline->items[i].number};
		}
	VEC_SORT(&t->uses, sorted_compare_numbers);
	for (i = 0; i < t->uses.count; i++) {
		struct last_use use = t->uses.items[i];

		if (!count || t->uses.items[count - 1].content != use.content)
			t->uses.items[count++] = use;
		else if (use.number > t->uses.items[count - 1].number)
			t->uses.items[count - 1] = use;
	}
	t->uses.count = count;
}

void drop_list_thin(const struct timeline *timeline, struct drop_list *ret)
{
	struct thinning t = {.records = sort_by_path(timeline)};
	const struct by_path *b = &t.records;
	size_t i, next;

	find_last_uses(&t, timeline);
	for (i = 0; i < b->count; i = next) {
		for (next = i + 1;
		     next < b->count &&
		     compare_places(b->items[next], b->items[i]->root,
				    b->items[i]->path) == 0;
		     next++)
			;
		thin_path(&t, b->items + i, next - i);
	}
	sort_once(&t.all);
	sort_once(&t.keep);
	for (i = 0; i < t.all.count; i++)
		if (!has_number(&t.keep, t.all.items[i]))
			*VEC_ADD(ret) = t.all.items[i];
	by_path_free(&t.records);
	drop_list_free(&t.all);
	drop_list_free(&t.keep);
	VEC_FREE(&t.uses);
}

/* --- purging --- */

void drop_list_path(const struct timeline *t, size_t root, const char *path,
		    struct drop_list *ret)
{
	AUTO(by_path) struct by_path b = sort_by_path(t);
	auto_free bool *named = mem_zalloc(b.count + 1);
	size_t i, before;

	for (i = 0; i < b.count; i++)
		named[i] = b.items[i]->root == root &&
			   path_below(b.items[i]->path, path);
	/* A content at two paths was renamed: until no path is added. */
	do {
		bool any = false;
		size_t first = 0;

		before = ret->count;
		for (i = 0; i < b.count; i++)
			if (named[i] && has_content(b.items[i]))
				*VEC_ADD(ret) = b.items[i]->content;
		sort_once(ret);
		for (i = 0; i <= b.count; i++) {
			if (i == b.count ||
			    compare_places(b.items[i], b.items[first]->root,
					   b.items[first]->path) != 0) {
				for (; any && first < i; first++)
					named[first] = true;
				first = i;
				any = false;
			}
			any |= i < b.count && has_content(b.items[i]) &&
			       has_number(ret, b.items[i]->content);
		}
	} while (ret->count != before);
}

/* --- dropping --- */

static int is_kept(struct contents *c, uint64_t number, struct err *err)
{
	AUTO(entry) struct entry e = {0};
	char name[24];

	(void)snprintf(name, sizeof(name), "%" PRIu64, number);
	return c->spool_fd >= 0 && fd_exists(c->spool_fd, name)
		       ? 1
		       : contents_stored(c, number, &e, err);
}

/* Contents with a record that says that they are not kept. */
static struct drop_list list_recorded(const struct timeline *t)
{
	struct drop_list list = {0};
	size_t i;

	for (i = 0; i < t->count; i++)
		if (t->items[i].kind == TIMELINE_GAP ||
		    t->items[i].kind == TIMELINE_THINNED)
			*VEC_ADD(&list) = t->items[i].content;
	sort_once(&list);
	return list;
}

/* In the run's directory too, if there is one. */
static int add_records(struct contents *c, const struct drop_list *gone,
		       enum timeline_kind kind, const char *text,
		       struct err *err)
{
	AUTO(drop_list) struct drop_list recorded = list_recorded(&c->timeline);
	struct timeline_writer w = {.fd = -1};
	size_t i;
	int got = 0;

	if (c->session && timeline_open(&w, c->session->fd, err) < 0)
		return -err->num;
	if (!c->session && c->timeline.count)
		w.next = c->timeline.items[c->timeline.count - 1].number + 1;
	for (i = 0; i < gone->count; i++) {
		const struct timeline_record *of =
			contents_record(c, gone->items[i]);
		struct timeline_record r = {.kind = kind, .text = text};

		if (!of || has_number(&recorded, gone->items[i]))
			continue;
		r.root = of->root;
		r.path = of->path;
		r.content = gone->items[i];
		(void)timeline_add(&w, &r);
		*VEC_ADD(&c->timeline) = r;
	}
	if (c->session)
		got = timeline_flush(&w, err);
	timeline_close(&w);
	return got;
}

static int drop_kept(struct contents *c, const struct drop_list *gone,
		     enum timeline_kind kind, const char *text,
		     const char *message, struct err *err)
{
	bool records = false;
	char name[24];
	size_t i;
	int got = add_records(c, gone, kind, text, err);

	if (got == 0 && c->stored.seq) {
		AUTO(entry) struct entry e = {0};

		got = tree_lookup(c->store, &c->stored.root, CONTENTS_RECORDS,
				  &e, err);
		records = got > 0;
		contents_edit(c);
		for (i = 0; i < gone->count && got >= 0; i++)
			got = contents_remove(c, gone->items[i], err);
		if (got >= 0)
			got = contents_commit(c, records, message, err);
	}
	for (i = 0; i < gone->count && got >= 0 && c->spool_fd >= 0; i++) {
		(void)snprintf(name, sizeof(name), "%" PRIu64, gone->items[i]);
		(void)unlinkat(c->spool_fd, name, 0);
	}
	return got < 0 ? got : 0;
}

int drop_contents(struct contents *c, const struct drop_list *list,
		  enum timeline_kind kind, const char *text,
		  const char *message, bool dry, struct err *err)
{
	AUTO(drop_list) struct drop_list gone = {0};
	auto_close int lock = -1;
	size_t i;
	int got = 0;

	if (c->session && !dry) {
		lock = contents_lock(c->session->fd, true, err);
		if (lock < 0)
			return lock;
	}
	for (i = 0; i < list->count && got >= 0; i++) {
		got = is_kept(c, list->items[i], err);
		if (got > 0)
			*VEC_ADD(&gone) = list->items[i];
	}
	if (got >= 0 && !dry && (gone.count || *message))
		got = drop_kept(c, &gone, kind, text, message, err);
	if (got < 0)
		return got;
	return gone.count > INT_MAX ? INT_MAX : (int)gone.count;
}
