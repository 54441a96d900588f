#include "guard/timeline/moment.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/boot.h"
#include "base/path.h"
#include "base/text.h"
#include "guard/timeline/contents.h"
#include "restore/plan/lookup.h"
#include "snapshot/tree/catalog.h"
#include "snapshot/tree/time_spec.h"

/* Marks that a message lists. */
#define MARKS_SHOWN 8
#define NS INT64_C(1000000000)

void moment_free(struct moment *m)
{
	free(m->mark);
	*m = (struct moment){0};
}

void moment_losses_free(struct moment_losses *l)
{
	size_t i;

	for (i = 0; i < l->count; i++) {
		free(l->items[i].path);
		free(l->items[i].why);
	}
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
	struct timespec boot;
	size_t i;

	for (i = 0; i < t->count; i++)
		if (t->items[i].kind == TIMELINE_BEGIN)
			r.boot = t->items[i].text;
	if (live) {
		(void)clock_gettime(CLOCK_BOOTTIME, &boot);
		r.end = timestamp_now();
		r.end_boot = (int64_t)boot.tv_sec * NS + boot.tv_nsec;
		r.boot = boot_id();
	}
	return r;
}

/* How a text names a time of the run. */
struct wanted {
	struct timestamp begin, end; /* of the unit that the text names */
	int64_t boot; /* the end, by the other clock; -1: not known */
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
	*ret = (struct wanted){spec.begin, spec.time, -1};
	if (back)
		ret->boot =
			range->end_boot - (range->end.sec - spec.time.sec) * NS;
	return !back || timestamp_compare(spec.begin, spec.time) == 0;
}

/* The number of records up to a time by the clock of the boot. */
static size_t count_by_boot(const struct timeline *t, const struct range *range,
			    const struct wanted *w)
{
	bool same_boot = false;
	size_t count = 0, i;

	for (i = 0; i < t->count; i++) {
		const struct timeline_record *r = &t->items[i];

		if (r->kind == TIMELINE_BEGIN)
			same_boot = strcmp(r->text, range->boot) == 0;
		if (same_boot ? r->boot_ns <= w->boot
			      : timestamp_compare(r->time, w->end) <= 0)
			count = i + 1;
	}
	return count;
}

/* The number of records up to a time. Where the clock was set back, it may have
 * been that time more than once: the last one counts. */
static size_t count_by_time(const struct timeline *t, const struct wanted *w)
{
	size_t i;

	for (i = t->count; i-- > 1;)
		if (timestamp_compare(t->items[i].time, w->end) > 0 &&
		    timestamp_compare(t->items[i - 1].time, w->end) <= 0)
			return i;
	return timestamp_compare(t->items[t->count - 1].time, w->end) <= 0
		       ? t->count
		       : 0;
}

