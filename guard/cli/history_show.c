#include "guard/cli/history_show.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/text.h"
#include "guard/cli/jsonstream.h"
#include "guard/cli/output.h"
#include "guard/cli/jsonout.h"

const char *history_show_change(enum history_change change)
{
	static const char *const names[] = {
		[HISTORY_FIRST] = "first",
		[HISTORY_ADDED] = "added",
		[HISTORY_MODIFIED] = "modified",
		[HISTORY_TYPE] = "other type",
		[HISTORY_META] = "metadata",
		[HISTORY_DELETED] = "deleted",
		[HISTORY_PURGED] = "purged",
		[HISTORY_WRITTEN] = "written",
		[HISTORY_EMPTIED] = "emptied",
		[HISTORY_GAP] = "not held",
		[HISTORY_BASE] = "as before the run",
	};

	return names[change];
}

/* The command of the run, also for snapshots that guard took of its result. */
static const char *command_of(const struct history *h, const struct snapshot *s)
{
	const char *of_run =
		json_string_value(json_object_get(h->commands, s->run_id));

	return *s->command || !of_run ? s->command : of_run;
}

static void add_reason_part(struct buf *to, const char *text)
{
	if (to->len)
		buf_add_text(to, "  ");
	buf_add_text(to, text);
}

static const char *row_size_text(const struct history *h,
				 const struct history_row *row)
{
	AUTO(buf) struct buf counts = {0};

	if (!h->path)
		return text_count(row->snapshot.files, "file");
	if (!row->entry.mode)
		return "";
	if (S_ISREG(row->entry.mode))
		return text_size(row->entry.size);
	if (row->added)
		buf_printf(&counts, " +%zu", row->added);
	if (row->modified)
		buf_printf(&counts, " ~%zu", row->modified);
	if (row->deleted)
		buf_printf(&counts, " -%zu", row->deleted);
	return counts.len ? text_printf("%s", buf_text(&counts) + 1)
			  : jsonout_type_text(row->entry.mode);
}

/* The reason of a snapshot: the user's message, the command, the origin, the
 * user. */
static char *row_reason_text(const struct history *h,
			     const struct history_row *row)
{
	const struct snapshot *s = &row->snapshot;
	const char *command = command_of(h, s);
	struct buf b = {0};
	size_t notes = 0, i;

	if (!h->path && !h->project)
		text_escape_name(&b, s->root_path);
	if (row->change == HISTORY_PURGED && !row->entry.mode)
		add_reason_part(&b, "with a parent directory");
	if (row->before)
		buf_printf(
			&b, "guard restore --at %s %s%s restores it",
			text_shell(row->before), text_shell(h->path),
			h->from ? text_printf(" --from %s", text_shell(h->from))
				: "");
	if (row->note)
		text_escape_name(&b, row->note);
	if (row->renamed) {
		AUTO(buf) struct buf name = {0};

		text_escape_name(&name,
				 path_below(row->renamed, s->root_path)
					 ? path_rest(row->renamed, s->root_path)
					 : row->renamed);
		add_reason_part(&b, row->change == HISTORY_ADDED ? "from "
								 : "now ");
		buf_add_text(&b, buf_text(&name));
	}
	if (*s->message || (*command && !row->moment)) {
		add_reason_part(&b, "");
		output_truncated(&b, *s->message ? s->message : command);
	}
	if (s->tags) {
		add_reason_part(&b, "[");
		output_list(&b, s->tags);
		buf_add_char(&b, ']');
	}
	if (pins_has(&h->pins, s->seq))
		add_reason_part(&b, "(pinned)");
	if (s->excludes) {
		add_reason_part(&b, "(without ");
		output_list(&b, s->excludes);
		buf_add_char(&b, ')');
	}
	/* Without the notes on requested exclusions. */
	for (i = 0; i < s->note_count; i++)
		notes += !snapshot_is_exclusion(&s->notes[i]);
	if (notes)
		buf_printf(&b, "%s(%s)", b.len ? "  " : "",
			   text_count(notes, "note"));
	if (s->uid != geteuid())
		buf_printf(&b, "%s(by uid %u)", b.len ? "  " : "", s->uid);
	return buf_take_text(&b);
}

void history_show_row(struct table *t, const struct snapshot *s,
		      const char *note)
{
	AUTO(buf) struct buf what = {0};

	text_escape_name(&what, s->root_path);
	if (*s->message) {
		buf_add_text(&what, "  ");
		output_truncated(&what, s->message);
	}
	table_row(t, text_printf("%" PRIu64, s->seq), text_time(s->time),
		  s->reason, note, buf_text(&what));
}

void history_show_text(const struct history *h, size_t count)
{
	AUTO(table) struct table t = {.right = h->path ? "     r" : NULL};
	size_t i = h->count, n = 0;

	while (i-- > 0 && n++ < count) {
		const struct history_row *row = &h->rows[i];
		const struct snapshot *s = &row->snapshot;
		auto_free char *why = row_reason_text(h, row);

		table_row(&t,
			  s->seq ? text_printf("%" PRIu64, s->seq)
				 : row->moment,
			  text_time(s->time), s->reason, s->run_id,
			  h->path ? history_show_change(row->change) : "",
			  row_size_text(h, row), why);
	}
	table_print(&t, "", stdout);
}

static void json_row(json_t *object, const struct history_row *row)
{
	const struct entry *e = &row->entry;

	jsonout_text(object, "change", history_show_change(row->change));
	if (row->moment) {
		jsonout_text(object, "restores", row->before);
		jsonout_text(object, "why", row->note);
	}
	if (row->renamed)
		jsonout_text(object,
			     row->change == HISTORY_ADDED ? "renamed_from"
							  : "renamed_to",
			     row->renamed);
	jsonout_text(object, "type", e->mode ? jsonout_type(e->mode) : NULL);
	if (!e->mode)
		return;
	jsonout_mode(object, e->mode);
	jsonout_number(object, "size", e->size);
	jsonout_time(object, "mtime", e->mtime);
	if (!S_ISDIR(e->mode) || row->change != HISTORY_MODIFIED)
		return;
	jsonout_number(object, "added", row->added);
	jsonout_number(object, "modified", row->modified);
	jsonout_number(object, "deleted", row->deleted);
}

void history_show_json(const struct history *h, size_t count)
{
	json_t *array = json_array();
	size_t i = h->count, n = 0;

	while (i-- > 0 && n++ < count) {
		const struct history_row *row = &h->rows[i];
		const struct snapshot *s = &row->snapshot;
		json_t *object = json_object();

		jsonout_seq(object, s->seq);
		if (row->moment)
			jsonout_text(object, "moment", row->moment);
		jsonout_time(object, "time", s->time);
		jsonout_text(object, "reason", s->reason);
		jsonout_number(object, "uid", s->uid);
		jsonout_text(object, "run", s->run_id);
		jsonout_text(object, "command", command_of(h, s));
		jsonout_text(object, "message", s->message);
		jsonout_text(object, "root", s->root_path);
		jsonout_origin(object, s);
		jsonout_number(object, "notes", s->note_count);
		jsonout_bool(object, "pinned", pins_has(&h->pins, s->seq));
		jsonout_texts(object, "tags", s->tags);
		jsonout_texts(object, "excludes", s->excludes);
		if (h->path) {
			json_row(object, row);
		} else {
			jsonout_number(object, "files", s->files);
			jsonout_number(object, "bytes", s->bytes);
		}
		jsonout_add(array, object);
	}
	jsonstream_print_list("guard.log/1", "snapshots", array);
}
