#include "guard/cli/timeline_show.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/text.h"
#include "guard/cli/jsonout.h"
#include "guard/cli/jsonstream.h"
#include "guard/cli/styled.h"
#include "guard/timeline/record_list.h"

/* Paths that a group names, for each kind of change. */
#define NAMES_SHOWN 4

/* A record of a path, compared with the record before. */
enum change_class {
	CLASS_NONE, /* nothing that a reader wants to know */
	CLASS_DELETED,
	CLASS_EMPTIED,
	CLASS_WRITTEN,
	CLASS_MADE, /* a directory, a link or a special file */
	CLASS_META,
};

static const char *const class_names[] = {
	"", "deleted", "emptied", "written", "made", "metadata of",
};

static enum change_class classify(const struct timeline_record *r,
				  const struct timeline_record *before)
{
	bool was_file = before && S_ISREG(before->mode);

	if (!timeline_is_entry(r))
		return !before || timeline_is_entry(before) ? CLASS_DELETED
							    : CLASS_NONE;
	if (!S_ISREG(r->mode))
		return before && r->mode == before->mode ? CLASS_NONE
							 : CLASS_MADE;
	if (was_file && before->content == r->content)
		return CLASS_META;
	return was_file && before->size && !r->size ? CLASS_EMPTIED
						    : CLASS_WRITTEN;
}

/* The class of each record, to free. A path has a class once in a group. */
static unsigned char *make_classes(const struct timeline *t)
{
	AUTO(record_list) struct record_list l = record_list_make(t);
	unsigned char *classes = mem_zalloc(t->count + 1);
	/* The number of marks and lost contents before each record. */
	auto_free size_t *parts = mem_zalloc((t->count + 1) * sizeof(*parts));
	size_t i;

	for (i = 0; i < t->count; i++)
		parts[i + 1] = parts[i] + !timeline_is_state(&t->items[i]);

	for (i = 0; i < l.count; i++) {
		const struct timeline_record *r = l.items[i];
		const struct timeline_record *before =
			i && record_list_is_path(l.items[i - 1], r)
				? l.items[i - 1]
				: NULL;
		enum change_class class = classify(r, before);

		if (before && parts[before - t->items] == parts[r - t->items] &&
		    (classes[before - t->items] == class
			     ? before->time.sec == r->time.sec
			     : classes[before - t->items] == CLASS_EMPTIED &&
				       r->size &&
				       r->boot_ns - before->boot_ns <
					       TIMELINE_TRUNC_NS))
			classes[before - t->items] = CLASS_NONE;
		classes[r - t->items] = (unsigned char)class;
	}
	return classes;
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

static void add_clock(const struct timeline_record *r, struct buf *to)
{
	buf_printf(to, "  %s ", strrchr(text_time(r->time), ' ') + 1);
}

/* One line for the records of a second. */
static void add_group(struct timeline_text *t,
		      const struct timeline_record *records,
		      const unsigned char *classes, size_t count)
{
	AUTO(buf) struct buf line = {0};
	unsigned char class;
	bool any = false;
	size_t i;

	add_clock(records, &line);
	for (class = CLASS_DELETED; class <= CLASS_META; class ++) {
		size_t names = 0;

		for (i = 0; i < count; i++) {
			if (classes[i] != class || names++ >= NAMES_SHOWN)
				continue;
			if (names == 1)
				buf_printf(&line, "%s %s ", any ? ";" : "",
					   class_names[class]);
			any = true;
			buf_add_text(&line, names > 1 ? ", " : "");
			add_name(t, &records[i], &line);
			if (class == CLASS_WRITTEN)
				buf_printf(&line, " (%s)",
					   text_size(records[i].size));
		}
		if (names > NAMES_SHOWN)
			buf_printf(&line, " and %zu more", names - NAMES_SHOWN);
	}
	if (any)
		add_line(t, LINE_ROW, &line);
}

static void add_mark(struct timeline_text *t, const struct timeline_record *r)
{
	AUTO(buf) struct buf line = {0};

	buf_printf(&line, "%s  %s", text_moment(r->time),
		   r->kind == TIMELINE_ALARM ? "alarm: " : "");
	text_escape_name(&line, r->text);
	add_line(t, LINE_TITLE, &line);
}

static const char *lost_text(const struct timeline_record *r)
{
	return r->kind == TIMELINE_SAMPLED   ? "sampled"
	       : r->kind == TIMELINE_THINNED ? "thinned"
					     : "not held";
}

static void add_lost(struct timeline_text *t, const struct timeline_record *r)
{
	AUTO(buf) struct buf line = {0};

	add_clock(r, &line);
	buf_printf(&line, " %s ", lost_text(r));
	add_name(t, r, &line);
	buf_add_text(&line, ": ");
	text_escape_name(&line, r->text);
	add_line(t, LINE_LOSS, &line);
}

void timeline_show_text(const struct run_timeline *run, uint64_t from,
			size_t count)
{
	const struct timeline *t = contents_timeline(run->contents);
	struct timeline_text text = {.run = run};
	auto_free unsigned char *classes = make_classes(t);
	size_t i = 0, begin;

	while (i < t->count && t->items[i].number <= from)
		i++;
	while (i < t->count) {
		const struct timeline_record *r = &t->items[i];

		for (begin = i;
		     i < t->count && timeline_is_state(&t->items[i]) &&
		     t->items[i].time.sec == r->time.sec;
		     i++)
			;
		if (i > begin) {
			add_group(&text, r, &classes[begin], i - begin);
			continue;
		}
		if (timeline_is_heading(r))
			add_mark(&text, r);
		else if (timeline_is_lost(r))
			add_lost(&text, r);
		i++;
	}
	if (!run->live && !timeline_has_end(t)) {
		AUTO(buf) struct buf line = {0};

		buf_add_text(&line, "not held: what came later: guard was "
				    "stopped, or --versions 0");
		add_line(&text, LINE_LOSS, &line);
	}
	for (i = 0; i < text.lines.count; i++) {
		const struct line *l = &text.lines.items[i];

		if (text.lines.count - i <= count)
			styled_line(styled_out(), l->kind, "%s", l->text);
		free(l->text);
	}
	VEC_FREE(&text.lines);
}

/* --- JSON --- */

void timeline_show_json(const struct run_timeline *run, uint64_t from)
{
	const struct timeline *t = contents_timeline(run->contents);
	json_t *object = jsonout_document("guard.log-run/1");
	struct jsonstream to = {0};
	const struct contents_root *roots;
	size_t count, i;

	roots = contents_roots(run->contents, &count);
	jsonout_text(object, "run", run->id);
	jsonout_text(object, "name",
		     strcmp(run->id, run->label) ? run->label : NULL);
	jsonout_bool(object, "running", run->live);
	jsonstream_begin(&to, object);
	jsonstream_open(&to, "records", '[');
	for (i = 0; i < t->count; i++) {
		const struct timeline_record *r = &t->items[i];

		if (r->number <= from)
			continue;
		object = json_object();
		jsonout_number(object, "number", r->number);
		jsonout_moment(object, r->time);
		jsonout_text(object, "kind", timeline_kind_name(r->kind));
		if (timeline_is_state(r) || timeline_is_lost(r)) {
			jsonout_text(object, "root",
				     r->root < count ? roots[r->root].path
						     : NULL);
			jsonout_text(object, "path", r->path);
		}
		if (timeline_is_entry(r)) {
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
	jsonstream_close(&to, '}');
}
