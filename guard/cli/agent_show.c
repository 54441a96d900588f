#include "guard/cli/agent_show.h"

#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/text.h"
#include "base/vec.h"
#include "guard/cli/jsonout.h"
#include "guard/cli/output.h"

/* Behind a run's end; `guard diff` has them all. */
#define SAID_MOST 12
/* ".codex/skills": as far down more than that many are told apart. */
#define PARTS_SHOWN 2

/* "M .claude/x" as a line of a list. */
static void print_code_change(FILE *to, const char *change)
{
	AUTO(buf) struct buf name = {0};

	text_escape_name(&name, change[0] && change[1] ? change + 2 : "");
	(void)fprintf(to, "  %c  ~/%s\n", change[0], buf_text(&name));
}

/* All "M PATH" of a run, possibly many; free the list, not its texts. */
static const char **list_code_changes(const struct session *s,
				      size_t *ret_count)
{
	VEC(const char *) list = {0};
	size_t i;

	for (i = 0; i < s->more.count; i++)
		if (strcmp(s->more.items[i].key, AGENT_CODE) == 0)
			*VEC_ADD(&list) = s->more.items[i].value;
	*ret_count = list.count;
	return list.items;
}

/* The list is sorted: entries of one directory are adjacent. */
static void print_changed_dirs(const char *const *changes, size_t count)
{
	size_t i, next;

	for (i = 0; i < count; i = next) {
		const char *path = changes[i] + 2;
		size_t len = 0, parts = PARTS_SHOWN;
		AUTO(buf) struct buf name = {0};

		while (path[len] && (path[len] != '/' || --parts))
			len++;
		for (next = i + 1; next < count; next++)
			if (strncmp(changes[next] + 2, path, len + 1) != 0)
				break;
		text_escape(&name, path, len, false);
		if (path[len])
			(void)fprintf(output_stderr(), "  ~/%s/: %s\n",
				      buf_text(&name),
				      text_count(next - i, "file"));
		else
			(void)fprintf(output_stderr(), "  ~/%s\n",
				      buf_text(&name));
	}
}

void agent_show_end(const struct session *s)
{
	const char *name = record_get(&s->more, AGENT_NAME);
	size_t count, i;
	auto_free const char **changes = list_code_changes(s, &count);

	if (!count || !name)
		return;
	output_warn(
		"configuration or code for the next session of %s was changed "
		"in its home (`guard agents %s --undo` restores it):",
		name, name);
	if (count > SAID_MOST) {
		print_changed_dirs(changes, count);
		return;
	}
	for (i = 0; i < count; i++)
		print_code_change(output_stderr(), changes[i]);
}

void agent_show_list(const struct session *s)
{
	const char *name = record_get(&s->more, AGENT_NAME);
	size_t count, i;
	auto_free const char **changes = list_code_changes(s, &count);

	if (!count || !name)
		return;
	(void)printf("\n%sChanged in the home of %s, for its next session%s\n",
		     output_style(STYLE_BOLD), name, output_style(STYLE_NONE));
	for (i = 0; i < count; i++)
		print_code_change(stdout, changes[i]);
	(void)printf("     these changes are already in effect; guard discard "
		     "takes them back\n");
}

json_t *agent_show_json(const struct session *s)
{
	const char *name = record_get(&s->more, AGENT_NAME);
	json_t *object = json_object(), *list = json_array();
	size_t count, i;
	auto_free const char **changes = list_code_changes(s, &count);

	if (name)
		jsonout_text(object, "name", name);
	for (i = 0; i < count; i++) {
		const char *change = changes[i];
		auto_free char *kind = mem_strndup(change, 1);
		auto_free char *path = mem_printf(
			"~/%s", *change && change[1] ? change + 2 : "");
		json_t *one = json_object();

		jsonout_text(one, "kind", kind);
		jsonout_text(one, "path", path);
		jsonout_add(list, one);
	}
	jsonout_set(object, "code", list);
	return object;
}
