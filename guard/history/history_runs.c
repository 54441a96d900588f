#include "guard/history/history.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/vec.h"
#include "guard/history/run_timeline.h"
#include "guard/state/report.h"
#include "overlay/session_list.h"
#include "snapshot/tree/catalog.h"

/* The versions of one path in one run. */
struct run_rows {
	struct history *h;
	const struct run_timeline *run;
	size_t root;
	const char *root_path, *path; /* absolute; in it */
	struct entry base; /* of the path before the run; mode 0: none */
	/* The state of the path after the last record. */
	uint32_t mode;
	uint64_t size, content;
	char *kept; /* the moment of the last content that can be restored */
};

static struct history_row *add_run_row(struct run_rows *r,
				       const struct timeline_record *at,
				       enum history_change change)
{
	struct history *h = r->h;
	struct history_row *row;

	GROW(h->rows, h->count, h->capacity);
	row = &h->rows[h->count++];
	*row = (struct history_row){
		.change = change,
		.of_run = true,
		.moment = run_timeline_moment(r->run, at->time),
	};
	row->snapshot.time = at->time;
	row->snapshot.uid = geteuid();
	row->snapshot.reason = mem_strdup("during-run");
	row->snapshot.run_id = mem_strdup(r->run->id);
	row->snapshot.command = mem_strdup("");
	row->snapshot.message = mem_strdup("");
	row->snapshot.root_path = mem_strdup(r->root_path);
	return row;
}

/* The path is gone, or empty: the version before it can be restored. */
static void add_end(struct run_rows *r, const struct timeline_record *at,
		    enum history_change change)
{
	struct history_row *row = add_run_row(r, at, change);

	row->before = TAKE(r->kept);
}

/* chmod(2) and its like leave the mtime: such a copy of the file before the run
 * has its content. */
static bool is_meta_only(const struct run_rows *r,
			 const struct timeline_record *at)
{
	return r->content ? at->content == r->content
			  : at->size == r->base.size &&
				    timestamp_compare(at->mtime,
						      r->base.mtime) == 0;
}

static void add_file(struct run_rows *r, const struct timeline_record *at)
{
	bool is_content = S_ISREG(at->mode);
	struct history_row *row;
	struct err ignored;

	/* A state between two writes is no version. */
	if (is_content &&
	    contents_entry(r->run->contents, at->content, NULL, &ignored) <= 0)
		return;
	if (is_content && !at->size && r->size)
		add_end(r, at, HISTORY_EMPTIED);
	else
		(void)add_run_row(r, at,
				  is_content && is_meta_only(r, at)
					  ? HISTORY_META
				  : (at->mode ^ r->mode) & S_IFMT && r->mode
					  ? HISTORY_TYPE
					  : HISTORY_WRITTEN);
	row = &r->h->rows[r->h->count - 1];
	row->entry.mode = at->mode;
	row->entry.size = at->size;
	row->entry.mtime = at->mtime;
	r->mode = at->mode;
	r->size = at->size;
	r->content = at->content;
	free(r->kept);
	r->kept = mem_strdup(row->moment);
}

static void add_record(struct run_rows *r, const struct timeline_record *at)
{
	bool is_path = strcmp(at->path, r->path) == 0;

	if (timeline_is_lost(at)) {
		if (is_path || !at->content)
			add_run_row(r, at, HISTORY_GAP)->note =
				mem_strdup(at->text);
	} else if (is_path && at->kind == TIMELINE_NONE && r->base.mode) {
		if (r->mode != r->base.mode || r->content)
			(void)add_run_row(r, at, HISTORY_BASE);
		r->mode = r->base.mode;
		r->size = r->base.size;
		r->content = 0;
	} else if (is_path && at->kind == TIMELINE_ENTRY) {
		add_file(r, at);
	} else if (r->mode &&
		   (at->kind == TIMELINE_GONE || at->kind == TIMELINE_OPAQUE ||
		    (is_path && at->kind == TIMELINE_NONE) ||
		    (at->kind == TIMELINE_ENTRY && !S_ISDIR(at->mode)))) {
		add_end(r, at, HISTORY_DELETED);
		r->mode = 0;
		r->size = 0;
	}
}

