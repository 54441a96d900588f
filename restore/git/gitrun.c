#include "restore/git/gitrun.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/text.h"

#define MEMORY_MAX (4ull << 30)
#define FILE_MAX (64ull << 30)
#define SECONDS_MIN 300
#define SECONDS_MAX 3600
#define BYTES_A_SECOND 100000
#define FILES_MAX 1024
#define MESSAGE_MAX 300
#define NOT_CONFINED 126
#define NOT_STARTED 127

/* Files in the repository that each call writes anew. */
#define INPUT "input"
#define MESSAGES "messages"

/* GIT_DIR is given, so git neither searches for a repository nor asks who owns
 * it. LC_ALL: its messages are not translated. */
#define ENVIRONMENT                                                            \
	"PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C", "GIT_DIR=.",          \
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",        \
		"GIT_ATTR_NOSYSTEM=1", "GIT_NO_REPLACE_OBJECTS=1",             \
		"GIT_NO_LAZY_FETCH=1"

/* The user's objects come first in GITRUN_ALL: a file of the run that has the
 * id of one of them and other bytes is not read. */
static char *const environments[][11] = {
	[GITRUN_RUN] = {ENVIRONMENT, "GIT_OBJECT_DIRECTORY=run"},
	[GITRUN_ALL] = {ENVIRONMENT, "GIT_OBJECT_DIRECTORY=user",
			"GIT_ALTERNATE_OBJECT_DIRECTORIES=run"},
	[GITRUN_CHECKED] = {ENVIRONMENT},
	[GITRUN_RESULT] = {ENVIRONMENT,
			   "GIT_ALTERNATE_OBJECT_DIRECTORIES=user"},
};

static gitrun_confine *confine;

void gitrun_use(gitrun_confine *c)
{
	confine = c;
}

const char *gitrun_program(void)
{
	static const char *const places[] = {"/usr/bin/git",
					     "/usr/local/bin/git", "/bin/git",
					     "/run/current-system/sw/bin/git"};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(places); i++)
		if (access(places[i], X_OK) == 0)
			return places[i];
	return NULL;
}

unsigned int gitrun_seconds(uint64_t bytes)
{
	uint64_t more = bytes / BYTES_A_SECOND;

	return more > SECONDS_MAX - SECONDS_MIN
		       ? SECONDS_MAX
		       : SECONDS_MIN + (unsigned int)more;
}

/* --- the process --- */

static void set_limit(int what, uint64_t max)
{
	struct rlimit r = {max, max}, now;

	/* At the hard limit the kernel sends SIGKILL instead of SIGXCPU, which
	 * says why. */
	if (what == RLIMIT_CPU)
		r.rlim_max++;
	if (getrlimit(what, &now) == 0 && now.rlim_max < r.rlim_max)
		r.rlim_max = now.rlim_max;
	if (r.rlim_cur > r.rlim_max)
		r.rlim_cur = r.rlim_max;
	(void)setrlimit(what, &r);
}

static void __attribute__((noreturn))
execute_git(const struct gitrun *g, const int files[3], const char *program,
	    char *const *arguments, char *const *environment)
{
	int i, null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    fchdir(g->dirfd) < 0)
		_exit(NOT_STARTED);
	for (i = 0; i < 3; i++)
		if (dup2(files[i] < 0 ? null : files[i], i) < 0)
			_exit(NOT_STARTED);
	if (syscall(SYS_close_range, 3u, ~0u, 0u) < 0)
		_exit(NOT_STARTED);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)signal(SIGPIPE, SIG_DFL);
	(void)umask(077);
	set_limit(RLIMIT_CORE, 0);
	set_limit(RLIMIT_CPU, g->used < g->seconds ? g->seconds - g->used : 1);
	set_limit(RLIMIT_FSIZE, g->output_max ?: FILE_MAX);
	set_limit(RLIMIT_NOFILE, FILES_MAX);
	set_limit(RLIMIT_AS, MEMORY_MAX);
	if (g->data_max)
		set_limit(RLIMIT_DATA, g->data_max);
	if (confine(&g->readable) < 0)
		_exit(NOT_CONFINED);
	(void)execve(program, arguments, environment);
	_exit(NOT_STARTED);
}

