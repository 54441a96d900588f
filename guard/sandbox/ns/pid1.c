#include "guard/sandbox/ns/exec_server.h"
#include "guard/sandbox/ns/ns_private.h"

#include "base/fd.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "guard/sandbox/filter/rename_notifier.h"

/* From SIGHUP to SIGKILL for an exec session. */
#define GRACE_MS 2000

struct pid1 {
	struct setup *s;
	bool is_exec; /* child of pid 1, for the command of an exec session */
	int signal_fd;
	pid_t command; /* 0: not started */
	bool stopped;
	bool exec_ended; /* the command of the exec session has ended */
	int grace_ms; /* until SIGKILL; 0: none is due */
	struct rename_notifier rename_notifier;
	bool reported_refused;
};

/* ---- the end ---- */

static void give_up_terminal(const struct setup *s)
{
	int fd;

	(void)signal(SIGHUP, SIG_IGN);
	if (s->slave_fd >= 0) {
		(void)ioctl(s->slave_fd, TIOCNOTTY);
		(void)close(s->slave_fd);
	}
	for (fd = 0; fd < 3; fd++)
		(void)close(fd);
}

/* Reports the first refused rename, once. */
static void report_refused_rename(struct pid1 *p)
{
	if (p->reported_refused || !*p->rename_notifier.refused ||
	    p->s->socket < 0)
		return;
	p->reported_refused = true;
	(void)message_send(p->s->socket, MESSAGE_RENAME_REFUSED,
			   (int)p->rename_notifier.refused_how,
			   p->rename_notifier.refused, -1);
}

/* The caller continues at the offset that the run reached: in a shell's loop
 * over the lines of a file the commands may read some of them. */
static void report_stdio_offsets(const struct setup *s)
{
	char text[24];
	int fd;

	for (fd = 0; fd < 3; fd++) {
		off_t at = s->reopened[fd] ? lseek(fd, 0, SEEK_CUR) : -1;

		if (at < 0)
			continue;
		(void)snprintf(text, sizeof(text), "%lld", (long long)at);
		(void)message_send(s->socket, MESSAGE_STDIO_OFFSET, fd, text,
				   -1);
	}
}

/*
 * Ends all processes, then reports the end to guard. The terminal is given up
 * first: a session leader that exits with it causes a hangup, and the last
 * output would be lost. On this process's exit the kernel removes the mounts
 * and for that syncs the file system of the upper layers. guard does not wait
 * for the sync, so no descriptor of the run may stay open here.
 */
static void __attribute__((noreturn)) end_pid1(struct pid1 *p, int status)
{
	int ignored;
	pid_t pid;

	rename_notifier_close(&p->rename_notifier);
	report_refused_rename(p);
	(void)kill(-1, SIGKILL);
	/* A worker that was killed before its undo leaves its copy: renames
	 * reaped here remove it. */
	while ((pid = waitpid(-1, &ignored, 0)) > 0 || errno == EINTR)
		if (pid > 0)
			(void)rename_notifier_reap(&p->rename_notifier, pid,
						   ignored);
	report_stdio_offsets(p->s);
	give_up_terminal(p->s);
	(void)message_send(p->s->socket, MESSAGE_EXITED, status, NULL, -1);
	/* A process that entered the pid namespace from outside is no child of
	 * pid 1. Then the kernel delays this process's own exit until that
	 * process is gone. */
	if (kill(-1, 0) < 0 && errno == ESRCH)
		(void)message_send(p->s->socket, MESSAGE_EMPTY, 0, NULL, -1);
	_exit(0);
}

/* Ends a session after its command. Background processes of the session belong
 * to the run from then on. Their renames still arrive here, so this process
 * stays until the last of them has ended. */
static void end_exec_session(struct pid1 *p, int status)
{
	give_up_terminal(p->s);
	p->s->slave_fd = -1;
	(void)message_send(p->s->socket, MESSAGE_EXITED, status, NULL, -1);
	(void)message_send(p->s->socket, MESSAGE_EMPTY, 0, NULL, -1);
	fd_close(&p->s->socket);
	p->exec_ended = true;
	p->grace_ms = 0;
}

static void continue_command(struct pid1 *p)
{
	if (p->stopped)
		(void)kill(-p->command, SIGCONT);
	p->stopped = false;
	(void)message_send(p->s->socket, MESSAGE_CONTINUED, 0, NULL, -1);
}

static void report_command_stop(struct pid1 *p, int sig)
{
	const struct setup *s = p->s;

	/* Until guard has restored the terminal, or continues after its own
	 * stop. */
	p->stopped = true;
	if ((sig == SIGTTIN || sig == SIGTTOU) && s->slave_fd >= 0 &&
	    tcgetpgrp(s->slave_fd) != p->command) {
		(void)tcsetpgrp(s->slave_fd, p->command);
		(void)message_send(s->socket, MESSAGE_WANTS_INPUT, 0, NULL, -1);
		return;
	}
	(void)message_send(s->socket, MESSAGE_STOPPED, sig, NULL, -1);
}

static void report_command_resume(struct pid1 *p)
{
	if (p->stopped)
		(void)message_send(p->s->socket, MESSAGE_RESUMED, 0, NULL, -1);
	p->stopped = false;
}

static void reap_children(struct pid1 *p)
{
	struct signalfd_siginfo info;
	int status;
	pid_t pid;

	(void)!read(p->signal_fd, &info, sizeof(info));
	while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED | WCONTINUED)) >
	       0) {
		bool ended = WIFEXITED(status) || WIFSIGNALED(status);

		if (pid != p->command && ended)
			(void)rename_notifier_reap(&p->rename_notifier, pid,
						   status);
		if (pid != p->command || p->exec_ended)
			continue;
		if (WIFSTOPPED(status))
			report_command_stop(p, WSTOPSIG(status));
		else if (WIFCONTINUED(status))
			report_command_resume(p);
		else if (p->is_exec)
			end_exec_session(p, status);
		else
			end_pid1(p, status);
	}
}

