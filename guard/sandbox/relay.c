#include "guard/sandbox/sandbox_private.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/fd.h"
#include "base/text.h"

#define TICK_MS 250
/* From SIGTERM to SIGKILL. */
#define GRACE_MS 2000
#define END_REQUESTS_MAX 3u

/* ---- the release ---- */

static int explain_failed_exec(const struct sandbox *sb,
			       const struct message *message, struct err *err)
{
	int num = message->value;
	const char *name = text_quote(sb->command);

	if (num == ENOENT && strpbrk(sb->command, " \t&|;"))
		return fail(err, num,
			    "%s: no such command; for a shell's command line, "
			    "try: guard run -- sh -c %s",
			    name, text_shell(sb->command));
	if (num == ENOENT)
		return fail(err, num,
			    strchr(sb->command, '/')
				    ? "%s: no such file, or its interpreter is "
				      "missing"
				    : "%s: no such command in PATH",
			    name);
	if (num == EAGAIN)
		return fail(
			err, num,
			"run %s: the run has reached its limit of processes",
			name);
	return *message->text
		       ? fail(err, num, "run %s: %s", name, message->text)
		       : fail_num(err, num, "run %s", name);
}

/* Blocks the signals before the command runs, so that an early one cannot end
 * guard. */
static int block_relayed_signals(struct sandbox *sb, struct err *err)
{
	static const int relayed[] = {SIGINT,  SIGTERM,	  SIGHUP,  SIGQUIT,
				      SIGTSTP, SIGWINCH,  SIGCONT, SIGUSR1,
				      SIGUSR2, SIGALRM,	  SIGIO,   SIGPWR,
				      SIGPROF, SIGVTALRM, SIGURG};
	sigset_t set;
	size_t i;
	int sig, fd;

	(void)sigemptyset(&set);
	for (i = 0; i < ARRAY_SIZE(relayed); i++)
		(void)sigaddset(&set, relayed[i]);
	for (sig = SIGRTMIN; sig <= SIGRTMAX; sig++)
		(void)sigaddset(&set, sig);
	sb->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (sb->signal_fd < 0)
		return fail_errno(err, "wait for signals");
	(void)sigprocmask(SIG_BLOCK, &set, &sb->signals_before);
	/* File status flags (O_NONBLOCK, O_ASYNC, O_APPEND) belong to the open
	 * file description, which the caller shares: a change by the run would
	 * stay after it. */
	for (fd = 0; fd < 3; fd++)
		sb->flags_before[fd] = fcntl(fd, F_GETFL);
	return 0;
}

void sandbox_hold_terminal(struct sandbox *sb, bool hold)
{
	if (sb->tty && hold)
		tty_leave(sb->tty, false);
	else if (sb->tty)
		tty_enter(sb->tty);
}

void relay_restore_caller(struct sandbox *sb)
{
	int fd;

	if (sb->tty)
		tty_leave(sb->tty, true);
	if (sb->signal_fd < 0)
		return;
	for (fd = 0; fd < 3; fd++)
		if (sb->flags_before[fd] >= 0 &&
		    fcntl(fd, F_GETFL) != sb->flags_before[fd])
			(void)fcntl(fd, F_SETFL, sb->flags_before[fd]);
	fd_close(&sb->signal_fd);
	(void)sigprocmask(SIG_SETMASK, &sb->signals_before, NULL);
}

int sandbox_release(struct sandbox *sb, struct err *err)
{
	struct message message;
	int rc = block_relayed_signals(sb, err);

	if (rc < 0)
		return rc;
	if (sb->tty)
		tty_enter(sb->tty);
	if (message_send(sb->socket, MESSAGE_RELEASE, 0, NULL, -1) < 0)
		rc = fail_errno(err, "start the command");
	else if (message_receive(sb->socket, &message, NULL) <= 0)
		rc = fail(err, ECHILD, "the run's first process died");
	else if (message.type == MESSAGE_NOT_STARTED)
		rc = explain_failed_exec(sb, &message, err);
	else if (message.type != MESSAGE_STARTED)
		rc = fail(err, EBADMSG,
			  "unexpected message from the run's pid 1: please "
			  "report this bug");
	if (rc < 0) {
		relay_restore_caller(sb);
		return rc;
	}
	sb->deadline = sb->timeout_ms > 0
			       ? timestamp_monotonic_ms() + sb->timeout_ms
			       : 0;
	/* The guard process that started the run checks its limits. */
	if (sb->pid)
		sb->next_watch =
			timestamp_monotonic_ms() + watch_interval(&sb->watch);
	return 0;
}

