#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/inside.h"
#include "base/path.h"
#include "guard/acp/acp_filter.h"
#include "guard/agent/agent.h"
#include "guard/cli/agent_show.h"
#include "guard/cli/commands.h"
#include "guard/retention/autoprune.h"
#include "guard/cli/run_parse.h"
#include "guard/sandbox/freezer.h"
#include "guard/sandbox/inherited_state.h"
#include "guard/sandbox/parser.h"
#include "guard/state/unstored.h"

/* ---- signals after the end of the command ---- */

/* For the rest of the summary, or a message, after a signal: a reader may have
 * stopped. */
#define PRINT_SECONDS 1

/* Between two looks whether another terminal has continued a paused run. */
#define ANSWER_MS 100

static const int ending[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

/* The texts are complete before the first signal: the handler may only call
 * write(2) and _exit(2). The layer, the store and the records stay valid when
 * the process ends at any point. */
static struct {
	bool on;
	pid_t self; /* a forked process has the handler, too */
	int status;
	volatile sig_atomic_t interrupts, ending;
	char *first, *stopped;
	struct sigaction before[ARRAY_SIZE(ending)];
} count;

/* A second Ctrl-C is often meant for a command that has just ended. */
static void stop_count(int sig)
{
	bool first = sig == SIGINT && !count.interrupts;
	const char *text = first ? count.first : count.stopped;

	count.interrupts = 1;
	if (getpid() != count.self)
		_exit(128 + sig);
	(void)alarm(PRINT_SECONDS);
	(void)!write(STDERR_FILENO, text, strlen(text));
	if (!first)
		_exit(count.status);
	(void)alarm(0);
}

/* The summary names the run, and is complete soon. */
static void stop_summary(int sig)
{
	if (getpid() != count.self)
		_exit(128 + sig);
	if (!count.ending)
		(void)alarm(PRINT_SECONDS);
	count.ending = 1;
}

static void stop_printing(int sig)
{
	_exit(getpid() == count.self ? count.status : 128 + sig);
}

static void handle_signals(void (*handler)(int))
{
	struct sigaction late = {.sa_handler = stop_printing};
	struct sigaction stop = {.sa_handler = handler, .sa_flags = SA_RESTART};
	sigset_t set;
	size_t i;

	(void)sigemptyset(&set);
	for (i = 0; i < ARRAY_SIZE(ending); i++)
		(void)sigaddset(&set, ending[i]);
	/* The handlers do not interrupt each other. */
	stop.sa_mask = set;
	(void)sigaddset(&set, SIGALRM);
	for (i = 0; i < ARRAY_SIZE(ending); i++)
		if (count.before[i].sa_handler != SIG_IGN)
			(void)sigaction(ending[i], &stop, NULL);
	(void)sigaction(SIGALRM, &late, NULL);
	(void)sigprocmask(SIG_UNBLOCK, &set, NULL);
}

static void begin_count(const struct session *s, int status)
{
	const char *label = session_label(s);
	size_t i;

	count.self = getpid();
	count.status = status;
	count.interrupts = count.ending = 0;
	count.first = output_is_quiet()
			      ? mem_strdup("")
			      : mem_printf("guard: run %s ended, its changes "
					   "are being counted: Ctrl-C again "
					   "stops the count\n",
					   label);
	count.stopped = output_is_quiet()
				? mem_strdup("")
				: mem_printf("guard: run %s ended; changes not "
					     "counted: guard diff %s\n",
					     label, label);
	for (i = 0; i < ARRAY_SIZE(ending); i++)
		(void)sigaction(ending[i], NULL, &count.before[i]);
	count.on = true;
	handle_signals(stop_count);
}

static void begin_summary(void)
{
	if (count.on)
		handle_signals(stop_summary);
}

static void end_count(void)
{
	sigset_t unused;
	size_t i;

	if (!count.on)
		return;
	context_block_signals(&unused);
	count.on = false;
	(void)alarm(0);
	(void)signal(SIGALRM, SIG_DFL);
	for (i = 0; i < ARRAY_SIZE(ending); i++)
		(void)sigaction(ending[i], &count.before[i], NULL);
	free(count.first);
	free(count.stopped);
}

/* The question is asked once; from then on a line names the way. */
static int ask_store(const char *path, const struct unstored *u)
{
	auto_free char *size = unstored_text(u);
	int yes = -1;

	if (output_is_quiet())
		return -1;
	if (!u->declined)
		yes = output_ask("%s holds %s and is no git repository. Store "
				 "it?",
				 text_quote(path), size);
	if (yes < 0)
		output_print("%s (%s) was not stored: guard snapshot stores it",
			     text_quote(path), size);
	return yes;
}

static void show_changes(const struct session *s, struct changes *c)
{
	output_run_summary(s, c, begin_summary);
}

static void rewind_paused(const struct session *s, const char *moment)
{
	pid_t pid = fork();

	if (pid == 0) {
		(void)execl("/proc/self/exe", "guard", "rewind", "-y", s->id,
			    "--to", moment, NULL);
		_exit(127);
	}
	(void)child_wait(pid);
}

enum alarm_answer {
	ALARM_NONE,
	ALARM_OTHER,
	ALARM_CONTINUE,
	ALARM_REWIND,
	ALARM_END
};

static enum alarm_answer read_alarm_answer(void)
{
	auto_free char *answer =
		output_ask_line("guard: paused: continue, rewind or end? ");

	return !answer				 ? ALARM_NONE
	       : strcmp(answer, "continue") == 0 ? ALARM_CONTINUE
	       : strcmp(answer, "rewind") == 0	 ? ALARM_REWIND
	       : strcmp(answer, "end") == 0	 ? ALARM_END
						 : ALARM_OTHER;
}

/* A process of its own reads the answer: another terminal may continue or end
 * the run meanwhile. */
static enum alarm_answer wait_for_answer(const struct session *s, pid_t init)
{
	pid_t pid = fork();
	int status = 0;

	if (pid == 0)
		_exit((int)read_alarm_answer());
	while (pid > 0 && waitpid(pid, &status, WNOHANG) == 0) {
		if (freezer_is_paused(s->fd) && kill(init, 0) == 0) {
			(void)poll(NULL, 0, ANSWER_MS);
			continue;
		}
		(void)kill(pid, SIGKILL);
		(void)child_wait(pid);
		return ALARM_CONTINUE;
	}
	return pid > 0 && WIFEXITED(status)
		       ? (enum alarm_answer)WEXITSTATUS(status)
		       : ALARM_NONE;
}

/* Asks again after a rewind, and after another answer: a key that was meant for
 * the run decides nothing. */
static void ask_alarm(const struct session *s, pid_t init, const char *moment)
{
	for (;;) {
		switch (wait_for_answer(s, init)) {
		case ALARM_NONE:
			output_print("run %s is paused: guard stop --resume %s "
				     "continues it, guard stop %s ends it",
				     session_label(s), session_label(s),
				     session_label(s));
			return;
		case ALARM_CONTINUE:
			return freezer_continue(s->fd);
		case ALARM_END:
			return (void)kill(init, SIGKILL);
		case ALARM_REWIND:
			rewind_paused(s, moment);
			break;
		case ALARM_OTHER:
		default:
			break;
		}
	}
}

static const struct run_ui ui = {
	.changes = show_changes,
	.agent_changes = agent_show_end,
	.count_begin = begin_count,
	.summary_begin = begin_summary,
	.count_end = end_count,
	.ask_store = ask_store,
	.ask_alarm = ask_alarm,
};

/* ---- guard run, guard exec ---- */

/* In a run, `guard run -- CMD` is CMD. Options that would change what the
 * command may do are refused: the sandbox around it is final. */
static int exec_inside(const struct options *o, struct err *err)
{
	static const char *const harmless[] = {
		"acp",	    "env",  "agent", "shared-cache",
		"versions", "name", "quiet", NULL};
	const struct state here = {.home = getenv("HOME")};
	const char *name;
	char **env, **argv = NULL;
	int program = -1, num;
	size_t i;

	for (i = 0; i < o->given_count; i++) {
		name = o->given[i].option->name;
		if (name && !mem_list_has(harmless, name) &&
		    !(o->net == OPTION_NET_HOST && strcmp(name, "net") == 0))
			return fail(err, EPERM,
				    "--%s: this is inside a run%s, whose "
				    "sandbox is final: give the option to the "
				    "`guard run` outside",
				    name, inside_label());
	}
	if (run_parse_env(o->env, err) < 0)
		return -err->num;
	if (o->dir && chdir(o->dir) < 0)
		return fail_errno(err, "-C %s", text_quote(o->dir));
	for (env = o->env; env && *env; env++)
		if (strchr(*env, '='))
			(void)putenv(*env);
	output_print("inside a run%s already: the command starts in its "
		     "sandbox",
		     inside_label());
	if (o->acp || agent_talks_acp(&here, o->operands, false)) {
		program = parser_open_program();
		argv = acp_filter_argv(acp_filter_nested_name, o->operands);
	}
	inherited_state_restore(inherited_state_get());
	if (argv)
		(void)execveat(program, "", argv, environ, AT_EMPTY_PATH);
	else
		(void)execvp(o->operands[0], o->operands);
	num = errno;
	/* A directory of PATH may not be searched. */
	if (num == EACCES && !strchr(o->operands[0], '/') &&
	    !path_has_program(o->operands[0]))
		num = ENOENT;
	(void)fail_num(err, num, "run %s", text_quote(o->operands[0]));
	output_error(err);
	return num == ENOENT ? RUN_STATUS_NOT_FOUND : RUN_STATUS_NO_EXEC;
}

int cmd_run(const struct options *o, struct context *c, struct err *err)
{
	struct parsed p = {0};
	int got = run_parse(&p, o, err);

	(void)c;
	if (got == 0 && !o->why && !*p.options.argv)
		got = fail(err, EINVAL,
			   "no command given: guard run [options] -- COMMAND "
			   "[ARGS...]");
	if (got == 0 && inside_run())
		got = exec_inside(o, err);
	else if (got == 0 && o->why)
		got = cmd_explain_paths(&p.options, o->why, false, err);
	else if (got == 0)
		got = run_command(&p.options, &ui);
	/* A state that was refused is not made for that, either. */
	if (got >= 0 && got != RUN_STATUS_GUARD && !o->why) {
		cmd_backup_start();
		autoprune_start();
	}
	parsed_free(&p);
	return got;
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
		if (!v->instead)
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

static int exec_with_options(const struct session *s, const struct run_exec *v,
			     const struct options *o, struct err *err)
{
	static const char *const none[] = {NULL};
	struct parsed p = {0};
	int status = run_parse(&p, o, err);

	if (status == 0) {
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
		if (v->instead) {
			p.options.quiet = true;
			p.options.instead = v->instead;
			p.options.instead_arg = v->instead_arg;
			p.options.net = SANDBOX_NET_NONE;
			p.options.port_count = 0;
		}
		/* A throw-away copy writes to no real directory. */
		if (v->copy_dir) {
			p.options.copy_dir = v->copy_dir;
			p.options.agent = AGENT_NONE;
			p.options.share_login = false;
			p.options.read_write = none;
		}
		status = run_command(&p.options, &ui);
	}
	parsed_free(&p);
	return status;
}

int run_exec(const struct session *s, const struct run_exec *v)
{
	char **argv = NULL;
	int status = RUN_STATUS_GUARD, argc = 0;
	struct options o;
	struct err err;

	if (make_exec_argv(s, v, &argv, &err) < 0) {
		output_error(&err);
		return status;
	}
	while (argv[argc])
		argc++;
	if (options_parse(options_verb("run"), argc, argv, &o) == OPTIONS_OK) {
		status = exec_with_options(s, v, &o, &err);
		if (status < 0) {
			output_error(&err);
			status = RUN_STATUS_GUARD;
		}
	}
	options_free(&o);
	mem_list_free(&argv);
	return status;
}