static int find_time(const struct timeline *t, const char *label,
		     const struct range *range, const struct wanted *w,
		     const char *when, struct moment *ret, struct err *err)
{
	size_t count =
		w->boot < 0 ? count_by_time(t, w) : count_by_boot(t, range, w);

	if ((!count && timestamp_compare(w->end, range->start) < 0) ||
	    (count == t->count && timestamp_compare(w->begin, range->end) > 0))
		return fail(err, EDOM,
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

static bool is_mark(const struct timeline_record *r)
{
	return (r->kind == TIMELINE_MARK || r->kind == TIMELINE_ALARM) &&
	       *r->text;
}

static void list_mark(struct buf *to, const struct timeline_record *r)
{
	buf_printf(to, "%s%s (%s)", to->len ? ", " : "", text_quote(r->text),
		   text_moment(r->time));
}

/* The last marks that begin with the text, the newest first, without those that
 * rewinds have set. */
static size_t list_marks(const struct timeline *t, const char *text,
			 struct buf *to)
{
	size_t count = 0, i;

	for (i = t->count; i-- > 0;)
		if (is_mark(&t->items[i]) &&
		    strcmp(t->items[i].text, MOMENT_BEFORE_REWIND) != 0 &&
		    strncmp(t->items[i].text, text, strlen(text)) == 0 &&
		    ++count <= MARKS_SHOWN)
			list_mark(to, &t->items[i]);
	if (count > MARKS_SHOWN)
		buf_printf(to, " and %zu more", count - MARKS_SHOWN);
	return count;
}

/* A mark of this text is meant rather than one that begins with it. */
static int find_mark(const struct timeline *t, const char *label,
		     const char *when, struct moment *ret, struct err *err)
{
	const struct timeline_record *found = NULL;
	size_t begun = 0, equal = 0, i;
	AUTO(buf) struct buf list = {0};

	for (i = 0; i < t->count && *when; i++) {
		const struct timeline_record *r = &t->items[i];
		bool is_equal = strcmp(r->text, when) == 0;

		if (!is_mark(r) || strncmp(r->text, when, strlen(when)) != 0)
			continue;
		begun++;
		equal += is_equal;
		if (is_equal || !equal)
			found = r;
	}
	if (equal > 1 ? strcmp(when, MOMENT_BEFORE_REWIND) != 0
		      : !equal && begun > 1) {
		(void)list_marks(t, when, &list);
		return fail(err, EEXIST,
			    "%s of run %s is several marks: %s; name one by "
			    "its time, or by more of its text",
			    text_quote(when), label, buf_text(&list));
	}
	if (found) {
		*ret = (struct moment){found->number, found->time,
				       mem_strdup(found->text)};
		return 0;
	}
	begun = list_marks(t, "", &list);
	return fail(err, EDOM,
		    "run %s has no mark %s, and it is no time such as 14:03, "
		    "14:03:12.4 or -5m%s%s",
		    label, text_quote(when), begun ? "; its marks are " : "",
		    buf_text(&list));
}

int moment_find(const struct timeline *t, const char *label, bool live,
		const char *when, struct moment *ret, struct err *err)
{
	struct range range;
	struct wanted wanted;

	if (!t->count)
		return fail(err, ENODATA,
			    "run %s has no timeline: it was started with "
			    "--versions 0, or by an older guard",
			    label);
	range = find_range(t, live);
	if (strcmp(when, "start") == 0)
		*ret = (struct moment){.time = range.start};
	else if (strcmp(when, "end") == 0 || strcmp(when, "now") == 0)
		*ret = (struct moment){t->items[t->count - 1].number, range.end,
				       NULL};
	else if (parse_wanted(when, &range, &wanted))
		return find_time(t, label, &range, &wanted, when, ret, err);
	else
		return find_mark(t, label, when, ret, err);
	return 0;
}

/* --- states --- */

/* The records of a root up to the moment, by path, then number. */
typedef VEC(const struct timeline_record *) record_list;

struct state_maker {
	struct store *store;
	struct contents *contents;
	const struct timeline *timeline;
	struct tree_editor *editor;
	struct snapshot base, result; /* root.mode 0: none */
	struct lookup in_base, in_result;
	record_list gaps; /* by content */
	bool gaps_known;
	struct moment_losses *lost;
};

/* The entry of the path above: what is older and below it does not count. */
struct level {
	const char *path;
	uint64_t reset; /* number of the record */
};

static int compare_paths(const void *a, const void *b)
{
	const struct timeline_record *x = *(struct timeline_record *const *)a;
	const struct timeline_record *y = *(struct timeline_record *const *)b;
	int order = path_compare(x->path, y->path);

	return order ? order
		     : (x->number > y->number) - (x->number < y->number);
}

static int compare_contents(const void *a, const void *b)
{
	const struct timeline_record *x = *(struct timeline_record *const *)a;
	const struct timeline_record *y = *(struct timeline_record *const *)b;

	return (x->content > y->content) - (x->content < y->content);
}

static bool is_gap(const struct timeline_record *r)
{
	return r->kind == TIMELINE_GAP || r->kind == TIMELINE_SAMPLED ||
	       r->kind == TIMELINE_THINNED;
}

/* Why a content is not kept. */
static const char *find_reason(struct state_maker *m, uint64_t content)
{
	const struct timeline *t = m->timeline;
	const struct timeline_record key = {.content = content}, *of = &key;
	const struct timeline_record **found;
	size_t i;

	for (i = 0; i < t->count && !m->gaps_known; i++)
		if (is_gap(&t->items[i]))
			*VEC_ADD(&m->gaps) = &t->items[i];
	if (!m->gaps_known)
		VEC_SORT(&m->gaps, compare_contents);
	m->gaps_known = true;
	found = m->gaps.count
			? bsearch(&of, m->gaps.items, m->gaps.count,
				  sizeof(*m->gaps.items), compare_contents)
			: NULL;
	return found ? (*found)->text : "";
}

static void add_loss(struct state_maker *m, const char *path, uint64_t content,
		     const char *why)
{
	*VEC_ADD(m->lost) = (struct moment_loss){mem_strdup(path), content,
						 mem_strdup(why)};
}

/* Attributes, which no record has: a file's are those of its content. */
static int add_attributes(struct state_maker *m, const char *path,
			  struct entry *e, struct err *err)
{
	AUTO(entry) struct entry base = {0}, result = {0};
	const struct entry *from = &base;

	if (lookup_find(&m->in_result, path, &result, err) < 0 ||
	    lookup_find(&m->in_base, path, &base, err) < 0)
		return -err->num;
	if (result.mode == e->mode && entry_same_time(&result, e) &&
	    (S_ISDIR(e->mode) || entry_same_content(&result, e)))
		from = &result;
	else if (!S_ISDIR(e->mode) || !S_ISDIR(base.mode))
		return 0;
	e->attrs = from->attrs;
	e->chattr = from->chattr;
	e->link_group = from->link_group;
	return 0;
}

/* *ret: the entry of the record; its content is stored. */
static int make_entry(struct state_maker *m, const struct timeline_record *r,
		      struct entry *ret, struct err *err)
{
	int got = 1;

	m->lost->files += S_ISREG(r->mode);
	if (S_ISREG(r->mode))
		got = contents_entry(m->contents, r->content, ret, err);
	if (got < 0)
		return got;
	if (!got) {
		add_loss(m, r->path, r->content, find_reason(m, r->content));
		ret->flags = ENTRY_INCOMPLETE;
	}
	if (S_ISLNK(r->mode))
		ret->link = mem_strdup(r->text);
	ret->mode = r->mode;
	ret->uid = r->uid;
	ret->gid = r->gid;
	ret->mtime = r->mtime;
	return add_attributes(m, r->path, ret, err);
}

static int apply_record(struct state_maker *m, const struct timeline_record *r,
			struct err *err)
{
	AUTO(entry) struct entry e = {0};
	int got;

	if (r->kind == TIMELINE_NONE)
		return 0;
	if (tree_editor_move_to(m->editor, r->path, err) < 0)
		return -err->num;
	if (r->kind == TIMELINE_GONE)
		return tree_editor_remove(m->editor, r->path, err);
	if (make_entry(m, r, &e, err) < 0)
		return -err->num;
	if (r->kind == TIMELINE_OPAQUE &&
	    tree_editor_remove(m->editor, r->path, err) < 0)
		return -err->num;
	got = S_ISDIR(e.mode) ? tree_editor_put_dir(m->editor, r->path, &e, err)
			      : tree_editor_put(m->editor, r->path, &e, err);
	/* Its directory went away in the same moment. */
	return got == -ENOTDIR ? 0 : got;
}

/* The number of the last of the records of one path that ended all below it: it
 * removed the directory, or is about another one. */
static uint64_t find_reset(const struct timeline_record *const *records,
			   size_t count)
{
	uint64_t reset = 0, ino = 0;
	size_t i;

	for (i = 0; i < count; i++) {
		const struct timeline_record *r = records[i];
		bool dir = (r->kind == TIMELINE_ENTRY ||
			    r->kind == TIMELINE_OPAQUE) &&
			   S_ISDIR(r->mode);

		if (!dir || (i && r->ino != ino))
			reset = r->number;
		ino = dir ? r->ino : 0;
	}
	return reset;
}

static int apply_records(struct state_maker *m, const record_list *list,
			 struct err *err)
{
	VEC(struct level) above = {0};
	size_t i, next;
	int got = 0;

	for (i = 0; i < list->count && got == 0; i = next) {
		const char *path = list->items[i]->path;
		uint64_t reset = 0, own;

		for (next = i + 1; next < list->count &&
				   strcmp(list->items[next]->path, path) == 0;
		     next++)
			;
		while (above.count &&
		       !path_below(path, above.items[above.count - 1].path))
			above.count--;
		if (above.count)
			reset = above.items[above.count - 1].reset;
		if (list->items[next - 1]->number < reset)
			continue;
		own = find_reset(&list->items[i], next - i);
		*VEC_ADD(&above) =
			(struct level){path, own > reset ? own : reset};
		got = apply_record(m, list->items[next - 1], err);
	}
	VEC_FREE(&above);
	return got;
}

static void state_maker_free(struct state_maker *m)
{
	tree_editor_free(&m->editor);
	lookup_free(&m->in_base);
	lookup_free(&m->in_result);
	snapshot_free(&m->base);
	snapshot_free(&m->result);
	VEC_FREE(&m->gaps);
}

/* A snapshot that was pruned is none. */
static int load_tree(struct store *store, uint64_t seq, struct snapshot *ret,
		     struct lookup *lookup, struct err *err)
{
	int got = seq ? catalog_load(store, seq, ret, err) : 0;

	*lookup = (struct lookup){.store = store, .root = &ret->root};
	return got == -ENOENT ? 0 : got;
}

/* Where only the changed paths are known, the root's own entry is not. */
static void make_partial(struct entry *root)
{
	*root = (struct entry){
		.name = mem_strdup(""),
		.mode = S_IFDIR | 0755,
		.uid = geteuid(),
		.gid = getegid(),
		.flags = ENTRY_INCOMPLETE,
	};
}

/* Later records of a gap do not make what was missed before it known. */
static void list_records(struct state_maker *m, size_t root, uint64_t record,
			 record_list *to)
{
	size_t i;

	for (i = 0; i < m->timeline->count; i++) {
		const struct timeline_record *r = &m->timeline->items[i];

		if (r->number > record)
			break;
		if (r->root != root || !path_ok(r->path))
			continue;
		if (r->kind == TIMELINE_GAP && !r->content)
			add_loss(m, r->path, 0, r->text);
		else if (r->kind >= TIMELINE_ENTRY && r->kind <= TIMELINE_NONE)
			*VEC_ADD(to) = r;
	}
	VEC_SORT(to, compare_paths);
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
	AUTO(state_maker)
	struct state_maker m = {
		.store = store,
		.contents = contents,
		.timeline = contents_timeline(contents),
		.lost = lost,
	};
	const struct contents_root *roots;
	AUTO(entry) struct entry tree = {0};
	record_list list = {0};
	size_t count;
	int got;

	roots = contents_roots(contents, &count);
	if (root >= count)
		return fail(err, EINVAL, "the run has no directory %zu", root);
	if (load_tree(store, roots[root].base, &m.base, &m.in_base, err) < 0 ||
	    load_tree(store, roots[root].result, &m.result, &m.in_result, err) <
		    0)
		return -err->num;
	if (m.base.root.mode)
		entry_copy(&tree, &m.base.root);
	else
		make_partial(&tree);
	m.editor = tree_editor_new(store, &tree);
	list_records(&m, root, record, &list);
	got = apply_records(&m, &list, err);
	VEC_FREE(&list);
	VEC_SORT(lost, compare_losses);
	if (tree_editor_end(&m.editor, got, &tree, err) < 0)
		return -err->num;
	*ret = TAKE(tree);
	return 0;
}
