#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include "guard/change/user_rules.h"
#include "guard/cli/commands.h"
#include "guard/cli/report_sink.h"
#include "guard/parse/parse_worker.h"
#include "guard/sandbox/inherited_state.h"

#ifndef GUARD_VERSION
#define GUARD_VERSION "unknown"
#endif

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
	bool judges; /* changes by risk rules, also those of the user */
} commands[] = {
	{"run", cmd_run, .judges = true},
	{"exec", cmd_exec, .judges = true},
	{"shell", cmd_shell},
	{"status", cmd_status, .judges = true},
	{"diff", cmd_diff, .judges = true},
	{"review", cmd_review, .judges = true},
	{"apply", cmd_apply, .judges = true},
	{"discard", cmd_discard},
	{"import", cmd_import},
	{"undo", cmd_undo},
	{"redo", cmd_redo},
	{"snapshot", cmd_snapshot},
	{"log", cmd_log},
	{"ls", cmd_ls},
	{"show", cmd_show},
	{"restore", cmd_restore},
	{"verify", cmd_verify},
	{"prune", cmd_prune},
	{"undelete", cmd_undelete},
	{"du", cmd_du},
	{"find", cmd_find},
	{"grep", cmd_grep},
	{"purge", cmd_purge},
	{"pin", cmd_pin},
	{"unpin", cmd_unpin},
	{"patch", cmd_patch},
	{"export", cmd_export},
	{"repair", cmd_repair},
	{"doctor", cmd_doctor},
	{"explain", cmd_explain},
	{"agents", cmd_agents},
	{"stop", cmd_stop},
	{"shell-init", cmd_shell_init},
};

static int report_unknown_verb(const char *name)
{
	const struct verb *near = options_near_verb(name);

	(void)fprintf(output_stderr(), "guard: no such verb: %s\n",
		      text_quote(name));
	if (near)
		(void)fprintf(output_stderr(),
			      "guard: did you mean `guard %s`?\n", near->name);
	else
		(void)fprintf(output_stderr(), "guard: see `guard --help`\n");
	return STATUS_USAGE;
}

static int print_help_of(const char *name)
{
	const struct verb *verb = name ? options_verb(name) : NULL;
	bool all =
		name && (strcmp(name, "-a") == 0 || strcmp(name, "--all") == 0);

	if (name && !verb && !all)
		return report_unknown_verb(name);
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
static int failure_status(const char *verb)
{
	if (verb && (strcmp(verb, "run") == 0 || strcmp(verb, "exec") == 0 ||
		     strcmp(verb, "shell") == 0))
		return RUN_STATUS_GUARD;
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
	struct err err;
	size_t i;
	int status;

	(void)mallopt(M_MMAP_THRESHOLD, MOVED_LEN);
	(void)mallopt(M_TRIM_THRESHOLD, 2 * MOVED_LEN);
	(void)mallopt(M_TOP_PAD, 256 << 10);

	report_sink_install();
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
			at += 2;
		} else if (strcmp(argv[at], "--help") == 0 ||
			   strcmp(argv[at], "-h") == 0) {
			return print_help_of(argv[at + 1]);
		} else if (strcmp(argv[at], "--version") == 0 ||
			   strcmp(argv[at], "-v") == 0) {
			return print_version();
		} else {
			(void)fprintf(
				output_stderr(),
				"guard: no such option before the verb: %s\n"
				"guard: see `guard --help`\n",
				text_quote(argv[at]));
			return STATUS_USAGE;
		}
	}
	if (at == argc) {
		options_help(output_stderr(), false);
		return STATUS_USAGE;
	}
	if (strcmp(argv[at], "version") == 0)
		return print_version();
	if (strcmp(argv[at], "help") == 0)
		return print_help_of(argv[at + 1]);
	verb = options_verb(argv[at]);
	if (!verb)
		return report_unknown_verb(argv[at]);
	for (i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (strcmp(commands[i].name, verb->name) != 0)
			continue;
		if (commands[i].judges && user_rules_load(&err) < 0) {
			output_error(&err);
			return failure_status(verb->name);
		}
		status = commands[i].run(argc - at, argv + at);
		output_pager_end();
		return status;
	}
	return report_unknown_verb(argv[at]);
}
