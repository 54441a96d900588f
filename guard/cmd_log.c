#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "guard/commands.h"
#include "guard/context.h"
#include "guard/jsonout.h"
#include "guard/options.h"
#include "guard/output.h"
#include "guard/pick.h"
#include "guard/table.h"
#include "snapshot/catalog.h"

#define OPLOG_MAX (256u << 20)

struct log_options {
	bool actions, all, json, no_pager;
	unsigned long count;
};

/* The rows of a log, oldest first while they are gathered. */
struct row {
	struct snapshot snapshot;
	struct entry entry; /* mode 0: the path is gone there */
	bool of_run; /* what a run left, never the files themselves */
};

struct rows {
	struct row *items;
	size_t count, room;
};

static void rows_free(struct rows *r)
{
	size_t i;

	for (i = 0; i < r->count; i++) {
		snapshot_free(&r->items[i].snapshot);
		entry_free(&r->items[i].entry);
	}
	free(r->items);
	*r = (struct rows){0};
}

/* For a folder the tree under it counts too. */
static bool same_version(const struct entry *a, const struct entry *b)
{
	if (!a->mode || !b->mode)
		return a->mode == b->mode;
	return entry_same_content(a, b) && entry_same_meta(a, b) &&
	       oid_equal(&a->content, &b->content);
}

/* Whether the snapshot belongs into the log; fills entry for a path's. */
static int belongs(struct context *c, const struct snapshot *s,
		   const char *path, const struct log_options *o,
		   struct entry *entry, struct err *err)
{
	if (!path)
		return o->all || strcmp(s->root_path, c->project) == 0;
	if (!path_below(path, s->root_path))
		return 0;
	if (!s->root.mode)
		return 1;
	if (tree_lookup(c->store, &s->root, path_rest(path, s->root_path),
			entry, err) < 0)
		return -err->num;
	return 1;
}

/* What a run left is a version, but the files themselves go on from what was
 * before it. */
static const struct entry *last_real(const struct rows *rows)
{
	static const struct entry nothing;
	size_t i = rows->count;

	while (i-- > 0)
		if (!rows->items[i].of_run)
			return &rows->items[i].entry;
	return &nothing;
}

static int gather_one(struct context *c, uint64_t seq, const char *path,
		      const struct log_options *o, struct rows *rows,
		      struct err *err)
{
	struct row row = {0};
	int got = catalog_load(c->store, seq, &row.snapshot, err);

	if (got < 0) {
		output_warn("snapshot %" PRIu64 ": %s", seq, err->text);
		return 0;
	}
	got = belongs(c, &row.snapshot, path, o, &row.entry, err);
	if (got > 0 && path)
		got = !same_version(last_real(rows), &row.entry);
	if (got > 0) {
		row.of_run = strcmp(row.snapshot.reason, "post-run") == 0;
		GROW(rows->items, rows->count, rows->room);
		rows->items[rows->count++] = row;
		return 0;
	}
	snapshot_free(&row.snapshot);
	entry_free(&row.entry);
	return got;
}

static int gather(struct context *c, const char *path,
		  const struct log_options *o, struct rows *rows,
		  struct err *err)
{
	auto_free uint64_t *seqs = NULL;
	size_t count = 0, i;

	if (catalog_list(c->store, &seqs, &count, err) < 0)
		return -err->num;
	for (i = 0; i < count; i++)
		if (gather_one(c, seqs[i], path, o, rows, err) < 0)
			return err_context(err, "snapshot %" PRIu64, seqs[i]);
	return 0;
}

static char *size_text(const struct row *row, bool of_path)
{
	if (!of_path)
		return mem_printf("%s",
				  text_count(row->snapshot.files, "file"));
	if (!row->entry.mode)
		return mem_strdup("deleted");
	if (S_ISREG(row->entry.mode))
		return mem_strdup(text_size(row->entry.size));
	return mem_strdup(jsonout_type(row->entry.mode));
}

