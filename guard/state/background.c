#include "guard/state/background.h"

#include <fcntl.h>
#include <linux/ioprio.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/child.h"

/* First of the temporary descriptors, above the final numbers. */
#define ASIDE 20

int background_detach(const char *name, int *const *fds, size_t count)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int aside[BACKGROUND_FDS_MAX];
	sigset_t no_signals;
	size_t i;

	if (null < 0 || count > BACKGROUND_FDS_MAX)
		return -1;
	for (i = 0; i < count; i++) {
		aside[i] = fcntl(*fds[i], F_DUPFD_CLOEXEC, ASIDE);
		if (aside[i] < 0)
			return -1;
	}
	(void)setsid();
	(void)signal(SIGINT, SIG_IGN);
	(void)signal(SIGHUP, SIG_IGN);
	(void)signal(SIGQUIT, SIG_IGN);
	/* A signal of the terminal that came before, while it was blocked, is
	 * dropped. */
	(void)sigemptyset(&no_signals);
	(void)sigprocmask(SIG_SETMASK, &no_signals, NULL);
	if (dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0)
		return -1;
	for (i = 0; i < count; i++) {
		*fds[i] = dup3(aside[i], 3 + (int)i, O_CLOEXEC);
		if (*fds[i] < 0)
			return -1;
	}
	(void)syscall(SYS_close_range, 3u + (unsigned int)count, ~0u, 0u);
	(void)prctl(PR_SET_NAME, name);
	return 0;
}

int background_enter(const char *name, int *const *fds, size_t count)
{
	struct sched_param none = {0};

	if (background_detach(name, fds, count) < 0)
		return -1;
	(void)sched_setscheduler(0, SCHED_IDLE, &none);
	(void)syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0,
		      IOPRIO_PRIO_VALUE(IOPRIO_CLASS_IDLE, 0));
	return 0;
}

pid_t background_fork(const char *name, int *ret_fd)
{
	int ends[2];
	pid_t pid;

	*ret_fd = -1;
	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
		return -1;
	pid = child_fork(name);
	*ret_fd = pid < 0 ? -1 : ends[pid == 0];
	(void)close(ends[pid != 0]);
	if (pid < 0)
		(void)close(ends[0]);
	return pid;
}
