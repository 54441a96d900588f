#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "base/path.h"
#include "guard/cli/commands.h"
#include "guard/cli/exec_all.h"
#include "guard/cli/run_parse.h"
#include "guard/retention/autoprune.h"
#include "guard/change/resolve_run.h"
#include "guard/run/run.h"

/* The user's shell where the run has it. */
static char shell_text[] = "[ -x \"$SHELL\" ] && exec \"$SHELL\"; exec /bin/sh";
static char shell_name[] = "/bin/sh", shell_option[] = "-c";
static char *const shell_argv[] = {shell_name, shell_option, shell_text, NULL};

struct exec_options {
	const char *run; /* NULL: the newest that waits */
	const char *dir;
	char **env; /* NULL: none */
	char *const *argv;
};

/* For a run that is ending. */
#define ENDING_TRIES 40u
#define ENDING_MS 50

/* ---- a live run ---- */

static void report_waiting(void)
{
	output_print("the run does not answer yet: another guard process reads "
		     "its layer, or the run is stopped");
}

static int exec_in_live_run(const struct session *s,
			    const struct exec_options *v, const char *cwd,
			    int *ret_status, struct err *err)
{
	bool terminal = isatty(0) || isatty(1) || isatty(2);
	char **env =
		sandbox_environ_exec((const char *const *)v->env, terminal);
	struct sandbox *sb = NULL;
	/* With the run's pid 1 the kernel kills all its processes. */
	struct sandbox_result result = {.end = SANDBOX_LOST, .code = SIGKILL};
	int got = exec_client_start(
		s->fd,
		&(struct exec_request){
			.argv = v->argv,
			.env = env,
			.cwd = cwd,
			.strict = run_saved_options_has(s, "--strict"),
			.on_wait = report_waiting,
		},
		&sb, err);

	sandbox_environ_free(env);
	if (got < 0)
		return err_context(err,
				   err->num == ESRCH
					   ? "run %s"
					   : "run %s cannot be entered",
				   session_label(s));
	if (v->argv == shell_argv)
		output_print(
			"a shell in run %s, which continues: exit leaves it",
			session_label(s));
	got = sandbox_release(sb, err);
	/* The run ended between the command's start and the word of it. */
	if (got == -ECHILD)
		got = 0;
	else if (got < 0)
		*ret_status = got == -ENOENT ? RUN_STATUS_NOT_FOUND
					     : RUN_STATUS_NO_EXEC;
	else
		got = sandbox_wait(sb, NULL, NULL, &result, err);
	run_notices_print_refused(&result);
	sandbox_free(&sb);
	if (got < 0)
		return got;
	*ret_status = run_status_of(&result);
	if (result.end == SANDBOX_LOST)
		output_warn("the command was lost: run %s has ended, or it "
			    "killed or stopped guard's process",
			    session_label(s));
	return 0;
}

/* ---- the run, and the directory in it ---- */

static int find_exec_run(struct context *c, const char *name,
			 struct session *ret, struct err *err)
{
	return resolve_run_text(c, name ?: "latest", false, ret, err);
}

/* The directory as the run names it: -C, else the current one when it is in the
 * project. It may exist only inside the run. NULL: the start directory of the
 * run. */
static char *find_exec_cwd(const struct session *s, const char *dir)
{
	auto_free char *here = getcwd(NULL, 0);

	if (dir && dir[0] == '/')
		return mem_strdup(dir);
	if (dir)
		return here ? path_join(here, dir) : NULL;
	return here && path_below(here, s->project) ? TAKE(here) : NULL;
}

/* -ESRCH: the run has just ended. */
static int try_exec_in_run(const struct exec_options *v, int *ret_status,
			   struct err *err)
{
	AUTO(context) struct context c = CONTEXT_NONE;
	AUTO(session) struct session s = SESSION_NONE;
	static const char *const none[] = {NULL};
	auto_free char *cwd = NULL;

