/*
 * guard stops as its command did, so that whoever waits for it sees what he
 * would see of the command. A process that is stopped sees to nothing, though:
 * somebody may let the command alone go on, or end it, or the rest of the run
 * may go beyond its limits meanwhile. So a child stays awake, and wakes guard
 * up when there is something for it to do.
 */
#include "guard/sandbox/sandbox_private.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* It may have come just before guard stopped. */
#define AGAIN_MS 20

static void __attribute__((noreturn)) wake_guard(int wake_fd, pid_t guard)
{
	(void)!write(wake_fd, "", 1);
	for (;;) {
		(void)kill(guard, SIGCONT);
		(void)poll(NULL, 0, AGAIN_MS);
	}
}

/* Until guard ends it. */
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
	/* The terminal would have stopped all of the foreground group. Where
	 * nobody could wake us up (an orphaned group) this does nothing, as
	 * Ctrl-Z does there. */
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
