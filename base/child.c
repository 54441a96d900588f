#include "base/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"

pid_t child_fork(const char *name)
{
	pid_t parent = getpid(), pid = fork();
	sigset_t all;

	if (pid)
		return pid;
	(void)sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, NULL);
	(void)prctl(PR_SET_NAME, name);
	/* The parent may have ended before this call. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
		_exit(1);
	return 0;
}

int child_wait(pid_t pid)
{
	int status;

	if (pid <= 0)
		return -1;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	return status;
}

int child_output(const char *program, char *const *argv,
		 bool (*prepare)(const char *dir), const char *dir, size_t max,
		 struct buf *ret)
{
	struct err ignored;
	int ends[2], status, got;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		int null = open("/dev/null", O_RDWR | O_CLOEXEC);

		if (prepare(dir) && dup2(null, STDIN_FILENO) >= 0 &&
		    dup2(null, STDERR_FILENO) >= 0 &&
		    dup2(ends[1], STDOUT_FILENO) >= 0)
			(void)execv(program, argv);
		_exit(127);
	}
	(void)close(ends[1]);
	got = pid > 0 ? fd_slurp(ends[0], max, ret, &ignored) : -1;
	(void)close(ends[0]);
	status = child_wait(pid);
	return got < 0 ? -1 : status;
}

void child_end(pid_t *pid)
{
	if (*pid > 0) {
		(void)kill(*pid, SIGKILL);
		(void)child_wait(*pid);
	}
	*pid = 0;
}
