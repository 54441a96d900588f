#include <unistd.h>

#include "guard/agent/agent.h"
#include "guard/cli/commands.h"
#include "guard/cli/run_parse.h"
#include "guard/run/run_explain.h"

static void explain_as_text(void *arg, const char *path,
			    const struct path_view *v, const char *text,
			    const char *rule)
{
	(void)arg;
	(void)rule;
	(void)printf("%s: %s%s\n", text_quote(path),
		     v->exists ? "" : "no such file; ", text);
}

static void explain_as_json(void *arg, const char *path,
			    const struct path_view *v, const char *text,
			    const char *rule)
{
	static const char *const sights[] = {"read-only", "read-write", "layer",
					     "private", "hidden"};
	json_t *list = arg, *one = json_object();

	(void)text;
	jsonout_text(one, "path", path);
	jsonout_text(one, "real", v->real);
	jsonout_text(one, "sight", sights[v->visibility]);
	jsonout_bool(one, "exists", v->exists);
	jsonout_text(one, "rule", rule);
	jsonout_text(one, "place", v->place);
	jsonout_add(list, one);
}

int cmd_explain_paths(const struct run_options *options, char *const *paths,
		      bool json)
{
	json_t *list = json ? json_array() : NULL;
	struct err err;
	int got = run_explain(options, paths,
			      json ? explain_as_json : explain_as_text, list,
			      &err);

	if (got == 0 && json)
		jsonstream_print(TAKE(list));
	json_decref(list);
	if (got == 0 && !output_finish())
		return STATUS_REFUSED;
	return output_status(got < 0 ? got : STATUS_OK, &err);
}

/* The options of a run in front of paths. */
int cmd_explain(int argc, char **argv)
{
	const struct verb *verb = options_verb("explain");
	struct parsed p = {0};
	struct err err;
	int got = run_parse(&p, verb, argc, argv, &err);

	if (got < 0 && err.text[0])
		output_error(&err);
	/* The operands are paths, not a command that names an agent. */
	if (!p.options.agent)
		p.options.agent = AGENT_NONE;
	if (got)
		got = got < 0 ? STATUS_USAGE : STATUS_OK;
	else if (p.hidden == (*p.options.argv != NULL))
		got = options_usage_error(verb,
					  p.hidden ? "--hidden takes no PATH"
						   : "no PATH given; "
						     "--hidden lists all "
						     "masked paths");
	else
		got = cmd_explain_paths(
			&p.options, p.hidden ? NULL : p.options.argv, p.json);
	parsed_free(&p);
	return got;
}