/* ---- guard's messages ---- */

static void release_command(struct pid1 *p)
{
	int listener = -1;
	int num = command_start(p->s, &p->command, &listener);
	struct err err = {0};

	rename_notifier_open(&p->rename_notifier, p->s->begin, listener);
	if (num == 0) {
		(void)message_send(p->s->socket, MESSAGE_STARTED, 0, NULL, -1);
		return;
	}
	if (num == EACCES && strchr(p->s->policy->argv[0], '/'))
		(void)command_explain_closed(p->s, p->s->policy->argv[0], num,
					     &err);
	(void)message_send(p->s->socket, MESSAGE_NOT_STARTED, num, err.text,
			   -1);
	_exit(127);
}

/* Terminals, shells and timeout(1) send these signals to a process group. */
static bool is_for_group(int sig)
{
	return sig == SIGINT || sig == SIGQUIT || sig == SIGTSTP ||
	       sig == SIGHUP || sig == SIGTERM || sig == SIGCONT ||
	       sig == SIGKILL || sig == SIGWINCH;
}

static void forward_signal(struct pid1 *p, int sig)
{
	if (p->command <= 0)
		return;
	if (!is_for_group(sig) || kill(-p->command, sig) < 0)
		(void)kill(p->command, sig);
}

/* The exec client's guard has ended, and its terminal is gone. */
static void hang_up_exec_client(struct pid1 *p)
{
	if (p->command <= 0)
		_exit(125);
	fd_close(&p->s->socket);
	forward_signal(p, SIGHUP);
	forward_signal(p, SIGCONT);
	p->grace_ms = GRACE_MS;
}

static void handle_guard_message(struct pid1 *p)
{
	struct message message;

	if (message_receive(p->s->socket, &message, NULL) <= 0) {
		if (!p->is_exec)
			_exit(125);
		hang_up_exec_client(p);
		return;
	}
	if (message.type == MESSAGE_RELEASE && !p->command)
		release_command(p);
	else if (message.type == MESSAGE_SIGNAL)
		forward_signal(p, message.value);
	else if (message.type == MESSAGE_CONTINUE)
		continue_command(p);
}

/* Accepts an exec client. A child serves it, so that a slow client does not
 * block pid 1. */
static void accept_exec_client(struct pid1 *p)
{
	int conn = accept4(p->s->exec_socket_fd, NULL, NULL, SOCK_CLOEXEC);
	pid_t pid;

	if (conn < 0) {
		if (errno != EINTR && errno != EAGAIN &&
		    errno != ECONNABORTED) {
			fd_close(&p->s->exec_socket_fd);
		}
		return;
	}
	pid = fork();
	if (pid == 0)
		exec_server_main(p->s, conn);
	if (pid < 0)
		(void)message_send(conn, MESSAGE_ERROR, errno,
				   "the run has no room for another process",
				   -1);
	(void)close(conn);
}

/* ---- the loop ---- */

static void open_child_signals(struct pid1 *p)
{
	sigset_t all, child;

	(void)sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, NULL);
	(void)sigemptyset(&child);
	(void)sigaddset(&child, SIGCHLD);
	p->signal_fd = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
	if (p->signal_fd < 0) {
		(void)message_send(p->s->socket, MESSAGE_ERROR, errno,
				   "wait for signals", -1);
		_exit(125);
	}
	if (message_send(p->s->socket, MESSAGE_READY, 0, NULL,
			 p->s->master_fd) < 0)
		_exit(125);
	fd_close(&p->s->master_fd);
}

static void __attribute__((noreturn)) supervise_run(struct pid1 *p)
{
	struct pollfd fds[4];
	int got;

	open_child_signals(p);
	fds[1] = (struct pollfd){.fd = p->signal_fd, .events = POLLIN};
	while (!p->exec_ended || p->rename_notifier.listener >= 0) {
		fds[0] = (struct pollfd){.fd = p->s->socket, .events = POLLIN};
		fds[2] = (struct pollfd){.fd = p->rename_notifier.listener,
					 .events = POLLIN};
		fds[3] = (struct pollfd){.fd = p->s->exec_socket_fd,
					 .events = POLLIN};
		got = poll(fds, 4, p->grace_ms ? p->grace_ms : -1);
		if (got < 0 && errno != EINTR)
			_exit(125);
		if (got == 0) {
			forward_signal(p, SIGKILL);
			p->grace_ms = 0;
		}
		if (got <= 0)
			continue;
		if (fds[2].revents & POLLIN)
			rename_notifier_answer(&p->rename_notifier);
		else if (fds[2].revents)
			rename_notifier_hang_up(&p->rename_notifier);
		if (fds[1].revents)
			reap_children(p);
		report_refused_rename(p);
		if (fds[0].revents)
			handle_guard_message(p);
		if (fds[3].revents)
			accept_exec_client(p);
	}
	_exit(0);
}

void pid1_main(struct setup *s)
{
	struct pid1 p = {.s = s, .rename_notifier = {.listener = -1}};

	s->begin = rename_notifier_clock();
	supervise_run(&p);
}

void pid1_exec(struct setup *s)
{
	struct pid1 p = {
		.s = s, .is_exec = true, .rename_notifier = {.listener = -1}};

	supervise_run(&p);
}
