#include "guard/cli/timeline_show.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/text.h"
#include "guard/cli/jsonout.h"
#include "guard/cli/jsonstream.h"
#include "guard/cli/output.h"
#include "guard/cli/styled.h"

/* Paths that a group names, for each kind of change. */
#define NAMES_SHOWN 4

/* What a record says about a path, compared with the record before. */
enum change_class {
	CLASS_DELETED,
	CLASS_EMPTIED,
	CLASS_WRITTEN,
	CLASS_MADE, /* a directory, a link or a special file */
	CLASS_META,
	CLASS_NONE, /* nothing that a reader wants to know */
};

static const char *const class_names[] = {
	"deleted", "emptied", "written", "made", "metadata of",
};

struct classified {
	const struct timeline_record *record;
	enum change_class class;
};

struct timeline_list {
	struct classified *items;
	size_t count, capacity;
};

static bool is_state(const struct timeline_record *r)
{
	return r->kind >= TIMELINE_ENTRY && r->kind <= TIMELINE_NONE;
}

static bool is_lost(const struct timeline_record *r)
{
	return r->kind >= TIMELINE_GAP && r->kind <= TIMELINE_THINNED;
}

static int compare_places(const struct timeline_record *a,
			  const struct timeline_record *b)
{
	int order = (a->root > b->root) - (a->root < b->root);

	return order ?: path_compare(a->path, b->path);
}

static int by_place(const void *pa, const void *pb)
{
	const struct timeline_record
		*a = ((const struct classified *)pa)->record,
		*b = ((const struct classified *)pb)->record;
	int order = compare_places(a, b);

	return order ?: (a->number > b->number) - (a->number < b->number);
}

static int by_number(const void *pa, const void *pb)
{
	const struct timeline_record
		*a = ((const struct classified *)pa)->record,
		*b = ((const struct classified *)pb)->record;

	return (a->number > b->number) - (a->number < b->number);
}

static int by_class(const void *pa, const void *pb)
{
	const struct classified *a = pa, *b = pb;

	return a->class != b->class ? (int)a->class - (int)b->class
				    : compare_places(a->record, b->record);
}

static enum change_class classify(const struct timeline_record *r,
				  const struct timeline_record *before)
{
	bool was_file = before && before->kind == TIMELINE_ENTRY &&
			S_ISREG(before->mode);

	if (r->kind == TIMELINE_GONE || r->kind == TIMELINE_NONE)
		return !before || before->mode ? CLASS_DELETED : CLASS_NONE;
	if (before && r->mode == before->mode && !S_ISREG(r->mode))
		return CLASS_NONE;
	if (!S_ISREG(r->mode))
		return CLASS_MADE;
	if (was_file && before->content == r->content)
		return CLASS_META;
	return was_file && before->size && !r->size ? CLASS_EMPTIED
						    : CLASS_WRITTEN;
}

/* The records about paths, in their order. */
static void list_changes(const struct timeline *t, struct timeline_list *to)
{
	size_t i;

	for (i = 0; i < t->count; i++)
		if (is_state(&t->items[i]) && *t->items[i].path)
			VEC_ADD(to)->record = &t->items[i];
	VEC_SORT(to, by_place);
	for (i = 0; i < to->count; i++) {
		const struct timeline_record *r = to->items[i].record;
		const struct timeline_record *before =
			i ? to->items[i - 1].record : NULL;

		if (before && compare_places(before, r) != 0)
			before = NULL;
		to->items[i].class = classify(r, before);
	}
	VEC_SORT(to, by_number);
}

/* --- text --- */

struct line {
	enum line_kind kind;
	char *text;
};

struct timeline_text {
	const struct run_timeline *run;
	VEC(struct line) lines;
};

static void add_name(const struct timeline_text *t,
		     const struct timeline_record *r, struct buf *to)
{
	size_t count;
	const struct contents_root *roots =
		contents_roots(t->run->contents, &count);
	auto_free char *full = r->root && r->root < count
				       ? path_join(roots[r->root].path, r->path)
				       : NULL;

	text_escape_name(to, full ?: *r->path ? r->path : ".");
}