/* ---- the end ---- */

void relay_kill(const struct sandbox *sb)
{
	if (sb->pid_fd >= 0)
		(void)syscall(SYS_pidfd_send_signal, sb->pid_fd, SIGKILL, NULL,
			      0);
}

void sandbox_unmount(struct sandbox *sb)
{
	edits_close(&sb->edits);
	while (sb->pid > 0 && waitpid(sb->pid, NULL, __WALL) < 0 &&
	       errno == EINTR)
		;
	sb->pid = 0;
	cgroup_remove(&sb->cgroup);
}

/* ---- limits ---- */

static int64_t earlier_deadline(int64_t a, int64_t b)
{
	return a && (!b || a < b) ? a : b;
}

/* Milliseconds until check_relay_limits() is due, for poll(2); -1: never. */
static int next_relay_wait(const struct sandbox *sb)
{
	int64_t now = timestamp_monotonic_ms(),
		then = earlier_deadline(sb->deadline, sb->next_tick);

	then = earlier_deadline(then, sb->next_watch);
	if (sb->tty && tty_awaits_foreground(sb->tty))
		then = earlier_deadline(then, now + TICK_MS);
	if (!then)
		return -1;
	if (then <= now)
		return 0;
	return (int)(then - now > 60000 ? 60000 : then - now);
}

static bool is_deadline_due(int64_t time)
{
	return time && timestamp_monotonic_ms() >= time;
}

enum relay_limits { RELAY_WITHIN_LIMITS, RELAY_TIMED_OUT, RELAY_BEYOND_LIMIT };

/* Makes the checks that are due. Sets sb->limit to the exceeded limit. */
static enum relay_limits check_relay_limits(struct sandbox *sb)
{
	int ms = TICK_MS;

	if (is_deadline_due(sb->next_watch)) {
		enum sandbox_limit limit = watch_tick(&sb->watch);

		sb->next_watch =
			timestamp_monotonic_ms() + watch_interval(&sb->watch);
		if (!sb->ending && limit != SANDBOX_LIMIT_NONE) {
			sb->limit = limit;
			return RELAY_BEYOND_LIMIT;
		}
	}
	if (is_deadline_due(sb->next_tick)) {
		enum sandbox_tick_action action = sb->tick(sb->tick_arg, &ms);

		sb->next_tick = timestamp_monotonic_ms() + ms;
		if (action == SANDBOX_KILL)
			return RELAY_BEYOND_LIMIT;
	}
	if (!is_deadline_due(sb->deadline))
		return RELAY_WITHIN_LIMITS;
	if (!sb->ending)
		sb->limit = SANDBOX_LIMIT_TIME;
	return RELAY_TIMED_OUT;
}

/* ---- job control ---- */

/*
 * Job control: guard stops as its command did, so that a shell sees the stop of
 * its job. A stopped process cannot react when the command alone is continued
 * or ended, or when the run exceeds a limit. So a child process watches and
 * continues guard when there is an event to handle.
 */

/* Repeat time of the SIGCONT: the first may arrive before guard has stopped. */
#define AGAIN_MS 20

