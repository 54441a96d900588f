#include <inttypes.h>
#include <sys/stat.h>
#include <time.h>

#include "base/fd.h"
#include "guard/change/action.h"
#include "guard/cli/commands.h"
#include "guard/cli/from_copy.h"
#include "guard/cli/history_show.h"
#include "guard/cli/styled.h"
#include "guard/cli/timeline_show.h"
#include "guard/history/history.h"
#include "guard/change/resolve_run.h"
#include "restore/workspace.h"

#define OPLOG_MAX (256u << 20)

static int log_snapshots(struct context *c, const char *arg,
			 const struct options *o, struct err *err)
{
	auto_free char *path = arg ? resolve_run_path(arg, err) : NULL;
	AUTO(history)
	struct history h = {.path = path,
			    .project = o->all || o->from ? NULL : c->project,
			    .from = o->from,
			    .progress = progress_show};
	int got;

	if ((arg && !path) || context_store(c, STORE_READ, err) < 0)
		return -err->num;
	if (pins_user_load(&c->state, &h.pins, err) < 0)
		output_warn("%s", err->text);
	progress_start("log");
	got = history_load(&h, c->store, err);
	if (got == 0 && path)
		got = history_runs_add(&h, c, err);
	progress_end();
	if (got < 0)
		return got;
	if (!h.count && path)
		return fail(err, ENOENT,
			    "no stored version of %s; `guard find NAME` "
			    "searches all snapshots for a name",
			    text_quote(path));
	if (!h.count && !o->json)
		output_print("nothing is stored yet of %s: `guard "
			     "snapshot` stores the project",
			     o->all || o->from ? "any project"
					       : text_quote(c->project));
	if (!o->no_pager && !o->json)
		output_pager_start("log");
	if (o->json)
		history_show_json(&h, o->number);
	else
		history_show_text(&h, o->number);
	return STATUS_OK;
}

/* RUN or RUN@WHEN: 1 when it was one, and no file has this name. */
static int log_run(struct context *c, const char *arg, const struct options *o,
		   struct err *err)
{
	AUTO(run_timeline) struct run_timeline run = {0};
	AUTO(moment) struct moment m = {0};
	struct stat st;
	int got;

	if (lstat(arg, &st) == 0)
		return 0;
	got = run_timeline_name_len(arg)
		      ? run_timeline_find(c, arg, &run, &m, err)
		      : run_timeline_open(c, arg, &run, err);
	/* The beginning of an id is rather the name of a deleted file. */
	if (got <= 0 ||
	    (!run_timeline_name_len(arg) && strcmp(arg, run.id) != 0 &&
	     strcmp(arg, run.label) != 0))
		return got < 0 ? got : 0;
	if (!contents_timeline(run.contents)->count)
		return moment_find(contents_timeline(run.contents), run.label,
				   run.live, "", &m, err);
	if (!o->no_pager && !o->json)
		output_pager_start("log");
	if (o->json)
		timeline_show_json(&run, m.record);
	else
		timeline_show_text(&run, m.record, o->number);
	return 1;
}

static const char *log_line_text(json_t *line, const char *key)
{
	const char *text = json_string_value(json_object_get(line, key));

	return text ?: "";
}

static void print_action(json_t *line)
{
	const char *utc = log_line_text(line, "time");
	json_t *undo = json_object_get(line, "undo");
	AUTO(buf) struct buf time = {0}, action = {0}, rest = {0};
	const char *number =
		undo ? text_printf("undo %d", (int)json_integer_value(undo))
		     : "";
	struct tm tm = {0};
	const char *end = strptime(utc, "%Y-%m-%dT%H:%M:%SZ", &tm);
	static const char *const shown[] = {"time", "action", "uid",
					    "pid",  "kept",   NULL};
	const char *key;
	json_t *value;

	/* As the other times of a log: of this place. */
	if (end && !*end)
		utc = text_time((struct timestamp){.sec = timegm(&tm)});
	text_escape_name(&time, utc);
	text_escape_name(&action, log_line_text(line, "action"));
	json_object_foreach(line, key, value)
	{
		if (mem_list_has(shown, key) || !json_is_string(value))
			continue;
		buf_add_text(&rest, rest.len ? "  " : "");
		text_escape_name(&rest, key);
		buf_add_char(&rest, '=');
		text_escape_name(&rest, json_string_value(value));
	}
	styled_line(styled_out(), LINE_ROW,
		    "%s  " BOLD "%-7s" PLAIN "  %-9s  %s", buf_text(&time),
		    number, buf_text(&action), buf_text(&rest));
}

/* The displayed lines of the oplog, newest first, without those that are no
 * JSON (an interrupted write). */