static void print_rows(const struct rows *rows, bool of_path,
		       const struct log_options *o)
{
	AUTO(table) struct table t = {.columns = 6};
	size_t i = rows->count, n = 0;

	while (i-- > 0 && n++ < o->count) {
		const struct row *row = &rows->items[i];
		const struct snapshot *s = &row->snapshot;
		auto_free char *number = mem_printf("%" PRIu64, s->seq);
		auto_free char *size = size_text(row, of_path);
		AUTO(buf) struct buf what = {0};

		if (o->all)
			output_name(&what, s->root_path);
		if (s->message[0] || s->command[0]) {
			if (what.len)
				buf_add_text(&what, "  ");
			output_cut(&what,
				   s->message[0] ? s->message : s->command);
		}
		if (s->note_count)
			buf_printf(&what, "  (%s)",
				   text_count(s->note_count, "note"));
		table_row(&t, (const char *const[]){
				      number, output_time(s->time), s->reason,
				      s->run_id, size, buf_text(&what)});
	}
	table_print(&t, "", stdout);
}

static void print_rows_json(const struct rows *rows, bool of_path,
			    const struct log_options *o)
{
	json_t *whole = json_object(), *array = json_array();
	size_t i = rows->count, n = 0;

	while (i-- > 0 && n++ < o->count) {
		const struct row *row = &rows->items[i];
		const struct snapshot *s = &row->snapshot;
		json_t *object = json_object();

		jsonout_number(object, "snapshot", s->seq);
		jsonout_time(object, "time", s->time);
		jsonout_text(object, "reason", s->reason);
		jsonout_text(object, "run", s->run_id);
		jsonout_text(object, "command", s->command);
		jsonout_text(object, "message", s->message);
		jsonout_text(object, "root", s->root_path);
		jsonout_number(object, "notes", s->note_count);
		if (!of_path) {
			jsonout_number(object, "files", s->files);
			jsonout_number(object, "bytes", s->bytes);
		} else if (row->entry.mode) {
			jsonout_text(object, "type",
				     jsonout_type(row->entry.mode));
			jsonout_number(object, "size", row->entry.size);
		} else {
			jsonout_text(object, "type", NULL);
		}
		(void)json_array_append_new(array, object);
	}
	jsonout_text(whole, "schema", "guard.log/1");
	(void)json_object_set_new(whole, "snapshots", array);
	jsonout_print(whole);
}

static int log_snapshots(struct context *c, const char *arg,
			 const struct log_options *o, struct err *err)
{
	AUTO(rows) struct rows rows = {0};
	auto_free char *path = arg ? pick_path(arg, err) : NULL;

	if ((arg && !path) || context_store(c, STORE_READ, err) < 0 ||
	    gather(c, path, o, &rows, err) < 0)
		return -err->num;
	if (!rows.count && !o->json)
		output_say("nothing of %s is stored yet",
			   o->all ? "any project"
				  : text_quote(path ? path : c->project));
	if (!o->no_pager && !o->json)
		output_pager_start();
	if (o->json)
		print_rows_json(&rows, path != NULL, o);
	else
		print_rows(&rows, path != NULL, o);
	return output_finish() ? STATUS_OK : STATUS_REFUSED;
}

/* key=value for everything that is not in a column of its own. */
static void add_rest(struct buf *to, json_t *line)
{
	static const char *const shown[] = {"time", "action", "uid", "pid"};
	const char *key;
	json_t *value;

	json_object_foreach(line, key, value)
	{
		size_t i, n = sizeof(shown) / sizeof(shown[0]);

		for (i = 0; i < n && strcmp(key, shown[i]) != 0; i++)
			;
		if (i < n || !json_is_string(value))
			continue;
		buf_add_text(to, to->len ? "  " : "");
		output_name(to, key);
		buf_add_char(to, '=');
		output_name(to, json_string_value(value));
	}
}

static const char *text_of(json_t *line, const char *key)
{
	const char *text = json_string_value(json_object_get(line, key));

	return text ? text : "";
}

