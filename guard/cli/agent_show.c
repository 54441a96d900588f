#include "guard/cli/agent_show.h"

#include <string.h>

#include "base/auto.h"
#include "base/text.h"
#include "base/vec.h"
#include "guard/agent/home_versions.h"
#include "guard/cli/jsonout.h"
#include "guard/cli/output.h"

/* Behind a run's end; `guard diff` has them all. */
#define SAID_MOST 12
/* ".codex/skills": as far down more than that many are told apart. */
#define PARTS_SHOWN 2

/* "M .claude/x" as a line of a list. dir: printed before the path. */
static void print_code_change(const char *dir, const char *change,
			      struct styled *to)
{
	AUTO(buf) struct buf name = {0};

	styled_name(&name, dir, change[0] && change[1] ? change + 2 : "");
	styled_line(to, LINE_ROW, "  %c  %s", change[0], buf_text(&name));
}

/* All "M PATH" of a run with this key, possibly many; free the list, not its
 * texts. */
static const char **list_code_changes(const struct session *s, const char *key,
				      size_t *ret_count)
{
	VEC(const char *) list = {0};
	size_t i;

	for (i = 0; i < s->more.count; i++)
		if (strcmp(s->more.items[i].key, key) == 0)
			*VEC_ADD(&list) = s->more.items[i].value;
	*ret_count = list.count;
	return list.items;
}

/* The list is sorted: entries of one directory are adjacent. */
static void print_changed_dirs(const char *prefix, const char *const *changes,
			       size_t count)
{
	size_t i, next, rows = 0;

	for (i = 0; i < count && rows++ < SAID_MOST; i = next) {
		const char *path = changes[i] + 2;
		size_t len = 0, parts = PARTS_SHOWN;
		auto_free char *dir = NULL;
		AUTO(buf) struct buf name = {0};

		while (path[len] && (path[len] != '/' || --parts))
			len++;
		for (next = i + 1; next < count; next++)
			if (strncmp(changes[next] + 2, path, len + 1) != 0)
				break;
		dir = mem_strndup(path, len);
		styled_name(&name, prefix, dir);
		if (path[len])
			buf_printf(&name, "/: %s",
				   text_count(next - i, "change"));
		styled_line(styled_err(), LINE_ROW, "  %s", buf_text(&name));
	}
	if (i < count)
		output_hint("and %s (guard diff)",
			    text_count(count - i, "other change"));
}

static void print_changes_end(const struct session *s, const char *key,
			      const char *prefix, const char *warning)
{
	size_t count, i;
	auto_free const char **changes = list_code_changes(s, key, &count);

	if (!count)
		return;
	output_warn("%s:", warning);
	if (count > SAID_MOST) {
		print_changed_dirs(prefix, changes, count);
		return;
	}
	for (i = 0; i < count; i++)
		print_code_change(prefix, changes[i], styled_err());
}

/* One dim line: "~/.x/a, and 2 more". */
static void print_note_end(const struct session *s, const char *key,
			   const char *prefix, const char *description)
{
	size_t count;
	auto_free const char **items = list_code_changes(s, key, &count);
	AUTO(buf) struct buf name = {0};

	if (!count)
		return;
	text_escape_name(&name, items[0] + 2);
	if (count > 1)
		buf_printf(&name, ", and %zu more", count - 1);
	output_hint("%s%s: %s", prefix, buf_text(&name), description);
}

void agent_show_end(const struct session *s)
{
	const char *name = record_get(&s->more, AGENT_NAME) ?: "";

	print_changes_end(
		s, AGENT_CODE, "~/",
		text_printf("configuration or code for the next session of %s "
			    "was changed in its home (`guard agents %s --undo` "
			    "restores it)",
			    name, name));
	print_changes_end(s, AGENT_COMMAND, "",
			  text_printf("the settings of %s name files that the "
				      "run changed, so that its next session "
				      "may execute them",
				      name));
	print_note_end(s, AGENT_UNKNOWN, "~/",
		       text_printf("data of %s that guard does not know, in "
				   "its home",
				   name));
	print_note_end(s, AGENT_LOG, "",
		       "written by a hook of yours, left out");
}

/* title: with the agent's name. */
static void print_list(const struct session *s, const char *key,
		       const char *dir, const char *title, const char *note,
		       struct styled *to)
{
	size_t count, i;
	auto_free const char **changes = list_code_changes(s, key, &count);

	if (!count)
		return;
	styled_line(to, LINE_TITLE, "%s", title);
	for (i = 0; i < count; i++)
		print_code_change(dir, changes[i], to);
	if (note)
		styled_line(to, LINE_NOTE, "     %s", note);
}

void agent_show_list(const struct session *s, struct styled *to)
{
	const bool own = record_get(&s->more, AGENT_BEFORE);
	const char *name = record_get(&s->more, AGENT_NAME) ?: "";
	/* --share-login: discard leaves the user's own directories alone. */
	auto_free char *back =
		mem_printf("these changes are already in effect; guard agents "
			   "%s --undo takes them back",
			   name);

	print_list(
		s, AGENT_CODE, "~/",
		text_printf("Changed in the home of %s, for its next session",
			    name),
		own ? "these changes are already in effect; guard discard "
		      "takes them back"
		    : back,
		to);
	print_list(
		s, AGENT_UNKNOWN, "~/",
		text_printf("Data of %s that guard does not know, in its home",
			    name),
		NULL, to);
	print_list(
		s, AGENT_COMMAND, "",
		text_printf("Named by the settings of %s, whose next session "
			    "may execute them",
			    name),
		NULL, to);
}

/* {"kind": "M", "path": "~/.x"} of each change. */
static json_t *changes_json(const struct session *s, const char *key,
			    const char *dir)
{
	json_t *list = json_array();
	size_t count, i;
	auto_free const char **changes = list_code_changes(s, key, &count);

	for (i = 0; i < count; i++) {
		const char *change = changes[i];
		auto_free char *kind = mem_strndup(change, 1);
		auto_free char *path = mem_printf(
			"%s%s", dir, *change && change[1] ? change + 2 : "");
		json_t *one = json_object();

		jsonout_text(one, "kind", kind);
		jsonout_text(one, "path", path);
		jsonout_add(list, one);
	}
	return list;
}

json_t *agent_show_json(const struct session *s)
{
	const char *name = record_get(&s->more, AGENT_NAME);
	json_t *object = json_object();

	if (name)
		jsonout_text(object, "name", name);
	jsonout_set(object, "code", changes_json(s, AGENT_CODE, "~/"));
	jsonout_set(object, "unknown", changes_json(s, AGENT_UNKNOWN, "~/"));
	jsonout_set(object, "commands", changes_json(s, AGENT_COMMAND, ""));
	return object;
}