static json_t *parse_actions(struct buf *log, const struct context *c,
			     const struct options *o)
{
	/* runs: those of the project; the end of a run names the run alone. */
	json_auto_t *lines = json_array(), *runs = json_object();
	json_t *wanted = json_array();
	const char *at = buf_text(log);
	size_t i;

	while (*at) {
		size_t len = strcspn(at, "\n");
		json_auto_t *line = json_loadb(at, len, 0, NULL);

		if (json_is_object(line)) {
			(void)json_array_append(lines, line);
			if (strcmp(log_line_text(line, "project"),
				   c->project) == 0)
				jsonout_bool(runs, log_line_text(line, "run"),
					     true);
		}
		at += len + (at[len] == '\n');
	}
	for (i = json_array_size(lines);
	     i-- > 0 && json_array_size(wanted) < o->number;) {
		json_t *line = json_array_get(lines, i);

		if (o->all ||
		    (json_object_get(line, "project")
			     ? strcmp(log_line_text(line, "project"),
				      c->project) == 0
			     : json_object_get(runs,
					       log_line_text(line, "run")) !=
				       NULL))
			(void)json_array_append(wanted, line);
	}
	return wanted;
}

/* The line of an action, by the snapshot before it; a discard, and an action
 * that was finished after a crash, have no snapshot but a run. */
static bool is_action_line(json_t *line, const struct action *a,
			   const char *project)
{
	const char *before = text_printf("%" PRIu64, action_before(a));
	const char *kind = a->parts.count ? "discard" : a->kind;
	const char *kept = log_line_text(line, "kept");
	size_t i;

	if (strcmp(log_line_text(line, "action"), kind) != 0 ||
	    strcmp(log_line_text(line, "project"), project) != 0 ||
	    json_object_get(line, "undo"))
		return false;
	for (i = 0; i < a->parts.count; i++)
		if (strcmp(a->parts.items[i].kept, kept) == 0)
			return true;
	if (a->parts.count || json_object_get(line, "kept"))
		return false;
	return json_object_get(line, "before")
		       ? strcmp(log_line_text(line, "before"), before) == 0
		       : strcmp(log_line_text(line, "run"), a->run_id) == 0;
}

/* The line of an action whose process was killed before it wrote one. */
static void add_missing_line(json_t *lines, const struct action *a,
			     const char *project, size_t undo)
{
	json_t *line = json_object();
	const char *when;
	size_t at = 0;

	jsonout_time(line, "time", (struct timestamp){.sec = a->time});
	when = log_line_text(line, "time");
	jsonout_text(line, "action", a->parts.count ? "discard" : a->kind);
	if (*a->run_id)
		jsonout_text(line, "run", a->run_id);
	jsonout_text(line, "project", project);
	if (action_before(a))
		jsonout_text(line, "before",
			     text_printf("%" PRIu64, action_before(a)));
	jsonout_number(line, "undo", undo);
	while (at < json_array_size(lines) &&
	       strcmp(log_line_text(json_array_get(lines, at), "time"), when) >=
		       0)
		at++;
	(void)json_array_insert_new(lines, at, line);
}

/* Each action that can be taken back gets "undo": so many have to be. One of
 * several paths has a line for each. */
static void number_actions(const struct context *c, const struct options *o,
			   json_t *lines)
{
	struct err ignored;
	auto_close int fd = workspace_open(c->state.workspaces_fd, c->project,
					   false, &ignored);
	size_t back, i;
	json_t *line;

	for (back = 0; fd >= 0; back++) {
		AUTO(action) struct action a = {0};
		bool found = false;

		if (action_load_effective(fd, back, &a, &ignored) < 0)
			return;
		json_array_foreach(lines, i, line)
		{
			if (!is_action_line(line, &a, c->project))
				continue;
			jsonout_number(line, "undo", back + 1);
			found = true;
			if (!a.parts.count)
				break;
		}
		if (!found && a.time && back < o->number)
			add_missing_line(lines, &a, c->project, back + 1);
	}
}

static int log_actions(struct context *c, const struct options *o,
		       struct err *err)
{
	AUTO(buf) struct buf log = {0};
	int got = fd_slurp_at(c->state.fd, "oplog", OPLOG_MAX, &log, err);
	json_t *array, *line;
	size_t i;

	if (got < 0 && got != -ENOENT)
		return got;
	array = parse_actions(&log, c, o);
	number_actions(c, o, array);
	if (o->json) {
		jsonstream_print(array);
	} else {
		if (!o->no_pager)
			output_pager_start("log");
		json_array_foreach(array, i, line) print_action(line);
		json_decref(array);
	}
	return STATUS_OK;
}

static int log_versions(struct context *c, const struct options *o,
			struct err *err)
{
	int got = o->count ? log_run(c, o->operands[0], o, err) : 0;

	return got > 0	 ? STATUS_OK
	       : got < 0 ? got
			 : log_snapshots(c, o->operands[0], o, err);
}

static int log_backup(struct context *c, const struct options *o,
		      struct err *err)
{
	AUTO(from_copy) struct from_copy f = FROM_COPY_NONE;
	int got;

	if (from_copy_view(&f, c, o, o->operands[0], err) < 0)
		return -err->num;
	got = log_versions(&f.view, o, err);
	return got < 0 ? from_copy_fail(&f, err) : got;
}

int cmd_log(const struct options *o, struct context *c, struct err *err)
{
	if (o->find)
		return cmd_find(o, c, err);
	if (o->actions)
		return log_actions(c, o, err);
	return o->from ? log_backup(c, o, err) : log_versions(c, o, err);
}
