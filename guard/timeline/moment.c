#include "guard/timeline/moment.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/boot.h"
#include "base/path.h"
#include "base/text.h"
#include "guard/timeline/contents.h"
#include "guard/timeline/record_list.h"
#include "restore/plan/lookup.h"
#include "snapshot/tree/catalog.h"
#include "snapshot/tree/time_spec.h"

/* Marks that a message lists. */
#define MARKS_SHOWN 8

void moment_free(struct moment *m)
{
	free(m->mark);
	*m = (struct moment){0};
}

void moment_losses_free(struct moment_losses *l)
{
	size_t i;

	for (i = 0; i < l->count; i++)
		free(l->items[i].path);
	VEC_FREE(l);
}

/* --- finding --- */

/* The range of a run's timeline, by both clocks. */
struct range {
	struct timestamp start, end;
	int64_t end_boot; /* ns */
	const char *boot; /* id of the boot of the end */
};

static struct range find_range(const struct timeline *t, bool live)
{
	const struct timeline_record *last = &t->items[t->count - 1];
	struct range r = {t->items[0].time, last->time, last->boot_ns, ""};
	size_t i;

	for (i = 0; i < t->count; i++)
		if (t->items[i].kind == TIMELINE_BEGIN)
			r.boot = t->items[i].text;
	if (live) {
		r.end = timestamp_now();
		r.end_boot = timestamp_boot_ns();
		r.boot = boot_id();
	}
	return r;
}

/* How a text names a time of the run. */
struct wanted {
	struct timestamp begin, end; /* of the unit that the text names */
	bool back; /* counted back: boot is the end, by the other clock */
	bool exact; /* with a fraction, as messages have it */
	int64_t boot;
};

/* "-5m" is counted by the clock that no user sets. A time of day is that of the
 * run's last day, or of the day before if it was then. */
static bool parse_wanted(const char *when, const struct range *range,
			 struct wanted *ret)
{
	struct timestamp from = range->end;
	bool back = *when == '-', clock = strcspn(when, ":") == 2;
	struct time_spec spec;
	struct err ignored;

	if (time_spec_parse(when + back, back || clock ? from : timestamp_now(),
			    &spec, &ignored) < 0 ||
	    spec.kind != TIME_SPEC_TIME)
		return false;
	if (clock && timestamp_compare(spec.begin, from) > 0) {
		from.sec -= 86400;
		(void)time_spec_parse(when, from, &spec, &ignored);
	}
	*ret = (struct wanted){
		.begin = spec.begin,
		.end = spec.time,
		.back = back,
		.exact = !back &&
			 spec.time.nsec - spec.begin.nsec < TIMESTAMP_NS - 1,
		.boot = range->end_boot -
			(range->end.sec - spec.time.sec) * TIMESTAMP_NS -
			range->end.nsec + spec.time.nsec,
	};
	return !back || timestamp_compare(spec.begin, spec.time) == 0;
}

/* The number of records up to a time. Where the clock was set back, it may have
 * been that time more than once: the last one counts. */
static size_t count_records(const struct timeline *t, const struct range *range,
			    const struct wanted *w)
{
	bool by_boot = false;
	size_t count = 0, i;

	for (i = 0; i < t->count; i++) {
		const struct timeline_record *r = &t->items[i];

		if (r->kind == TIMELINE_BEGIN)
			by_boot = w->back && strcmp(r->text, range->boot) == 0;
		if (by_boot ? r->boot_ns <= w->boot
			    : timestamp_compare(r->time, w->end) <= 0)
			count = i + 1;
	}
	return count;
}

static int find_time(const struct timeline *t, const char *label,
		     const struct range *range, const struct wanted *w,
		     const char *when, struct moment *ret, struct err *err)
{
	size_t count = count_records(t, range, w);

	if ((!count && timestamp_compare(w->end, range->start) < 0) ||
	    (count == t->count && timestamp_compare(w->begin, range->end) > 0))
		return fail(err, ERANGE,
			    "%s is not in the time of run %s, from %s to %s",
			    text_quote(when), label, text_moment(range->start),
			    text_moment(range->end));
	*ret = (struct moment){
		.record = count ? t->items[count - 1].number : 0,
		.time = w->end,
	};
	if (timestamp_compare(ret->time, range->end) > 0)
		ret->time = range->end;
	return 0;
}

/* The marks that a text names: those of this text, else those that begin with
 * it. */
struct match {
	const struct timeline_record *last;
	size_t count;
	bool whole; /* the text of the mark */
	struct buf list; /* a line for each of the last ones, newest first */
};

/* All marks, without those that rewinds have set, begin with "". */
static struct match match_marks(const struct timeline *t, const char *text)
{
	struct match m = {0};
	size_t i;