/* Runs until guard kills it. */
static void __attribute__((noreturn))
watch_while_suspended(struct sandbox *sb, int wake_fd)
{
	struct pollfd fds[2] = {{.fd = sb->socket, .events = POLLIN},
				{.fd = sb->pid_fd, .events = POLLIN}};

	while (poll(fds, 2, next_relay_wait(sb)) <= 0)
		if (check_relay_limits(sb) != RELAY_WITHIN_LIMITS)
			break;
	(void)!write(wake_fd, "", 1);
	for (;;) {
		(void)kill(getppid(), SIGCONT);
		(void)poll(NULL, 0, AGAIN_MS);
	}
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

/* Stops guard, as sig stopped the command. Returns true if a SIGCONT for guard
 * ended that, so that the command has to continue as well; false if the command
 * continued or ended by itself, or a limit was exceeded. */
static bool suspend_with_command(struct sandbox *sb, int sig)
{
	int ends[2] = {-1, -1};
	pid_t child = -1;
	bool woken;
	char byte;

	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0)
		child = child_fork("guard-awake");
	if (child == 0)
		watch_while_suspended(sb, ends[1]);
	suspend_self(sb, sig);
	woken = child > 0 && read(ends[0], &byte, 1) == 1;
	child_end(&child);
	if (ends[0] >= 0) {
		(void)close(ends[0]);
		(void)close(ends[1]);
	}
	return !woken;
}

/* ---- signals and messages ---- */

static void pass_signal_on(struct sandbox *sb, int sig)
{
	(void)message_send(sb->socket, MESSAGE_SIGNAL, sig, NULL, -1);
}

/* Returns false when an exec client gets its third request to end: the process
 * in the run that would pass the signal on may be stopped. */
static bool relay_signal(struct sandbox *sb)
{
	struct signalfd_siginfo info;

	if (read(sb->signal_fd, &info, sizeof(info)) != sizeof(info))
		return true;
	switch (info.ssi_signo) {
	case SIGWINCH:
		if (sb->tty)
			tty_resize(sb->tty);
		break;
	case SIGURG:
		if (sb->pid && edits_asked(info.ssi_code, info.ssi_int)) {
			edits_show(&sb->edits, sb->pid);
			break;
		}
		pass_signal_on(sb, SIGURG);
		break;
	case SIGCONT:
		/* guard may be in the foreground again. */
		if (sb->tty)
			tty_enter(sb->tty);
		break;
	default:
		pass_signal_on(sb, (int)info.ssi_signo);
		if (sb->pid_fd >= 0 ||
		    (info.ssi_signo != SIGINT && info.ssi_signo != SIGTERM &&
		     info.ssi_signo != SIGHUP && info.ssi_signo != SIGQUIT))
			break;
		/* No further message is awaited. */
		sb->is_empty = ++sb->end_requests >= END_REQUESTS_MAX;
		return !sb->is_empty;
	}
	return true;
}

const char *sandbox_unasked(const struct sandbox *sb)
{
	return sb->unasked;
}

/* Handles messages about the result of the run. */
static void handle_result_message(struct sandbox *sb,
				  const struct message *message)
{
	switch (message->type) {
	case MESSAGE_EXITED:
		sb->status = message->value;
		sb->has_status = true;
		break;
	case MESSAGE_RENAME_REFUSED:
		if (sb->refused_rename)
			break;
		sb->refused_rename = mem_strdup(message->text);
		sb->refused_rename_how =
			(enum sandbox_refused_rename)message->value;
		break;
	case MESSAGE_UNASKED:
		free(sb->unasked);
		sb->unasked = mem_strdup(message->text);
		break;
	case MESSAGE_STDIO_OFFSET:
		if (message->value >= 0 && message->value < 3)
			(void)lseek(message->value,
				    (off_t)strtoll(message->text, NULL, 10),
				    SEEK_SET);
		break;
	default:
		break;
	}
}

/* Returns false at end of file. */
static bool handle_pid1_message(struct sandbox *sb)
{
	struct message message;
	bool continues;

	if (message_receive(sb->socket, &message, NULL) <= 0)
		return false;
	switch (message.type) {
	case MESSAGE_CONTINUED:
		if (sb->tty)
			tty_hold(sb->tty, false);
		break;
	case MESSAGE_EMPTY:
		sb->is_empty = true;
		break;
	case MESSAGE_STOPPED:
		if (sb->ending)
			break;
		if (sb->tty)
			tty_leave(sb->tty, false);
		continues = suspend_with_command(sb, message.value);
		if (sb->tty) {
			tty_hold(sb->tty, continues);
			tty_enter(sb->tty);
		}
		if (continues)
			(void)message_send(sb->socket, MESSAGE_CONTINUE, 0,
					   NULL, -1);
		break;
	case MESSAGE_WANTS_INPUT:
		if (sb->tty)
			tty_want_input(sb->tty);
		(void)message_send(sb->socket, MESSAGE_CONTINUE, 0, NULL, -1);
		break;
	default:
		handle_result_message(sb, &message);
		break;
	}
	return true;
}

