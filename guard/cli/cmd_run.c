#include "guard/agent/agent.h"
#include "guard/cli/agent_show.h"
#include "guard/cli/commands.h"
#include "guard/retention/autoprune.h"
#include "guard/cli/run_parse.h"

static const struct run_ui ui = {
	.changes = output_run_summary,
	.agent_changes = agent_show_end,
};

int cmd_run(int argc, char **argv)
{
	struct parsed p = {0};
	struct err err;
	int status, got;

	got = run_parse(&p, options_verb("run"), argc, argv, &err);
	if (got == 0 && !p.why.count && !*p.options.argv)
		got = fail(&err, EINVAL,
			   "no command given: guard run [options] -- COMMAND "
			   "[ARGS...]");
	if (got < 0 && err.text[0])
		output_error(&err);
	output_quiet(p.options.quiet);
	if (got)
		status = got < 0 ? RUN_STATUS_GUARD : STATUS_OK;
	else if (p.why.count)
		status = cmd_explain_paths(
			&p.options, (char *const *)(void *)p.why.items, p.json);
	else
		status = run_command(&p.options, &ui);
	/* A state that was refused is not made for that, either. */
	if (!got && !p.why.count && status != RUN_STATUS_GUARD)
		autoprune_start();
	parsed_free(&p);
	return status;
}

/* A variable of the run whose value is not recorded. */
static void report_unset_variable(const char *option, const char *const *env)
{
	static const char prefix[] = "--env=";
	const char *name;
	size_t len;

	if (strncmp(option, prefix, strlen(prefix)) != 0)
		return;
	name = option + strlen(prefix);
	len = strlen(name);
	if (getenv(name))
		return;
	for (; *env; env++)
		if (strncmp(*env, name, len) == 0 && (*env)[len] == '=')
			return;
	output_print("%s had a value in the run, which guard does not store: "
		     "use --env %s=VALUE",
		     text_quote(name), name);
}

/* "run OPTIONS... -- COMMAND", as the run was begun. */
static int make_exec_argv(const struct session *s, const struct run_exec *v,
			  char ***ret, struct err *err)
{
	char **options = NULL, **list = NULL;
	const char *const *env;
	char *const *at;

	if (run_saved_options_load(s, &options, err) < 0)
		return -err->num;
	mem_list_add(&list, "run");
	for (at = options; at && *at; at++) {
		report_unset_variable(*at, v->env);
		mem_list_add(&list, *at);
	}
	mem_list_free(&options);
	for (env = v->env; *env; env++) {
		mem_list_add(&list, "--env");
		mem_list_add(&list, *env);
	}
	mem_list_add(&list, "--");
	for (at = v->argv; *at; at++)
		mem_list_add(&list, *at);
	*ret = list;
	return 0;
}

int run_exec(const struct session *s, const struct run_exec *v)
{
	struct parsed p = {0};
	char **argv = NULL;
	int status = RUN_STATUS_GUARD;
	struct err err;
	int got = make_exec_argv(s, v, &argv, &err), argc = 0;

	optind = 0; /* a new argument list for getopt */
	while (got == 0 && argv[argc])
		argc++;
	if (got == 0)
		got = run_parse(&p, options_verb("run"), argc, argv, &err);
	if (got == 0) {
		p.options.resume = true;
		p.options.resume_id = s->id;
		p.options.exec_project = s->project;
		p.options.exec_cwd = v->cwd;
		/* The profile of the run's agent, whatever command is started
		 * now. */
		if (!p.options.agent)
			p.options.agent = record_get(&s->more, AGENT_NAME);
		if (!p.options.agent)
			p.options.agent = AGENT_NONE;
		p.options.quiet = output_is_quiet();
		status = run_command(&p.options, &ui);
	} else if (err.text[0]) {
		output_error(&err);
	}
	parsed_free(&p);
	mem_list_free(&argv);
	return status;
}
