#include <stdio.h>

#include "base/auto.h"
#include "guard/agent_show.h"
#include "guard/jsonout.h"
#include "guard/output.h"

/* Behind a run's end; `guard diff` has them all. */
#define SAID_MOST 20

/* "M .claude/x" as a line of a list. */
static void add_line(struct buf *to, const char *change)
{
	buf_printf(to, "  %c  ~/", change[0]);
	output_name(to, change[0] && change[1] ? change + 2 : "");
}

size_t agent_show_count(const struct session *s)
{
	size_t n = 0;

	while (record_get_nth(&s->more, AGENT_CODE, n))
		n++;
	return n;
}

void agent_show_end(const struct session *s)
{
	const char *name = record_get(&s->more, AGENT_NAME);
	size_t count = agent_show_count(s), i;

	if (!count || !name)
		return;
	output_warn("what the next session of %s obeys or executes was "
		    "changed in its home (`guard agents --reset %s` begins "
		    "anew):",
		    name, name);
	for (i = 0; i < count && i < SAID_MOST; i++) {
		AUTO(buf) struct buf line = {0};

		add_line(&line, record_get_nth(&s->more, AGENT_CODE, i));
		(void)fprintf(stderr, "%s\n", buf_text(&line));
	}
	if (count > SAID_MOST)
		(void)fprintf(stderr, "  and %zu more\n", count - SAID_MOST);
}

void agent_show_list(const struct session *s)
{
	const char *name = record_get(&s->more, AGENT_NAME);
	size_t count = agent_show_count(s), i;

	if (!count || !name)
		return;
	(void)printf("\n%sChanged in the home of %s, for its next session%s\n",
		     output_style(STYLE_BOLD), name, output_style(STYLE_NONE));
	for (i = 0; i < count; i++) {
		AUTO(buf) struct buf line = {0};

		add_line(&line, record_get_nth(&s->more, AGENT_CODE, i));
		(void)printf("%s\n", buf_text(&line));
	}
	(void)printf("     it is there already, whatever becomes of the run; "
		     "guard agents --reset %s begins anew\n",
		     name);
}

json_t *agent_show_json(const struct session *s)
{
	const char *name = record_get(&s->more, AGENT_NAME);
	json_t *object = json_object(), *list = json_array();
	size_t count = agent_show_count(s), i;

	if (name)
		jsonout_text(object, "name", name);
	for (i = 0; i < count; i++) {
		const char *change = record_get_nth(&s->more, AGENT_CODE, i);
		auto_free char *kind = mem_strndup(change, 1);
		auto_free char *path = mem_printf(
			"~/%s", *change && change[1] ? change + 2 : "");
		json_t *one = json_object();

		jsonout_text(one, "kind", kind);
		jsonout_text(one, "path", path);
		(void)json_array_append_new(list, one);
	}
	(void)json_object_set_new(object, "code", list);
	return object;
}
