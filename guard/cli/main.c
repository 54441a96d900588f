#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include "guard/change/user_rules.h"
#include "guard/cli/commands.h"
#include "guard/cli/report_sink.h"
#include "guard/parse/parse_worker.h"
#include "guard/sandbox/inherited_state.h"
#include "guard/state/moved_project.h"
#include "overlay/session_list.h"

#ifndef GUARD_VERSION
#define GUARD_VERSION "unknown"
#endif

/* In the order of options_verbs[]. Each returns the exit status, or a negative
 * errno. */
static int (*const functions[])(const struct options *o, struct context *c,
				struct err *err) = {
#include <guard_calls.h>
};

static bool is_verb(const char *name)
{
	return options_verb(name) != NULL;
}

static int print_help_of(char **names)
{
	const char *name = names[0];
	const struct verb *verb = name ? options_verb(name) : NULL;
	bool all =
		name && (strcmp(name, "-a") == 0 || strcmp(name, "--all") == 0);

	if (name && !verb && !all)
		return options_unknown_verb(names);
	if (verb)
		options_help_verb(verb);
	else
		options_help(stdout, all);
	return output_finish() ? STATUS_OK : STATUS_REFUSED;
}

static int print_version(void)
{
	(void)printf("guard %s\n", GUARD_VERSION);
	return output_finish() ? STATUS_OK : STATUS_REFUSED;
}

/* Stack for a deep directory, an error and its context. */
#define STACK_LEAST (128U << 10)

/* guard failed before it did anything. */
static int failure_status(const char *name)
{
	const struct verb *verb = name ? options_verb(name) : NULL;

	return verb && verb->fails ? verb->fails : STATUS_USAGE;
}

/* For verbs of paths, which know no project: the user may be in a renamed one.
 */
static void find_moved_project(const struct state *st)
{
	struct err ignored;
	auto_free char *project =
		state_project(st, NULL, PROJECT_FIND, &ignored);

	if (project)
		moved_project_find(st, project);
}

static int call_verb(const struct options *o, struct err *err)
{
	AUTO(context) struct context c = CONTEXT_NONE;
	const struct verb *verb = o->verb;

	if (verb->opens != OPENS_NOTHING &&
	    context_open(&c, verb->opens == OPENS_PROJECT, err) < 0)
		return -err->num;
	if (verb->opens == OPENS_STATE)
		find_moved_project(&c.state);
	return functions[verb - options_verbs](o, &c, err);
}

/* Whether the call does something in a run, too: `run` executes its command,
 * `mark` marks the run, and `shell-init` must not stop a shell's start. */
static bool works_inside(const struct verb *verb, char **argv)
{
	for (; *argv && strcmp(*argv, "--") != 0; argv++)
		if (strcmp(*argv, "--help") == 0 || strcmp(*argv, "-h") == 0)
			return true;
	return strcmp(verb->name, "run") == 0 ||
	       strcmp(verb->name, "mark") == 0 ||
	       strcmp(verb->name, "shell-init") == 0;
}

static int run_verb(const struct verb *verb, int argc, char **argv)
{
	struct options o;
	struct err err;
	int status = failure_status(verb->name);

	if (!works_inside(verb, argv) && state_check_outside(&err) < 0) {
		output_error(&err);
		return STATUS_REFUSED;
	}
	switch (options_parse(verb, argc, argv, &o)) {
	case OPTIONS_HELP:
		status = STATUS_OK;
		break;
	case OPTIONS_BAD:
		break;
	case OPTIONS_OK:
		if (verb->judges && user_rules_load(&err) < 0) {
			output_error(&err);
			break;
		}
		status = call_verb(&o, &err);
		if (status < 0)
			output_error(&err);
		/* An output that could not be written is an error of the verb.
		 * EDOM is of time_spec_parse(). */
		if (status < 0 || !output_finish())
			status = verb->fails
					 ?: status == -EDOM ? STATUS_USAGE
							    : STATUS_REFUSED;
	}
	options_free(&o);
	output_pager_end();
	return status;
}

/* guard alone: the state of the project if a run is pending there. */
static int run_without_verb(void)
{
	AUTO(context) struct context c = CONTEXT_NONE;
	AUTO(session_list) struct session_list list = {0};
	char status[] = "status", *argv[] = {status, NULL};
	struct err ignored;

	if (state_exists() && context_open(&c, true, &ignored) == 0 &&
	    session_list_pending(c.state.runs_fd, c.project, &list, &ignored) ==
		    0 &&
	    list.count)
		return run_verb(options_verb(status), 1, argv);
	options_help(output_stderr(), false);
	return STATUS_USAGE;
}

/* An array that grows for long moves by its pages then, and leaves no holes
 * of its former sizes behind: a tenth of the memory of a first snapshot. */
#define MOVED_LEN (2 << 20)

int main(int argc, char **argv)
{
	int at = 1;
	struct rlimit stack;
	const struct verb *verb;

	(void)mallopt(M_MMAP_THRESHOLD, MOVED_LEN);
	(void)mallopt(M_TRIM_THRESHOLD, 2 * MOVED_LEN);
	(void)mallopt(M_TOP_PAD, 256 << 10);

	report_sink_install();
	output_verbs(is_verb);
	parse_worker_install();
	if (inherited_state_save() < 0)
		return STATUS_REFUSED;
	if (getrlimit(RLIMIT_STACK, &stack) == 0 &&
	    stack.rlim_cur < STACK_LEAST) {
		(void)fprintf(output_stderr(),
			      "guard: the stack limit is too small: "
			      "run ulimit -s 128 or more\n");
		return failure_status(argv[1]);
	}
	while (at < argc && argv[at][0] == '-') {
		if (strcmp(argv[at], "-C") == 0 && !argv[at + 1]) {
			(void)fprintf(output_stderr(),
				      "guard: -C needs a directory\n");
			return STATUS_USAGE;
		}
		if (strcmp(argv[at], "-C") == 0) {
			if (chdir(argv[at + 1]) < 0) {
				(void)fprintf(output_stderr(),
					      "guard: -C %s: %m\n",
					      text_quote(argv[at + 1]));
				return failure_status(argv[at + 2]);
			}
			output_commands_in(argv[at + 1]);
			at += 2;
		} else if (strcmp(argv[at], "--help") == 0 ||
			   strcmp(argv[at], "-h") == 0) {
			return print_help_of(argv + at + 1);
		} else if (strcmp(argv[at], "--version") == 0 ||
			   strcmp(argv[at], "-v") == 0) {
			return print_version();
		} else {
			return options_before_verb(argv + at);
		}
	}
	if (at == argc)
		return run_without_verb();
	if (strcmp(argv[at], "version") == 0)
		return print_version();
	if (strcmp(argv[at], "help") == 0)
		return print_help_of(argv + at + 1);
	verb = options_verb(argv[at]);
	if (!verb)
		return options_unknown_verb(argv + at);
	return run_verb(verb, argc - at, argv + at);
}