static void add_line(struct timeline_text *t, enum line_kind kind,
		     struct buf *text)
{
	*VEC_ADD(&t->lines) = (struct line){kind, buf_take_text(text)};
}

/* One line for the changes of a second, each path once in its kind. */
static void add_group(struct timeline_text *t, struct classified *items,
		      size_t count)
{
	AUTO(buf) struct buf line = {0};
	size_t i, next, names;

	buf_printf(&line, "  %.*s ", 8,
		   strrchr(text_time(items[0].record->time), ' ') + 1);
	qsort(items, count, sizeof(*items), by_class);
	for (i = 0; i < count && items[i].class < CLASS_NONE; i = next) {
		enum change_class class = items[i].class;

		buf_printf(&line, "%s %s", i ? ";" : "", class_names[class]);
		names = 0;
		for (next = i; next < count && items[next].class == class;
		     next++) {
			if (next > i &&
			    compare_places(items[next].record,
					   items[next - 1].record) == 0)
				continue;
			if (names++ >= NAMES_SHOWN)
				continue;
			buf_add_text(&line, names > 1 ? ", " : " ");
			add_name(t, items[next].record, &line);
			if (class == CLASS_WRITTEN)
				buf_printf(&line, " (%s)",
					   text_size(items[next].record->size));
		}
		if (names > NAMES_SHOWN)
			buf_printf(&line, " and %zu more", names - NAMES_SHOWN);
	}
	if (i)
		add_line(t, LINE_ROW, &line);
}

static void add_single(struct timeline_text *t, const struct timeline_record *r)
{
	AUTO(buf) struct buf line = {0};
	bool mark = r->kind == TIMELINE_MARK;

	if (mark || r->kind == TIMELINE_ALARM) {
		buf_printf(&line, "%s  %s", text_moment(r->time),
			   mark ? "" : "alarm: ");
		text_escape_name(&line, r->text);
		add_line(t, LINE_TITLE, &line);
		return;
	}
	buf_printf(&line, "  %.*s  %s ", 8,
		   strrchr(text_time(r->time), ' ') + 1,
		   r->kind == TIMELINE_SAMPLED	 ? "sampled"
		   : r->kind == TIMELINE_THINNED ? "thinned"
						 : "not held");
	add_name(t, r, &line);
	buf_add_text(&line, ": ");
	text_escape_name(&line, r->text);
	add_line(t, LINE_LOSS, &line);
}

static int by_reason(const void *pa, const void *pb)
{
	const struct timeline_record
		*a = ((const struct classified *)pa)->record,
		*b = ((const struct classified *)pb)->record;
	int order = strcmp(a->text, b->text);

	return order ?: (int)a->kind - (int)b->kind;
}

/* The lost contents by reason, the end of the text and of the JSON: calls
 * each() with the first record of each reason. */
static void each_reason(const struct timeline *t,
			void (*each)(void *arg, const struct timeline_record *r,
				     size_t count),
			void *arg)
{
	struct timeline_list list = {0};
	size_t i, next;

	for (i = 0; i < t->count; i++)
		if (is_lost(&t->items[i]))
			VEC_ADD(&list)->record = &t->items[i];
	VEC_SORT(&list, by_reason);
	for (i = 0; i < list.count; i = next) {
		for (next = i + 1;
		     next < list.count &&
		     !by_reason(&list.items[i], &list.items[next]);
		     next++)
			;
		each(arg, list.items[i].record, next - i);
	}
	VEC_FREE(&list);
}

static void add_reason_line(void *arg, const struct timeline_record *r,
			    size_t count)
{
	AUTO(buf) struct buf line = {0};

	buf_printf(&line, "%s: %s: ",
		   r->kind == TIMELINE_SAMPLED ? "read while open for writing"
					       : "not held",
		   r->content ? text_count(count, "version")
			      : text_count(count, "place"));
	text_escape_name(&line, r->text);
	add_line(arg, LINE_LOSS, &line);
}

