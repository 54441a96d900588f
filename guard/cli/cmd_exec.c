#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "base/path.h"
#include "guard/acp/acp_filter.h"
#include "guard/agent/agent.h"
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

struct exec_command {
	const struct options *o;
	const char *run; /* NULL: the newest that waits */
	const char *const *env;
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

static int exec_in_live_run(const struct state *state, const struct session *s,
			    const struct exec_command *v, const char *cwd,
			    int *ret_status, struct err *err)
{
	bool terminal = isatty(0) || isatty(1) || isatty(2);
	char **env = sandbox_environ_exec(v->env, terminal);
	char **filter = NULL;
	struct sandbox *sb = NULL;
	/* With the run's pid 1 the kernel kills all its processes. */
	struct sandbox_result result = {.end = SANDBOX_LOST, .code = SIGKILL};
	int got;

	if (agent_talks_acp(state, v->argv, run_saved_options_has(s, "--acp")))
		filter = acp_filter_argv(acp_filter_nested_name, v->argv);
	got = exec_client_start(
		s->fd,
		&(struct exec_request){
			.argv = filter ?: v->argv,
			.own_program = filter != NULL,
			.env = env,
			.cwd = cwd,
			.strict = run_saved_options_has(s, "--strict"),
			.on_wait = report_waiting,
		},
		&sb, err);

	sandbox_environ_free(env);
	mem_list_free(&filter);
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
static int try_exec_in_run(const struct exec_command *v, int *ret_status,
			   struct err *err)
{
	AUTO(context) struct context c = CONTEXT_NONE;
	AUTO(session) struct session s = SESSION_NONE;
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
	cwd = find_exec_cwd(&s, v->o->dir);
	if (resolve_run_is_running(&s)) {
		state_log(&c.state, "exec", "run", s.id, "project", s.project,
			  "command", v->argv[0], NULL);
		return exec_in_live_run(&c.state, &s, v, cwd, ret_status, err);
	}
	*ret_status = run_exec(&s, &(struct run_exec){
					   .argv = v->argv,
					   .env = v->env,
					   .cwd = cwd,
				   });
	cmd_backup_start();
	autoprune_start();
	return 0;
}

/* ---- the command line ---- */

/* [RUN] [--] CMD: behind a "--" at once there is no RUN. */
static void split_operands(struct exec_command *v)
{
	const struct options *o = v->o;
	char *const *at = o->operands;

	if (*at && (o->shell || o->count != o->dashed))
		v->run = *at++;
	if (v->run && *at && strcmp(*at, "--") == 0)
		at++;
	v->argv = o->shell ? shell_argv : at;
}

static int exec_all_runs(const struct exec_command *v)
{
	const char *dir = v->o->dir;
	auto_free char *here = getcwd(NULL, 0);

	return exec_all(
		&(struct run_exec){
			.argv = v->argv,
			.env = v->env,
			.cwd = dir && dir[0] == '/' ? dir : here,
		},
		v->run, v->o->json);
}

int cmd_exec(const struct options *o, struct context *c, struct err *err)
{
	static const char *const none[] = {NULL};
	struct exec_command v = {
		.o = o,
		.env = o->env ? (const char *const *)o->env : none,
	};
	unsigned int left = ENDING_TRIES;
	int status = RUN_STATUS_GUARD, got;

	(void)c;
	split_operands(&v);
	if (!*v.argv || (o->shell && o->count > (v.run != NULL))) {
		options_usage_error(o, o->shell
					       ? "expected at most one RUN"
					       : "no command given: guard exec "
						 "RUN -- COMMAND [ARGS...]");
		return RUN_STATUS_GUARD;
	}
	if (run_parse_env(o->env, err) < 0)
		return -err->num;
	/* The reader of stderr may be gone. */
	(void)signal(SIGPIPE, SIG_IGN);
	if (o->all)
		return exec_all_runs(&v);
	/* A run whose guard process was killed looks live until the kernel
	 * releases its lock; after that it is an interrupted run, and
	 * continues. */
	while ((got = try_exec_in_run(&v, &status, err)) == -ESRCH && left--)
		(void)poll(NULL, 0, ENDING_MS);
	if (got < 0)
		output_error(err);
	return status;
}
