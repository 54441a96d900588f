#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "guard/sandbox/notifier.h"
#include "guard/sandbox/message.h"
#include "guard/sandbox/namespaces_private.h"

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
	struct notifier notifier;
	bool reported_refused, reported_unasked;
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

/* Reports the first refused rename and the first reason why guard was not
 * asked, once each. */
static void report_notifier(struct pid1 *p)
{
	const struct notifier *n = &p->notifier;

	if (p->s->socket < 0)
		return;
	if (*n->refused && !p->reported_refused)
		(void)message_send(p->s->socket, MESSAGE_RENAME_REFUSED,
				   (int)n->refused_how, n->refused, -1);
	if (n->unasked && !p->reported_unasked)
		(void)message_send(p->s->socket, MESSAGE_UNASKED, 0, n->unasked,
				   -1);
	p->reported_refused = *n->refused;
	p->reported_unasked = n->unasked;
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

	notifier_close(&p->notifier);
	report_notifier(p);
	(void)kill(-1, SIGKILL);
	/* A worker that was killed before its undo leaves its copy: renames
	 * reaped here remove it. */
	while ((pid = waitpid(-1, &ignored, 0)) > 0 || errno == EINTR)
		if (pid > 0)
			(void)notifier_reap(&p->notifier, pid, ignored);
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
			(void)notifier_reap(&p->notifier, pid, status);
		if (pid != p->command || p->exec_ended)
			continue;
		if (WIFSTOPPED(status)) {
			report_command_stop(p, WSTOPSIG(status));
		} else if (WIFCONTINUED(status)) {
			if (p->stopped)
				(void)message_send(p->s->socket,
						   MESSAGE_RESUMED, 0, NULL,
						   -1);
			p->stopped = false;
		} else if (p->is_exec) {
			end_exec_session(p, status);
		} else {
			end_pid1(p, status);
		}
	}
}

/* ---- guard's messages ---- */

