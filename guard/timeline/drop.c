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
#include "guard/timeline/record_list.h"

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

/* --- thinning --- */

/* The last record that has a content; ascending by content. */
struct last_use {
	uint64_t content, number;
};

struct thinning {
	struct record_list records;
	struct drop_list keep;
	VEC(struct last_use) uses;
};

/* Whether a directory above the record's path ceased to be one after it, and
 * before the number. */
static bool is_parent_lost(const struct record_list *b,
			   const struct timeline_record *r, uint64_t before)
{
	struct timeline_record above = {.root = r->root};
	const struct timeline_record *key = &above;
	auto_free char *dir = mem_strdup(r->path);
	char *slash;

	above.path = dir;
	while ((slash = strrchr(dir, '/'))) {
		size_t i;

		*slash = '\0';
		above.number = r->number;
		i = record_list_index(b, key);
		for (; i < b->count && record_list_is_path(b->items[i], key) &&
		       b->items[i]->number < before;
		     i++)
			if (!S_ISDIR(b->items[i]->mode))
				return true;
	}
	return false;
}

/* Whether the content ended with this record of its path, by an emptying or a
 * deletion, and not by a move. next: the next record of the path. */
static bool is_lost_by(const struct thinning *t,
		       const struct timeline_record *r,
		       const struct timeline_record *next)
{
	const struct last_use *use = sorted_find_number(
		r->content, t->uses.items, t->uses.count, sizeof(*use));

	return use->number == r->number &&
	       (!has_content(next) ||
		is_parent_lost(&t->records, r, next->number));
}

/* The records of one path, in the order of their numbers. */
static void thin_path(struct thinning *t, const struct timeline_record **items,
		      size_t count)
{
	int64_t minute = INT64_MIN, longest = -1;
	size_t i = 0, best = 0; /* the minute's longest in t->keep */

	while (i < count) {
		const struct timeline_record *first = items[i], *r;
		int64_t ns;

		do
			r = items[i++];
		while (i < count && has_content(items[i]) &&
		       items[i]->content == first->content);
		if (!has_content(first))
			continue;
		/* The one at the end takes no other's place. */
		if (i == count || is_lost_by(t, r, items[i]))
			*VEC_ADD(&t->keep) = first->content;
		if (i == count)
			break;
		/* Less than none: the machine was started in between. */
		ns = items[i]->boot_ns - first->boot_ns;
		if (first->time.sec / MINUTE != minute) {
			best = t->keep.count;
			*VEC_ADD(&t->keep) = first->content;
		} else if (ns >= longest) {
			t->keep.items[best] = first->content;
		} else {
			continue;
		}
		minute = first->time.sec / MINUTE;
		longest = ns;
	}
}

static void find_last_uses(struct thinning *t, const struct timeline *timeline)
{
	size_t i, count = 0;

	for (i = 0; i < timeline->count; i++)
		if (has_content(&timeline->items[i]))
			*VEC_ADD(&t->uses) =
				(struct last_use){timeline->items[i].content,
						  timeline->items[i].number};
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
	struct thinning t = {.records = record_list_make(timeline)};
	size_t i, next;

	find_last_uses(&t, timeline);
	for (i = 0; i < t.records.count; i = next) {
		next = record_list_next(&t.records, i);
		thin_path(&t, t.records.items + i, next - i);
	}
	sort_once(&t.keep);
	for (i = 0; i < t.uses.count; i++)
		if (!has_number(&t.keep, t.uses.items[i].content))
			*VEC_ADD(ret) = t.uses.items[i].content;
	record_list_free(&t.records);
	drop_list_free(&t.keep);
	VEC_FREE(&t.uses);
}

/* --- purging --- */

void drop_list_path(const struct timeline *t, size_t root, const char *path,
		    struct drop_list *ret)
{
	AUTO(record_list) struct record_list b = record_list_make(t);
	size_t i, k, next, before;

	/* A content at two paths was renamed: until no path is added. */
	do {
		before = ret->count;
		for (i = 0; i < b.count; i = next) {
			bool named = b.items[i]->root == root &&
				     path_below(b.items[i]->path, path);

			next = record_list_next(&b, i);
			for (k = i; k < next && !named; k++)
				named = has_content(b.items[k]) &&
					has_number(ret, b.items[k]->content);
			for (k = i; k < next && named; k++)
				if (has_content(b.items[k]))
					*VEC_ADD(ret) = b.items[k]->content;
			sort_once(ret);
		}
	} while (ret->count != before);
}

/* --- dropping --- */

static int is_kept(struct contents *c, uint64_t number, struct err *err)
{
	AUTO(entry) struct entry e = {0};
	char name[CONTENTS_NAME];

	return contents_spooled(c, number, name)
		       ? 1
		       : contents_stored(c, number, &e, err);
}

/* In the run's directory too, if there is one. */
static int add_records(struct contents *c, const struct drop_list *gone,
		       enum timeline_kind kind, const char *text,
		       struct err *err)
{
	size_t i, count = c->timeline.count;
	struct timeline_writer w = {
		.fd = -1,
		.next = count ? c->timeline.items[count - 1].number + 1 : 1,
	};
	int got = 0;

	if (c->session && timeline_open(&w, c->session->fd, err) < 0)
		return -err->num;
	for (i = 0; i < gone->count; i++) {
		const struct timeline_record *of =
			contents_record(c, gone->items[i]);
		struct timeline_record r = {.kind = kind, .text = text};

		if (!of)
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
	AUTO(entry) struct entry e = {0};
	char name[CONTENTS_NAME];
	size_t i;
	int got = add_records(c, gone, kind, text, err), records = 0;

	if (got == 0 && c->stored.seq) {
		got = records = tree_lookup(c->store, &c->stored.root,
					    CONTENTS_RECORDS, &e, err);
		contents_edit(c);
		for (i = 0; i < gone->count && got >= 0; i++)
			got = contents_remove(c, gone->items[i], err);
		if (got >= 0)
			got = contents_commit(c, records, message, err);
	}
	for (i = 0; i < gone->count && got >= 0; i++)
		if (contents_spooled(c, gone->items[i], name))
			(void)unlinkat(c->spool_fd, name, 0);
	return got;
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
		got = lock < 0 ? lock : contents_refresh(c, err);
	}
	for (i = 0; i < list->count && got >= 0; i++) {
		got = is_kept(c, list->items[i], err);
		if (got > 0)
			*VEC_ADD(&gone) = list->items[i];
	}
	if (got >= 0 && !dry && (gone.count || *message))
		got = drop_kept(c, &gone, kind, text, message, err);
	return got < 0 ? got : (int)(gone.count & INT_MAX);
}