	if (context_open(&c, true, err) < 0 ||
	    find_exec_run(&c, v->run, &s, err) < 0)
		return -err->num;
	if (!run_state_pending(s.state))
		return fail(err, EINVAL,
			    "run %s is %s: its layer can no longer be entered",
			    session_label(&s), run_state_name(s.state));
	if (s.live && !resolve_run_is_running(&s)) {
		auto_free char *holder = session_holders(&s);

		return fail(err, EBUSY,
			    "run %s is in use by %s: try again when it has "
			    "ended",
			    session_label(&s), holder);
	}
	if (s.state == RUN_NEW && s.live)
		return fail(err, EAGAIN, "run %s is still starting: try again",
			    session_label(&s));
	cwd = find_exec_cwd(&s, v->dir);
	if (resolve_run_is_running(&s)) {
		state_log(&c.state, "exec", "run", s.id, "project", s.project,
			  "command", v->argv[0], NULL);
		return exec_in_live_run(&s, v, cwd, ret_status, err);
	}
	*ret_status = run_exec(
		&s, &(struct run_exec){
			    .argv = v->argv,
			    .env = v->env ? (const char *const *)v->env : none,
			    .cwd = cwd,
		    });
	autoprune_start();
	return 0;
}

/* ---- the command line ---- */

static bool add_variable(const struct verb *verb, int id, const char *value,
			 void *to)
{
	(void)id;
	if (!*value || *value == '=') {
		options_usage_error(verb,
				    "--env must be NAME or NAME=VALUE, not %s",
				    text_quote(value));
		return false;
	}
	mem_list_add(to, value);
	return true;
}

/* [RUN] [--] CMD: behind a "--" at once there is no RUN. */
static bool parse_exec_operands(struct exec_options *v, int argc, char **argv,
				int dashed, bool shell)
{
	int left = argc - optind;

	if (left && (shell || left != dashed)) {
		v->run = argv[optind++];
		left--;
		if (left && strcmp(argv[optind], "--") == 0) {
			optind++;
			left--;
		}
	}
	if (shell) {
		v->argv = shell_argv;
		return left == 0;
	}
	v->argv = argv + optind;
	return left > 0;
}

static int exec_all_runs(const struct exec_options *v, bool json)
{
	static const char *const none[] = {NULL};
	auto_free char *here = getcwd(NULL, 0);

	(void)signal(SIGPIPE, SIG_IGN);
	return exec_all(
		&(struct run_exec){
			.argv = v->argv,
			.env = v->env ? (const char *const *)v->env : none,
			.cwd = v->dir && v->dir[0] == '/' ? v->dir : here,
		},
		v->run, json);
}

static int exec_or_shell(const char *name, int argc, char **argv)
{
	const struct verb *verb = options_verb(name);
	bool shell = strcmp(name, "shell") == 0;
	struct exec_options v = {0};
	bool all = false, json = false;
	const struct option_slot slots[] = {
		{'C', .text = &v.dir},
		{OPT_ENV, .read = add_variable, .to = &v.env},
		{'a', .flag = &all},
		{OPT_JSON, .flag = &json},
		{'q', .read = output_quiet_read},
		{0},
	};
	int dashed = options_after_dashes(argc, argv);
	unsigned int left = ENDING_TRIES;
	int status = RUN_STATUS_GUARD;
	struct err err;
	int got = options_parse(verb, argc, argv, slots);

	if (got != OPTIONS_END) {
		status = got == STATUS_USAGE ? RUN_STATUS_GUARD : got;
	} else if (!parse_exec_operands(&v, argc, argv, dashed, shell)) {
		options_usage_error(verb,
				    shell ? "expected at most one RUN"
					  : "no command given: guard exec RUN "
					    "-- COMMAND [ARGS...]");
	} else if (json && !all) {
		options_usage_error(verb, "--json needs --all");
	} else if (all) {
		status = exec_all_runs(&v, json);
	} else {
		/* The reader of stderr may be gone. */
		(void)signal(SIGPIPE, SIG_IGN);
		/* A run whose guard process was killed looks live until the
		 * kernel releases its lock; after that it is an interrupted
		 * run, and continues. */
		while ((got = try_exec_in_run(&v, &status, &err)) == -ESRCH &&
		       left--)
			(void)poll(NULL, 0, ENDING_MS);
		if (got < 0)
			output_error(&err);
	}
	mem_list_free(&v.env);
	return status;
}

int cmd_exec(int argc, char **argv)
{
	return exec_or_shell("exec", argc, argv);
}

int cmd_shell(int argc, char **argv)
{
	return exec_or_shell("shell", argc, argv);
}