/* Whether the file is empty only until the first write after O_TRUNC. */
static bool is_truncation(const struct timeline *t,
			  const struct timeline_record *r)
{
	const struct timeline_record *next = r + 1;

	for (; !r->size && next < t->items + t->count &&
	       next->boot_ns - r->boot_ns < TIMELINE_TRUNC_NS;
	     next++)
		if (next->size && next->root == r->root &&
		    strcmp(next->path, r->path) == 0)
			return true;
	return false;
}

static void add_run(struct history *h, struct store *store,
		    const struct run_timeline *run)
{
	const struct timeline *t = contents_timeline(run->contents);
	AUTO(snapshot) struct snapshot base = {0};
	struct run_rows r = {.h = h, .run = run};
	const struct contents_root *roots;
	struct err ignored;
	size_t count, i;
	int root;

	root = run_timeline_root(run, h->path, &ignored);
	if (root < 0)
		return;
	roots = contents_roots(run->contents, &count);
	r.root_path = roots[root].path;
	if (!path_below(h->path, r.root_path))
		return;
	r.path = path_rest(h->path, r.root_path);
	if (catalog_load(store, roots[root].base, &base, &ignored) == 0)
		(void)tree_lookup(store, &base.root, r.path, &r.base, &ignored);
	r.mode = r.base.mode;
	r.size = r.base.size;
	for (i = 0; i < t->count; i++)
		if (t->items[i].root == (size_t)root &&
		    (timeline_is_state(&t->items[i]) ||
		     timeline_is_lost(&t->items[i])) &&
		    path_below(r.path, t->items[i].path) &&
		    !is_truncation(t, &t->items[i]))
			add_record(&r, &t->items[i]);
	free(r.kept);
	entry_free(&r.base);
}

static int compare_rows(const void *a, const void *b)
{
	const struct history_row *x = a, *y = b;
	int order = timestamp_compare(x->snapshot.time, y->snapshot.time);

	return order
		       ?: (x->snapshot.seq > y->snapshot.seq) -
				  (x->snapshot.seq < y->snapshot.seq);
}

/* The snapshot before a run is taken beside it, and may be a moment younger
 * than the first version. */
static void move_before_run(struct history *h, size_t at)
{
	const struct history_row row = h->rows[at];
	size_t to = at, i;

	if (strcmp(row.snapshot.reason, "pre-run") != 0)
		return;
	for (i = 0; i < at; i++)
		if (strcmp(h->rows[i].snapshot.run_id, row.snapshot.run_id) ==
		    0) {
			to = i;
			break;
		}
	memmove(&h->rows[to + 1], &h->rows[to], (at - to) * sizeof(row));
	h->rows[to] = row;
}

int history_runs_add(struct history *h, struct context *c, struct err *err)
{
	AUTO(session_list) struct session_list list = {0};
	size_t count = h->count, i;

	if (session_list(c->state.runs_fd, false, &list, err) < 0)
		return -err->num;
	for (i = 0; i < list.count; i++) {
		const struct session *s = &list.items[i];

		if (session_root_of(s, h->path) < s->root_count &&
		    fd_exists(s->fd, TIMELINE_DIR))
			mem_list_add_once(&h->timelines, s->id);
	}
	for (i = 0; h->timelines && h->timelines[i]; i++) {
		AUTO(run_timeline) struct run_timeline run = {0};
		struct err why;
		int got = run_timeline_open(c, h->timelines[i], &run, &why);

		if (got > 0)
			add_run(h, c->store, &run);
		else if (got < 0)
			report_warning("versions are missing below: %s",
				       why.text);
	}
	if (h->count == count)
		return 0;
	vec_sort(h->rows, h->count, sizeof(*h->rows), compare_rows);
	for (i = 0; i < h->count; i++)
		move_before_run(h, i);
	return 0;
}