	for (i = t->count; i-- > 0;) {
		const struct timeline_record *r = &t->items[i];
		bool whole = strcmp(r->text, text) == 0;

		if (!timeline_is_heading(r) || whole < m.whole ||
		    strncmp(r->text, text, strlen(text)) != 0 ||
		    (!*text && strcmp(r->text, MOMENT_BEFORE_REWIND) == 0))
			continue;
		if (whole > m.whole) {
			buf_free(&m.list);
			m = (struct match){.whole = true};
		}
		m.last = m.last ?: r;
		if (m.count++ < MARKS_SHOWN)
			buf_printf(&m.list, "\n  %s  %s", text_moment(r->time),
				   text_quote(r->text));
	}
	if (m.count > MARKS_SHOWN)
		buf_printf(&m.list, "\n  and %zu more", m.count - MARKS_SHOWN);
	return m;
}

static int find_mark(const struct timeline *t, const char *label,
		     const char *when, struct match *m, struct moment *ret,
		     struct err *err)
{
	AUTO(buf) struct buf all = {0};

	if (!*when || !m->count) {
		all = match_marks(t, "").list;
		return fail(err, EDOM,
			    "run %s has no mark %s, and it is no time such as "
			    "14:03, 14:03:12.4 or -5m%s%s",
			    label, text_quote(when),
			    all.len ? "; its marks are:" : "", buf_text(&all));
	}
	if (m->count > 1 && strcmp(when, MOMENT_BEFORE_REWIND) != 0)
		return fail(err, EEXIST,
			    "%s of run %s is several marks; name one by its "
			    "time, or by more of its text:%s",
			    text_quote(when), label, buf_text(&m->list));
	*ret = (struct moment){m->last->number, m->last->time,
			       mem_strdup(m->last->text)};
	return 0;
}

int moment_find(const struct timeline *t, const char *label, bool live,
		const char *when, struct moment *ret, struct err *err)
{
	AUTO(buf) struct buf text = {0};
	struct range range;
	struct wanted wanted = {0};
	struct match marks;
	bool is_time;
	int got = 0;

	if (!t->count)
		return fail(err, ENODATA,
			    "run %s has no timeline: it was started with "
			    "--versions 0, or by an older guard",
			    label);
	/* As marks are recorded. */
	text_escape_name(&text, when);
	marks = match_marks(t, buf_text(&text));
	range = find_range(t, live);
	is_time = parse_wanted(when, &range, &wanted);
	if (strcmp(when, "start") == 0)
		*ret = (struct moment){.time = range.start};
	else if (strcmp(when, "end") == 0 || strcmp(when, "now") == 0)
		*ret = (struct moment){t->items[t->count - 1].number, range.end,
				       NULL};
	else if (is_time && (wanted.exact || !marks.whole))
		got = find_time(t, label, &range, &wanted, when, ret, err);
	else
		got = find_mark(t, label, buf_text(&text), &marks, ret, err);
	buf_free(&marks.list);
	return got;
}

size_t moment_len(const struct timeline *t, bool live, const char *text)
{
	auto_free char *when = mem_strdup(text);
	char *end = when + strlen(when);
	size_t len = 0;

	for (; end; end = strrchr(when, ':')) {
		AUTO(moment) struct moment m = {0};
		struct time_spec is_time;
		struct err ignored;
		int got;

		*end = '\0';
		got = moment_find(t, "", live, when, &m, &ignored);
		/* A run sets marks: none hides a time and a path. */
		if ((got == 0 &&
		     (!m.mark || time_spec_parse(when, m.time, &is_time,
						 &ignored) == 0)) ||
		    got == -ERANGE)
			return strlen(when);
		if (got != -EDOM && !len)
			len = strlen(when);
	}
	return len ?: strcspn(text, ":");
}

/* --- states --- */

struct state_maker {
	struct contents *contents;
	struct tree_editor *editor;
	struct snapshot base; /* root.mode 0: none */
	struct lookup in_base;
	struct moment_losses *lost;
};

static void state_maker_free(struct state_maker *m)
{
	tree_editor_free(&m->editor);
	lookup_free(&m->in_base);
	snapshot_free(&m->base);
}

static void add_loss(struct state_maker *m, const char *path, uint64_t content)
{
	*VEC_ADD(m->lost) = (struct moment_loss){mem_strdup(path), content};
}

/* *ret: the entry of the record; its content is stored. */
static int make_entry(struct state_maker *m, const struct timeline_record *r,
		      struct entry *ret, struct err *err)
{
	AUTO(entry) struct entry base = {0};
	int got = 1;

