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
		      bool json, struct err *err)
{
	json_auto_t *list = json ? json_array() : NULL;

	if (run_explain(options, paths,
			json ? explain_as_json : explain_as_text, list,
			err) < 0)
		return -err->num;
	if (json)
		jsonstream_print(TAKE(list));
	return STATUS_OK;
}

/* The options of a run in front of paths. */
int cmd_explain(const struct options *o, struct context *c, struct err *err)
{
	struct parsed p = {0};
	int got;

	(void)c;
	if (!o->hidden && !o->count)
		return options_usage_error(
			o, "no PATH given; --hidden lists all masked paths");
	if (run_parse(&p, o, err) < 0) {
		output_error(err);
		got = STATUS_USAGE;
	} else {
		/* The operands are paths, not a command that names an agent. */
		if (!p.options.agent)
			p.options.agent = AGENT_NONE;
		got = cmd_explain_paths(&p.options,
					o->hidden ? NULL : o->operands, o->json,
					err);
	}
	parsed_free(&p);
	return got;
}