/* Relays until only pid 1 is left, which then just exits, or until pid 1 has
 * ended. */
static int relay_until_empty(struct sandbox *sb, struct err *err)
{
	struct pollfd fds[7];
	enum relay_limits found;
	size_t count;

	for (;;) {
		fds[0] = (struct pollfd){.fd = sb->pid_fd, .events = POLLIN};
		fds[1] = (struct pollfd){.fd = sb->signal_fd, .events = POLLIN};
		fds[2] = (struct pollfd){.fd = sb->socket, .events = POLLIN};
		fds[3] = (struct pollfd){.fd = sb->pasta.pid_fd,
					 .events = POLLIN};
		count = sb->tty ? tty_poll(sb->tty, fds + 4) : 0;
		if (poll(fds, 4 + count, next_relay_wait(sb)) < 0 &&
		    errno != EINTR)
			return fail_errno(err, "wait for the run");
		if (count)
			tty_relay(sb->tty, fds + 4, count);
		if (fds[1].revents && !relay_signal(sb))
			return 0;
		if (fds[2].revents && !handle_pid1_message(sb)) {
			if (sb->pid_fd < 0)
				return 0;
			(void)poll(fds, 1, -1);
		}
		if (fds[3].revents) {
			sb->network_lost = true;
			pasta_end(&sb->pasta);
		}
		if (fds[0].revents || sb->is_empty)
			return 0;
		found = check_relay_limits(sb);
		if (found == RELAY_BEYOND_LIMIT) {
			sb->ending = true;
			relay_kill(sb);
		} else if (found == RELAY_TIMED_OUT && sb->ending) {
			relay_kill(sb);
			sb->deadline = 0;
		} else if (found == RELAY_TIMED_OUT) {
			sb->ending = true;
			sb->deadline = timestamp_monotonic_ms() + GRACE_MS;
			(void)message_send(sb->socket, MESSAGE_SIGNAL, SIGTERM,
					   NULL, -1);
			(void)message_send(sb->socket, MESSAGE_SIGNAL, SIGCONT,
					   NULL, -1);
		}
	}
}

int sandbox_wait(struct sandbox *sb,
		 enum sandbox_tick_action (*tick)(void *arg, int *ret_next_ms),
		 void *arg, struct sandbox_result *ret, struct err *err)
{
	struct message message;
	uint64_t killed;
	int rc;

	sb->tick = tick;
	sb->tick_arg = arg;
	sb->next_tick = tick ? timestamp_monotonic_ms() : 0;
	rc = relay_until_empty(sb, err);
	edits_close(&sb->edits);
	if (rc < 0)
		relay_kill(sb);
	while (!sb->is_empty && message_receive(sb->socket, &message, NULL) > 0)
		handle_result_message(sb, &message);
	killed = cgroup_killed(&sb->cgroup);
	if (!sb->is_empty)
		sandbox_unmount(sb);
	if (sb->tty)
		tty_drain(sb->tty);
	relay_restore_caller(sb);
	stdio_proxy_stop(&sb->stdio_proxies);
	if (rc < 0)
		return rc;
	*ret = (struct sandbox_result){
		.end = SANDBOX_SIGNALED,
		.code = SIGKILL,
		.network_lost = sb->network_lost,
		.refused_rename = sb->refused_rename,
		.refused_how = sb->refused_rename_how,
	};
	if (sb->ending) {
		ret->end = SANDBOX_STOPPED;
		ret->limit = sb->limit;
		ret->why = kernel_quotas_explain(sb->watch.quota);
		return 0;
	}
	ret->killed = killed;
	if (!sb->has_status && !sb->setup.policy) {
		ret->end = SANDBOX_LOST;
	} else if (sb->has_status && WIFEXITED(sb->status)) {
		ret->end = SANDBOX_EXITED;
		ret->code = WEXITSTATUS(sb->status);
	} else if (sb->has_status) {
		ret->code = WTERMSIG(sb->status);
	}
	return 0;
}