	m->lost->files += S_ISREG(r->mode);
	if (S_ISREG(r->mode))
		got = contents_entry(m->contents, r->content, ret, err);
	if (S_ISREG(r->mode) && got == 0)
		got = contents_from_states(m->contents, r, 0, ret, err);
	else if (!S_ISREG(r->mode) &&
		 lookup_find(&m->in_base, r->path, &base, err) < 0)
		got = -err->num;
	if (got < 0)
		return got;
	if (!got) {
		add_loss(m, r->path, r->content);
		ret->flags = ENTRY_INCOMPLETE;
	}
	if (S_ISDIR(r->mode) && S_ISDIR(base.mode)) {
		ret->attrs = base.attrs;
		ret->chattr = base.chattr;
	}
	if (S_ISLNK(r->mode))
		ret->link = mem_strdup(r->text);
	ret->mode = r->mode;
	ret->uid = r->uid;
	ret->gid = r->gid;
	ret->mtime = r->mtime;
	return 0;
}

static int apply_record(struct state_maker *m, const struct timeline_record *r,
			struct err *err)
{
	AUTO(entry) struct entry e = {0};
	int got;

	if (r->kind == TIMELINE_NONE || !path_ok(r->path))
		return 0;
	if (tree_editor_move_to(m->editor, r->path, err) < 0)
		return -err->num;
	if (r->kind != TIMELINE_ENTRY &&
	    tree_editor_remove(m->editor, r->path, err) < 0)
		return -err->num;
	if (r->kind == TIMELINE_GONE)
		return 0;
	if (make_entry(m, r, &e, err) < 0)
		return -err->num;
	got = S_ISDIR(e.mode) ? tree_editor_put_dir(m->editor, r->path, &e, err)
			      : tree_editor_put(m->editor, r->path, &e, err);
	/* The directory of the path went away in the same moment. */
	return got == -ENOTDIR ? 0 : got;
}

/* Applies the last record of each path, a directory before its entries. */
static int apply_records(struct state_maker *m, const struct timeline *t,
			 size_t root, uint64_t record, struct err *err)
{
	AUTO(record_list) struct record_list l = record_list_make(t);
	size_t i, last, next;
	int got = 0;

	for (i = 0; i < l.count && got == 0; i = next) {
		next = last = record_list_next(&l, i);
		while (last > i && l.items[last - 1]->number > record)
			last--;
		if (last > i && l.items[i]->root == root)
			got = apply_record(m, l.items[last - 1], err);
	}
	return got;
}

/* A gap stays one whatever comes later: the missed changes stay unknown. */
static void add_gaps(struct state_maker *m, const struct timeline *t,
		     size_t root, uint64_t record)
{
	size_t i;

	for (i = 0; i < t->count && t->items[i].number <= record; i++) {
		const struct timeline_record *r = &t->items[i];

		if (r->kind == TIMELINE_GAP && !r->content && r->root == root)
			add_loss(m, r->path, 0);
	}
}

static int compare_losses(const void *a, const void *b)
{
	const struct moment_loss *x = a, *y = b;

	return path_compare(x->path, y->path);
}

int moment_state(struct store *store, struct contents *contents, size_t root,
		 uint64_t record, struct entry *ret, struct moment_losses *lost,
		 struct err *err)
{
	const struct timeline *t = contents_timeline(contents);
	AUTO(state_maker)
	struct state_maker m = {
		.contents = contents,
		.lost = lost,
	};
	AUTO(snapshot) struct snapshot result = {0};
	AUTO(entry) struct entry tree = {0};
	const struct contents_root *roots;
	size_t count;
	int got;

	roots = contents_roots(contents, &count);
	if (root >= count)
		return fail(err, EINVAL, "the run has no directory %zu", root);
	got = catalog_load(store, roots[root].base, &m.base, err);
	if (got < 0 && got != -ENOENT)
		return got;
	/* The result has more than a timeline without an end. */
	if (t->count && record == t->items[t->count - 1].number &&
	    !timeline_has_end(t) &&
	    catalog_load(store, roots[root].result, &result, err) == 0) {
		entry_copy(ret, &result.root);
		return 0;
	}
	m.in_base = (struct lookup){.store = store, .root = &m.base.root};
	if (m.base.root.mode)
		entry_copy(&tree, &m.base.root);
	else
		tree = (struct entry){
			.name = mem_strdup(""),
			.mode = S_IFDIR | 0755,
			.uid = geteuid(),
			.gid = getegid(),
			.flags = ENTRY_INCOMPLETE,
		};
	m.editor = tree_editor_new(store, &tree);
	add_gaps(&m, t, root, record);
	got = apply_records(&m, t, root, record, err);
	VEC_SORT(lost, compare_losses);
	if (tree_editor_end(&m.editor, got, &tree, err) < 0)
		return -err->num;
	*ret = TAKE(tree);
	return 0;
}

const char *moment_loss_reason(const struct timeline *t, size_t root,
			       const struct moment_loss *l)
{
	size_t i;

	for (i = 0; i < t->count; i++) {
		const struct timeline_record *r = &t->items[i];

		if (timeline_is_lost(r) && r->content == l->content &&
		    (l->content ||
		     (r->root == root && strcmp(r->path, l->path) == 0)))
			return r->text;
	}
	return "it was being written";
}