void timeline_show_text(const struct run_timeline *run, uint64_t from,
			size_t count)
{
	const struct timeline *t = contents_timeline(run->contents);
	struct timeline_text text = {.run = run};
	struct timeline_list list = {0};
	size_t i, at = 0, begin = 0;

	list_changes(t, &list);
	for (i = 0; i <= t->count; i++) {
		const struct timeline_record *r = &t->items[i];
		bool ends = i == t->count || !is_state(r);

		if (i < t->count && is_state(r) && !*r->path)
			continue;
		if (at > begin && (ends || list.items[begin].record->time.sec !=
						   r->time.sec)) {
			add_group(&text, &list.items[begin], at - begin);
			begin = at;
		}
		if (i < t->count && r->number <= from) {
			at += is_state(r);
			begin = at;
		} else if (!ends) {
			at++;
		} else if (i < t->count &&
			   (is_lost(r) || r->kind == TIMELINE_MARK ||
			    r->kind == TIMELINE_ALARM)) {
			add_single(&text, r);
		}
	}
	each_reason(t, add_reason_line, &text);
	for (i = 0; i < text.lines.count; i++) {
		const struct line *l = &text.lines.items[i];

		if (text.lines.count - i <= count)
			styled_line(styled_out(), l->kind, "%s", l->text);
		free(l->text);
	}
	VEC_FREE(&text.lines);
	VEC_FREE(&list);
}

/* --- JSON --- */

static void add_json_time(json_t *object, struct timestamp when)
{
	time_t sec = (time_t)when.sec;
	char text[64];
	struct tm tm;
	size_t len = strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S",
			      gmtime_r(&sec, &tm));

	(void)snprintf(text + len, sizeof(text) - len, ".%03uZ",
		       when.nsec / 1000000);
	jsonout_text(object, "time", text);
}

static void add_json_reason(void *arg, const struct timeline_record *r,
			    size_t count)
{
	json_t *object = json_object();

	jsonout_text(object, "kind", timeline_kind_name(r->kind));
	jsonout_text(object, "why", r->text);
	jsonout_number(object, "count", count);
	jsonstream_put(arg, NULL, object);
}

void timeline_show_json(const struct run_timeline *run, uint64_t from)
{
	const struct timeline *t = contents_timeline(run->contents);
	json_t *object = json_object();
	struct jsonstream to = {0};
	const struct contents_root *roots;
	size_t count, i;

	roots = contents_roots(run->contents, &count);
	jsonout_text(object, "schema", "guard.log-run/1");
	jsonout_text(object, "run", run->id);
	jsonout_text(object, "name",
		     strcmp(run->id, run->label) ? run->label : NULL);
	jsonout_bool(object, "running", run->live);
	jsonstream_open(&to, NULL, '{');
	jsonstream_put_all(&to, object);
	jsonstream_open(&to, "records", '[');
	for (i = 0; i < t->count; i++) {
		const struct timeline_record *r = &t->items[i];
		bool placed = is_state(r) || is_lost(r);

		if (r->number <= from)
			continue;
		object = json_object();
		jsonout_number(object, "number", r->number);
		add_json_time(object, r->time);
		jsonout_text(object, "kind", timeline_kind_name(r->kind));
		if (placed) {
			jsonout_text(object, "root",
				     r->root < count ? roots[r->root].path
						     : NULL);
			jsonout_text(object, "path", r->path);
		}
		if (is_state(r) && r->mode) {
			jsonout_text(object, "type", jsonout_type(r->mode));
			jsonout_mode(object, r->mode);
			jsonout_number(object, "size", r->size);
		}
		if (r->content)
			jsonout_number(object, "content", r->content);
		if (*r->text && r->kind != TIMELINE_BEGIN)
			jsonout_text(object, "text", r->text);
		jsonstream_put(&to, NULL, object);
	}
	jsonstream_close(&to, ']');
	jsonstream_open(&to, "not_held", '[');
	each_reason(t, add_json_reason, &to);
	jsonstream_close(&to, ']');
	jsonstream_close(&to, '}');
}
