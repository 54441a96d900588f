#include "guard/sandbox/inherited_state.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/stat.h>

/* Enough for a run with many mounts, as far as the hard limit allows. */
#define FILES_LEAST 1024U
#define STACK_LEAST (1U << 20)

static struct inherited_state saved;
static bool is_saved;

/* False for signals that the C library reserves. */
static bool is_settable_signal(int sig)
{
	return sig < 32 || (sig >= SIGRTMIN && sig <= SIGRTMAX);
}

static uint64_t signal_bit(int sig)
{
	return UINT64_C(1) << (sig - 1);
}

static uint64_t raise_soft_limit(int resource, rlim_t least)
{
	struct rlimit l;
	rlim_t before;

	if (getrlimit(resource, &l) < 0)
		return UINT64_MAX;
	before = l.rlim_cur;
	if (before == RLIM_INFINITY || before >= least)
		return before;
	l.rlim_cur = l.rlim_max < least ? l.rlim_max : least;
	(void)setrlimit(resource, &l);
	return before;
}

int inherited_state_save(void)
{
	struct inherited_state *h = &saved;
	struct sigaction action;
	sigset_t blocked;
	int fd, sig;

	if (is_saved)
		return 0;
	is_saved = true;
	/* The next opened file would take the number of a closed descriptor,
	 * and messages would go into it. */
	for (fd = 0; fd <= 2; fd++) {
		if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF)
			continue;
		if (open("/dev/null", fd ? O_WRONLY : O_RDONLY) != fd)
			return -1;
		h->closed[fd] = 1;
	}
	(void)sigprocmask(SIG_BLOCK, NULL, &blocked);
	for (sig = 1; sig <= SIGRTMAX; sig++) {
		if (!is_settable_signal(sig))
			continue;
		if (sigaction(sig, NULL, &action) == 0 &&
		    action.sa_handler == SIG_IGN)
			h->ignored |= signal_bit(sig);
		if (sigismember(&blocked, sig) > 0)
			h->blocked |= signal_bit(sig);
	}
	/* With SIGCHLD ignored the kernel reaps children itself. */
	(void)signal(SIGCHLD, SIG_DFL);
	/* A write over the limit returns an error instead of ending guard. */
	(void)signal(SIGXFSZ, SIG_IGN);
	h->files = raise_soft_limit(RLIMIT_NOFILE, FILES_LEAST);
	h->stack = raise_soft_limit(RLIMIT_STACK, STACK_LEAST);
	h->mask = umask(0);
	/* The owner's bits stay clear, so that guard can use its own files. */
	(void)umask(h->mask & 0077);
	return 0;
}

const struct inherited_state *inherited_state_get(void)
{
	(void)inherited_state_save();
	return &saved;
}

static void lower_soft_limit(int resource, uint64_t soft)
{
	struct rlimit l;

	if (getrlimit(resource, &l) < 0 || l.rlim_cur <= soft)
		return;
	l.rlim_cur = soft;
	(void)setrlimit(resource, &l);
}

void inherited_state_restore(const struct inherited_state *h)
{
	sigset_t blocked;
	int sig, fd;

	(void)umask(h->mask & 0777);
	lower_soft_limit(RLIMIT_NOFILE, h->files);
	lower_soft_limit(RLIMIT_STACK, h->stack);
	for (fd = 0; fd < 3; fd++)
		if (h->closed[fd])
			(void)fcntl(fd, F_SETFD, FD_CLOEXEC);
	(void)sigemptyset(&blocked);
	for (sig = 1; sig <= SIGRTMAX; sig++) {
		if (!is_settable_signal(sig))
			continue;
		if (sig != SIGKILL && sig != SIGSTOP)
			(void)signal(sig, h->ignored & signal_bit(sig)
						  ? SIG_IGN
						  : SIG_DFL);
		if (h->blocked & signal_bit(sig))
			(void)sigaddset(&blocked, sig);
	}
	(void)sigprocmask(SIG_SETMASK, &blocked, NULL);
}
