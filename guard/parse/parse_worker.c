#include "guard/parse/parse_worker.h"

#include <jansson.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>

#include "guard/parse/parse_table.h"
#include "guard/sandbox/git_process.h"
#include "guard/sandbox/parser.h"
#include "restore/git/git_ops.h"
#include "restore/git/gitrun.h"

#define WITH_GIT "git"
#define WITHOUT_GIT "plain"

static int start_parser(bool git, pid_t *ret_pid, int *ret_fd, struct err *err)
{
	return parser_start(git ? WITH_GIT : WITHOUT_GIT, ret_pid, ret_fd, err);
}

void parse_worker_install(void)
{
	static const struct parse_launcher launcher = {
		.start = start_parser,
		.processor = 60,
		.silence = 15,
	};

	parse_use(&launcher);
	gitrun_use(git_process_confine);
}

/* guard handles the keys of its terminal, and decides when the worker ends. */
static void ignore_terminal(void)
{
	static const int signals[] = {SIGINT,  SIGQUIT, SIGHUP,
				      SIGTSTP, SIGPIPE, SIGTERM};
	sigset_t none;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(signals); i++)
		(void)signal(signals[i], SIG_IGN);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

static int serve_as_worker(const char *word)
{
	struct err err;

	(void)prctl(PR_SET_NAME, PARSER_NAME);
	ignore_terminal();
	/* No file can be opened later. */
	json_object_seed(0);
	if (strcmp(word, WITH_GIT) == 0)
		git_ops_load();
	return parser_lock_down(&err) < 0
		       ? 1
		       : parse_serve(PARSER_SOCKET, parse_table);
}

static void __attribute__((constructor)) become_worker(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[0], PARSER_NAME) == 0)
		_exit(serve_as_worker(argv[1]));
}