/* runs: those of the project; the end of a run names the run alone. */
static bool of_project(json_t *line, const char *project, json_t *runs)
{
	if (json_object_get(line, "project"))
		return strcmp(text_of(line, "project"), project) == 0;
	return json_object_get(runs, text_of(line, "run")) != NULL;
}

static void print_action(json_t *line)
{
	AUTO(buf) struct buf b = {0}, rest = {0};

	output_name(&b, text_of(line, "time"));
	buf_add_text(&b, "  ");
	output_name(&b, text_of(line, "action"));
	add_rest(&rest, line);
	(void)printf("%-32s  %s\n", buf_text(&b), buf_text(&rest));
}

/* The lines of the oplog in their order; one that is no JSON (a write that was
 * cut off) is left out. runs: gets the ids of this project's. */
static json_t *parse_lines(struct buf *log, const char *project, json_t *runs)
{
	json_t *array = json_array();
	const char *at = buf_text(log);

	while (*at) {
		size_t len = strcspn(at, "\n");
		json_t *line = json_loadb(at, len, 0, NULL);

		if (json_is_object(line)) {
			(void)json_array_append(array, line);
			if (strcmp(text_of(line, "project"), project) == 0)
				(void)json_object_set_new(runs,
							  text_of(line, "run"),
							  json_true());
		}
		json_decref(line);
		at += len + (at[len] == '\n');
	}
	return array;
}

/* What is to be shown, newest first. */
static json_t *parse_actions(struct buf *log, const struct context *c,
			     const struct log_options *o)
{
	json_t *runs = json_object(), *wanted = json_array();
	json_t *lines = parse_lines(log, c->project, runs);
	size_t i = json_array_size(lines);

	while (i-- > 0 && json_array_size(wanted) < o->count) {
		json_t *line = json_array_get(lines, i);

		if (o->all || of_project(line, c->project, runs))
			(void)json_array_append(wanted, line);
	}
	json_decref(lines);
	json_decref(runs);
	return wanted;
}

static int log_actions(struct context *c, const struct log_options *o,
		       struct err *err)
{
	AUTO(buf) struct buf log = {0};
	int got = fd_slurp_at(c->state.fd, "oplog", OPLOG_MAX, &log, err);
	json_t *array, *line;
	size_t i;

	if (got < 0 && got != -ENOENT)
		return got;
	array = parse_actions(&log, c, o);
	if (o->json) {
		jsonout_print(array);
		return output_finish() ? STATUS_OK : STATUS_REFUSED;
	}
	if (!o->no_pager)
		output_pager_start();
	json_array_foreach(array, i, line) print_action(line);
	json_decref(array);
	return output_finish() ? STATUS_OK : STATUS_REFUSED;
}

static bool read_count(const struct verb *verb, int id, const char *value,
		       void *to)
{
	if (options_number(value, ~0ul, to) == 0)
		return true;
	options_complain(verb, "-%c: %s is no number", id, text_quote(value));
	return false;
}

int cmd_log(int argc, char **argv)
{
	const struct verb *verb = options_verb("log");
	AUTO(context) struct context c = CONTEXT_NONE;
	struct log_options o = {.count = ~0ul};
	const struct option_slot slots[] = {
		{'n', .read = read_count, .to = &o.count},
		{OPT_ACTIONS, .flag = &o.actions},
		{'a', .flag = &o.all},
		{OPT_JSON, .flag = &o.json},
		{OPT_NO_PAGER, .flag = &o.no_pager},
		{0},
	};
	struct err err;
	int got = options_take(verb, argc, argv, slots);

	if (got != OPTIONS_END)
		return got;
	if (argc - optind > (o.actions ? 0 : 1)) {
		options_complain(verb, "one path at a time, none with "
				       "--actions");
		return STATUS_USAGE;
	}
	got = context_open(&c, true, &err);
	if (got == 0)
		got = o.actions ? log_actions(&c, &o, &err)
				: log_snapshots(&c, argv[optind], &o, &err);
	return output_ended(got, &err);
}
