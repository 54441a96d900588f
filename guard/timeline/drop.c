#include "guard/timeline/drop.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/sorted.h"
#include "guard/timeline/contents_private.h"
#include "guard/timeline/record_list.h"

#define MINUTE 60

/* Whether the record says that a path has a content of some bytes. */
static bool has_content(const struct timeline_record *r)
{
	return r->kind == TIMELINE_ENTRY && S_ISREG(r->mode) && r->size;
}

/* The index of the content's own record; the count, if there is none. */
static size_t content_index(const struct timeline *t,
			    const struct timeline_record *of)
{
	const struct timeline_record *r = sorted_find_number(
		of->content, t->items, t->count, sizeof(*t->items));

	return r ? (size_t)(r - t->items) : t->count;
}

/* --- thinning --- */

struct use {
	uint64_t last; /* record that has the content; 0: none */
	bool kept;
};

struct thinning {
	const struct timeline *timeline;
	struct record_list records;
	struct use *uses; /* of the content of each record */
};

static struct use *find_use(const struct thinning *t,
			    const struct timeline_record *r)
{
	return &t->uses[content_index(t->timeline, r)];
}

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
	return find_use(t, r)->last == r->number &&
	       (!has_content(next) ||
		is_parent_lost(&t->records, r, next->number));
}

/* The records of one path, in the order of their numbers. */
static void thin_path(const struct thinning *t,
		      const struct timeline_record **items, size_t count)
{
	int64_t minute = INT64_MIN, longest = 0;
	struct use *best = NULL; /* the minute's longest */
	size_t i = 0;

	while (i < count) {
		const struct timeline_record *first = items[i], *r;
		struct use *use;
		int64_t ns;

		do
			r = items[i++];
		while (i < count && has_content(items[i]) &&
		       items[i]->content == first->content);
		if (!has_content(first))
			continue;
		use = find_use(t, first);
		/* The one at the end takes no other's place. */
		use->kept |= i == count || is_lost_by(t, r, items[i]);
		if (i == count)
			break;
		/* Less than none: the machine was started in between. */
		ns = items[i]->boot_ns - first->boot_ns;
		if (best && first->time.sec / MINUTE == minute && ns < longest)
			continue;
		if (best && first->time.sec / MINUTE != minute)
			best->kept = true;
		best = use;
		minute = first->time.sec / MINUTE;
		longest = ns;
	}
	if (best)
		best->kept = true;
}

bool *drop_thin(const struct timeline *timeline)
{
	bool *gone = mem_zalloc(timeline->count + 1);
	struct thinning t = {
		.timeline = timeline,
		.records = record_list_make(timeline),
		.uses = mem_zalloc((timeline->count + 1) * sizeof(*t.uses)),
	};
	size_t i, next;

	for (i = 0; i < timeline->count; i++)
		if (has_content(&timeline->items[i]))
			find_use(&t, &timeline->items[i])->last =
				timeline->items[i].number;
	for (i = 0; i < t.records.count; i = next) {
		next = record_list_next(&t.records, i);
		thin_path(&t, t.records.items + i, next - i);
	}
	for (i = 0; i < timeline->count; i++)
		gone[i] = t.uses[i].last && !t.uses[i].kept;
	record_list_free(&t.records);
	free(t.uses);
	return gone;
}

/* --- purging --- */

void drop_path(const struct timeline *t, size_t root, const char *path,
	       bool *gone)
{
	AUTO(record_list) struct record_list b = record_list_make(t);
	size_t i, k, next;
	bool again;

	/* A content at two paths was renamed: until no path is added. */
	do {
		again = false;
		for (i = 0; i < b.count; i = next) {
			bool named = b.items[i]->root == root &&
				     path_below(b.items[i]->path, path);

			next = record_list_next(&b, i);
			for (k = i; k < next && !named; k++)
				named = has_content(b.items[k]) &&
					gone[content_index(t, b.items[k])];
			for (k = i; k < next && named; k++) {
				bool *of = &gone[content_index(t, b.items[k])];

				again |= has_content(b.items[k]) && !*of;
				*of |= has_content(b.items[k]);
			}
		}
	} while (again);
}

/* --- dropping --- */

/* In the run's directory too, if there is one. */
static int add_records(struct contents *c, const bool *gone, size_t count,
		       enum timeline_kind kind, const char *text,
		       struct err *err)
{
	struct timeline_writer w = {
		.fd = -1,
		.next = count ? c->timeline.items[count - 1].number + 1 : 1,
	};
	size_t i;
	int got = 0;

	if (c->session && timeline_open(&w, c->session->fd, err) < 0)
		return -err->num;
	for (i = 0; i < count; i++) {
		struct timeline_record r = c->timeline.items[i];

		if (!gone[i])
			continue;
		r = (struct timeline_record){
			.kind = kind,
			.text = text,
			.root = r.root,
			.path = r.path,
			.content = r.number,
		};
		(void)timeline_add(&w, &r);
		*VEC_ADD(&c->timeline) = r;
	}
	if (c->session)
		got = timeline_flush(&w, err);
	timeline_close(&w);
	return got;
}

static int drop_kept(struct contents *c, const bool *gone, size_t count,
		     enum timeline_kind kind, const char *text,
		     const char *message, struct err *err)
{
	char name[CONTENTS_NAME];
	size_t i;
	int got = add_records(c, gone, count, kind, text, err);

	if (got == 0 && c->stored.seq) {
		contents_edit(c);
		for (i = 0; i < count && got >= 0; i++)
			if (gone[i])
				got = contents_remove(
					c, c->timeline.items[i].number, err);
		if (got >= 0)
			got = contents_commit(c, true, message, err);
	}
	for (i = 0; i < count && got >= 0; i++)
		if (gone[i] &&
		    contents_spooled(c, c->timeline.items[i].number, name))
			(void)unlinkat(c->spool_fd, name, 0);
	return got;
}

int drop_contents(struct contents *c, bool *gone, enum timeline_kind kind,
		  const char *text, const char *message, bool dry,
		  struct err *err)
{
	auto_close int lock = -1;
	size_t i, count = c->timeline.count;
	int got = 0, dropped = 0;

	if (c->session && !dry) {
		lock = contents_lock(c->session->fd, true, err);
		got = lock < 0 ? lock : contents_refresh(c, err);
	}
	for (i = 0; i < count && got >= 0; i++) {
		AUTO(entry) struct entry e = {0};
		uint64_t number = c->timeline.items[i].number;
		char name[CONTENTS_NAME];

		if (!gone[i])
			continue;
		got = contents_spooled(c, number, name)
			      ? 1
			      : contents_stored(c, number, &e, err);
		gone[i] = got > 0;
		dropped += gone[i];
	}
	if (got >= 0 && !dry && (dropped || *message))
		got = drop_kept(c, gone, count, kind, text, message, err);
	return got < 0 ? got : dropped;
}
