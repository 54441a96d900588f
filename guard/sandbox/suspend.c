/*
 * Job control: guard stops as its command did, so that a shell sees the stop of
 * its job. A stopped process cannot react when the command alone is continued
 * or ended, or when the run exceeds a limit. So a child process watches and
 * continues guard when there is an event to handle.
 */
#include "guard/sandbox/sandbox_private.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* Repeat time of the SIGCONT: the first may arrive before guard has stopped. */
#define AGAIN_MS 20

static void __attribute__((noreturn)) wake_guard(int wake_fd, pid_t guard)
{
	(void)!write(wake_fd, "", 1);
	for (;;) {
		(void)kill(guard, SIGCONT);
		(void)poll(NULL, 0, AGAIN_MS);
	}
}

/* Runs until guard kills it. */
static void __attribute__((noreturn))
watch_while_suspended(struct sandbox *sb, int wake_fd, pid_t guard)
{
	struct pollfd fds[2] = {{.fd = sb->socket, .events = POLLIN},
				{.fd = sb->pid_fd, .events = POLLIN}};
	sigset_t all;

	(void)sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, NULL);
	(void)prctl(PR_SET_NAME, "guard-awake");
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != guard)
		_exit(0);
	while (poll(fds, 2, relay_next_wait(sb)) <= 0)
		if (relay_check_limits(sb) != RELAY_WITHIN_LIMITS)
			break;
	wake_guard(wake_fd, guard);
}

static void suspend_self(const struct sandbox *sb, int sig)
{
	struct sigaction old, plain = {.sa_handler = SIG_DFL};
	sigset_t stop, before;

	if (sig == SIGSTOP) {
		(void)kill(getpid(), SIGSTOP);
		return;
	}
	(void)sigaction(SIGTSTP, &plain, &old);
	(void)sigemptyset(&stop);
	(void)sigaddset(&stop, SIGTSTP);
	/* The terminal would have sent SIGTSTP to the whole foreground group.
	 * In an orphaned group, which no shell could continue, the signal has
	 * no effect, as with Ctrl-Z. */
	(void)kill(sb->tty ? 0 : getpid(), SIGTSTP);
	(void)sigprocmask(SIG_UNBLOCK, &stop, &before);
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	(void)sigaction(SIGTSTP, &old, NULL);
}

bool suspend_with_command(struct sandbox *sb, int sig)
{
	int ends[2] = {-1, -1};
	pid_t guard = getpid(), child = -1;
	bool woken = false;
	char byte;

	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0)
		child = fork();
	if (child == 0)
		watch_while_suspended(sb, ends[1], guard);
	suspend_self(sb, sig);
	if (child > 0) {
		woken = read(ends[0], &byte, 1) == 1;
		(void)kill(child, SIGKILL);
		while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
			;
	}
	if (ends[0] >= 0) {
		(void)close(ends[0]);
		(void)close(ends[1]);
	}
	return !woken;
}