static int explain_end(const struct gitrun *g, const char *verb, int status,
		       int messages, struct err *err)
{
	char text[MESSAGE_MAX];
	ssize_t len;

	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU)
		return fail(err, ETIMEDOUT,
			    "reading the run's repository took more than %u "
			    "minutes of CPU time: git was stopped",
			    g->seconds / 60);
	if (WIFSIGNALED(status))
		return fail(err, EBADMSG,
			    "git was killed by signal %d while reading the "
			    "run's repository: nothing was imported",
			    WTERMSIG(status));
	if (WEXITSTATUS(status) == NOT_CONFINED)
		return fail(err, ENOTSUP,
			    "git would read the run's objects without a "
			    "sandbox: this needs Landlock (Linux 5.13, "
			    "CONFIG_SECURITY_LANDLOCK, lsm=landlock,...)");
	if (WEXITSTATUS(status) == NOT_STARTED)
		return fail(err, EIO, "cannot start git");
	if (!WEXITSTATUS(status))
		return 0;
	/* The message holds names that the run chose, so it is quoted. */
	len = fd_pread(messages, text, sizeof(text) - 1, 0);
	text[len > 0 ? len : 0] = '\0';
	text[strcspn(text, "\n")] = '\0';
	return fail(err, EBADMSG, "git %s rejected the run's objects: %s", verb,
		    *text ? text_quote(text) : "no reason was given");
}

static int open_new(const struct gitrun *g, const char *name, struct err *err)
{
	int fd = openat(g->dirfd, name,
			O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
			0600);

	return fd < 0 ? fail_errno(err, "create %s", text_quote(name)) : fd;
}

static int start_git(struct gitrun *g, enum gitrun_objects objects,
		     char *const *arguments, const int files[3],
		     struct err *err)
{
	const char *program = gitrun_program();
	char *line[12] = {"git"};
	struct rusage use;
	int status = 0;
	size_t i;
	pid_t pid;

	if (!program)
		return fail(err, ENOENT, "git is not installed");
	if (!confine)
		return fail(err, ENOTSUP, "no sandbox for git is set up");
	for (i = 0; arguments[i] && i + 2 < ARRAY_SIZE(line); i++)
		line[i + 1] = arguments[i];
	pid = fork();
	if (pid < 0)
		return fail_errno(err, "start git");
	if (pid == 0)
		execute_git(g, files, program, line, environments[objects]);
	while (wait4(pid, &status, 0, &use) < 0)
		if (errno != EINTR)
			return fail_errno(err, "wait for git");
	g->used += (unsigned int)(use.ru_utime.tv_sec + use.ru_stime.tv_sec);
	return explain_end(g, arguments[0], status, files[2], err);
}

int gitrun(struct gitrun *g, enum gitrun_objects objects,
	   char *const *arguments, const struct buf *input, const char *output,
	   struct err *err)
{
	auto_close int out = open_new(g, output, err);
	auto_close int messages = out >= 0 ? open_new(g, MESSAGES, err) : -1;
	auto_close int in =
		messages >= 0 && input ? open_new(g, INPUT, err) : -1;

	if (messages < 0 || (input && in < 0))
		return -err->num;
	if (input && (fd_write(in, input->data, input->len) < 0 ||
		      lseek(in, 0, SEEK_SET) < 0))
		return fail_errno(err, "write the input of git");
	return start_git(g, objects, arguments, (int[]){in, out, messages},
			 err);
}

int gitrun_lines(struct gitrun *g, enum gitrun_objects objects,
		 char *const *arguments, const struct buf *input,
		 int (*each)(void *arg, const char *line, struct err *err),
		 void *arg, struct err *err)
{
	int got = gitrun(g, objects, arguments, input, GITRUN_OUTPUT, err);
	int fd = got < 0 ? -1
			 : openat(g->dirfd, GITRUN_OUTPUT,
				  O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	auto_free char *line = NULL;
	size_t size = 0;
	ssize_t len;

	if (got < 0)
		return got;
	if (!f)
		return fail_errno(err, "read the output of git");
	while (got >= 0 && (len = getline(&line, &size, f)) > 0) {
		if (line[len - 1] == '\n')
			line[len - 1] = '\0';
		got = each(arg, line, err);
	}
	(void)fclose(f);
	return got < 0 ? got : 0;
}