static void release_command(struct pid1 *p)
{
	int listener = -1;
	int num = command_start(p->s, &p->command, &listener);
	struct err err = {0};

	notifier_open(&p->notifier, p->s->policy, p->s->begin, listener);
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

static void forward_signal(struct pid1 *p, int sig)
{
	/* Terminals, shells and timeout(1) send these signals to a process
	 * group. */
	bool to_group = sig == SIGINT || sig == SIGQUIT || sig == SIGTSTP ||
			sig == SIGHUP || sig == SIGTERM || sig == SIGCONT ||
			sig == SIGKILL || sig == SIGWINCH;

	if (p->command <= 0)
		return;
	if (!to_group || kill(-p->command, sig) < 0)
		(void)kill(p->command, sig);
}

static void handle_guard_message(struct pid1 *p)
{
	struct message message;

	if (message_receive(p->s->socket, &message, NULL) <= 0) {
		if (!p->is_exec || p->command <= 0)
			_exit(125);
		/* The exec client's guard has ended, and its terminal is
		 * gone. */
		fd_close(&p->s->socket);
		forward_signal(p, SIGHUP);
		forward_signal(p, SIGCONT);
		p->grace_ms = GRACE_MS;
	} else if (message.type == MESSAGE_RELEASE && !p->command) {
		release_command(p);
	} else if (message.type == MESSAGE_SIGNAL) {
		forward_signal(p, message.value);
	} else if (message.type == MESSAGE_CONTINUE) {
		if (p->stopped)
			(void)kill(-p->command, SIGCONT);
		p->stopped = false;
		(void)message_send(p->s->socket, MESSAGE_CONTINUED, 0, NULL,
				   -1);
	}
}

/* ---- a client of the exec socket ---- */

static void supervise_run(struct pid1 *p) __attribute__((noreturn));

struct exec_texts {
	const char *at, *end;
};

static const char *next_exec_text(struct exec_texts *t)
{
	const char *text = t->at;
	const char *nul = memchr(text, '\0', (size_t)(t->end - text));

	if (!nul)
		return NULL;
	t->at = nul + 1;
	return text;
}

/* Takes count texts into a list that starts with `more` unused entries; NULL if
 * there are fewer texts. */
static char **take_text_list(struct exec_texts *t, size_t count, size_t more)
{
	char **list = mem_resize(NULL, more + count + 1, sizeof(*list));
	size_t i;

	for (i = 0; i < count; i++) {
		list[more + i] = (char *)(uintptr_t)next_exec_text(t);
		if (!list[more + i])
			return NULL;
	}
	list[more + count] = NULL;
	return list;
}

static bool is_set_in_environ(char **list, const char *entry)
{
	size_t len = strcspn(entry, "=");

	for (; *list; list++)
		if (strncmp(*list, entry, len) == 0 && (*list)[len] == '=')
			return true;
	return false;
}

/* Merges the environment of the run's first command with the client's
 * variables, which take precedence. */
static char **merge_exec_environment(char *const *first, struct exec_texts *t,
				     size_t count)
{
	size_t have = 0, i, kept = 0;
	char **list;

	while (first[have])
		have++;
	list = take_text_list(t, count, have);
	if (!list)
		return NULL;
	for (i = 0; i < have; i++)
		if (!is_set_in_environ(list + have, first[i]))
			list[kept++] = first[i];
	memmove(list + kept, list + have, (count + 1) * sizeof(*list));
	return list;
}

/* The texts are never freed: the policy uses them until the exec. */
static int read_exec_texts(const struct exec_header *q, int fd,
			   struct sandbox_policy *p, struct err *err)
{
	struct buf b = {0};
	struct exec_texts t;

	if (q->arguments < 1 || q->arguments > EXEC_TEXT_MAX ||
	    q->variables > EXEC_TEXT_MAX)
		return fail(err, EBADMSG,
			    "unexpected request on the run's exec socket: "
			    "please report this bug");
	if (fd_slurp(fd, EXEC_TEXT_MAX, &b, err) < 0)
		return -err->num;
	t = (struct exec_texts){buf_text(&b), buf_text(&b) + b.len};
	p->cwd = *t.at ? t.at : p->cwd;
	p->argv =
		next_exec_text(&t) ? take_text_list(&t, q->arguments, 0) : NULL;
	if (p->argv)
		p->envp = merge_exec_environment(p->envp, &t, q->variables);
	if (!p->argv || !p->envp)
		return fail(err, EBADMSG,
			    "unexpected request on the run's exec socket: "
			    "please report this bug");
	return 0;
}

/* Sets up the session of a client's command. As a child of pid 1 it has every
 * confinement of the run. From the client come only texts and descriptors,
 * never a terminal, and no process of the run can inspect this one. */
static int set_up_exec(struct setup *s, struct sandbox_policy *p,
		       struct err *err)
{
	struct exec_header q;
	struct ucred peer;
	socklen_t len = sizeof(peer);
	ssize_t n;
	int fds[FD_MESSAGE_FDS], i;

	/* The socket is in a directory that only this user can open. This check
	 * is a second layer. */
	if (getsockopt(s->socket, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
		return fail_errno(err,
				  "read the peer of the run's exec socket");
	if (peer.uid != s->uid)
		return fail(err, EPERM, "the run belongs to another user");
	n = fd_message_receive(s->socket, &q, sizeof(q), fds);
	if (n >= (ssize_t)sizeof(q.version) && q.version != EXEC_VERSION)
		return fail(err, EPROTO,
			    "the run was started by another version of guard: "
			    "only that version can enter it");
	if (n != sizeof(q) || fds[EXEC_FDS - 1] < 0)
		return fail(err, EBADMSG,
			    "unexpected request on the run's exec socket: "
			    "please report this bug");
	if (read_exec_texts(&q, fds[0], p, err) < 0)
		return -err->num;
	for (i = 0; i < 3; i++) {
		if (dup2(fds[1 + i], i) < 0)
			return fail_errno(err, "receive a descriptor");
		s->replace[i] = q.replace[i];
	}
	s->program_fd = fds[EXEC_FDS];
	s->pipeline = q.pipeline;
	/* pid 1 has the state inherited by the guard that started the run,
	 * perhaps in the background of a script. */
	s->inherited_state = q.inherited_state;
	if (setsid() < 0)
		return fail_errno(err, "create a new session");
	if (command_terminal(s, err) < 0 || lockdown_descriptors(s, err) < 0)
		return -err->num;
	return command_enter_cwd(s, err);
}

/* Serves one client on the socket conn, in a child of pid 1. first: pid 1's
 * setup. Errors go to the client as MESSAGE_ERROR. */
static void __attribute__((noreturn))
serve_exec_client(const struct setup *first, int conn)
{
	struct sandbox_policy policy = *first->policy;
	struct setup s = *first;
	struct pid1 p = {
		.s = &s, .is_exec = true, .notifier = {.listener = -1}};
	struct err err;

	s.policy = &policy;
	s.socket = conn;
	s.exec_socket_fd = s.slave_fd = s.master_fd = -1;
	if (set_up_exec(&s, &policy, &err) < 0) {
		(void)message_send(s.socket, MESSAGE_ERROR, err.num, err.text,
				   -1);
		_exit(125);
	}
	supervise_run(&p);
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
		serve_exec_client(p->s, conn);
	if (pid < 0)
		(void)message_send(conn, MESSAGE_ERROR, errno,
				   "the run has reached its limit of processes",
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

static void supervise_run(struct pid1 *p)
{
	struct pollfd fds[4];
	int got;

	open_child_signals(p);
	fds[1] = (struct pollfd){.fd = p->signal_fd, .events = POLLIN};
	while (!p->exec_ended || p->notifier.listener >= 0) {
		fds[0] = (struct pollfd){.fd = p->s->socket, .events = POLLIN};
		fds[2] = (struct pollfd){.fd = notifier_is_busy(&p->notifier)
						       ? -1
						       : p->notifier.listener,
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
			notifier_answer(&p->notifier);
		else if (fds[2].revents)
			notifier_hang_up(&p->notifier);
		if (fds[1].revents)
			reap_children(p);
		if (fds[0].revents)
			handle_guard_message(p);
		report_notifier(p);
		if (fds[3].revents)
			accept_exec_client(p);
	}
	_exit(0);
}

void pid1_main(struct setup *s)
{
	struct pid1 p = {.s = s, .notifier = {.listener = -1}};

	s->begin = notifier_clock();
	supervise_run(&p);
}
