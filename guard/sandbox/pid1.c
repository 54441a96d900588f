#include "guard/sandbox/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "base/mem.h"

struct pid1 {
	struct setup *s;
	int signal_fd;
	pid_t command; /* 0: not started */
	bool stopped;
};

/* ---- the command ---- */

/* What is ignored stays so (nohup, background jobs of scripts), but for what
 * guard or its caller may have set for themselves. */
static void reset_signals(void)
{
	static const int own[] = {SIGPIPE, SIGCHLD, SIGTSTP, SIGTTIN,
				  SIGTTOU, SIGCONT, SIGWINCH};
	sigset_t none;
	size_t i;

	for (i = 0; i < sizeof(own) / sizeof(*own); i++)
		(void)signal(own[i], SIG_DFL);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

/* execvp(3) says EACCES when some folder of PATH may not be searched; nothing
 * of that name was seen, though. */
static bool is_in_path(const char *name)
{
	const char *at = getenv("PATH");
	struct stat st;

	for (; at && *at; at += *at == ':') {
		size_t len = strcspn(at, ":");
		char *path = mem_printf("%.*s/%s", (int)len, at, name);
		bool found = stat(path, &st) == 0;

		free(path);
		if (found)
			return true;
		at += len;
	}
	return false;
}

/* Fills *ret_num, which is pid 1's too, when it comes back at all. */
static void run_command(const struct setup *s, volatile int *ret_num)
{
	int num;

	(void)setpgid(0, 0);
	/* In the background of a pipeline it is stopped when it reads. */
	if (s->slave_fd >= 0 && !s->pipeline)
		(void)tcsetpgrp(s->slave_fd, getpid());
	reset_signals();
	environ = (char **)(uintptr_t)s->policy->envp;
	(void)execvp(s->policy->argv[0], s->policy->argv);
	num = errno;
	if (num == EACCES && !strchr(s->policy->argv[0], '/') &&
	    !is_in_path(s->policy->argv[0]))
		num = ENOENT;
	*ret_num = num;
}

/*
 * 0, or the errno of the exec. By vfork(2): pid 1 has nothing else to do until
 * the exec, and a copy of its memory costs more than all the rest of this.
 */
static int start_command(struct pid1 *p)
{
	volatile int num = 0;
	pid_t pid = vfork();

	if (pid < 0)
		return errno;
	if (pid == 0) {
		run_command(p->s, &num);
		_exit(127);
	}
	p->command = pid;
	(void)setpgid(p->command, p->command);
	return num;
}

/* ---- its ends ---- */

/*
 * Nothing is left when guard hears of the end. The terminal is given up
 * first: a session leader that exits with it hangs it up, and what the run
 * printed last would be thrown away.
 */
static void __attribute__((noreturn)) end(const struct pid1 *p, int status)
{
	int fd;

	(void)kill(-1, SIGKILL);
	while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
		;
	(void)signal(SIGHUP, SIG_IGN);
	if (p->s->slave_fd >= 0) {
		(void)ioctl(p->s->slave_fd, TIOCNOTTY);
		(void)close(p->s->slave_fd);
		for (fd = 0; fd < 3; fd++)
			(void)close(fd);
	}
	(void)note_send(p->s->socket, NOTE_EXITED, status, NULL, -1);
	_exit(0);
}

static void continue_command(struct pid1 *p)
{
	p->stopped = false;
	(void)kill(-p->command, SIGCONT);
}

static void command_stopped(struct pid1 *p, int sig)
{
	const struct setup *s = p->s;

	/* Until guard has the terminal ready, or is awake again. */
	p->stopped = true;
	if ((sig == SIGTTIN || sig == SIGTTOU) && s->slave_fd >= 0 &&
	    tcgetpgrp(s->slave_fd) != p->command) {
		(void)tcsetpgrp(s->slave_fd, p->command);
		(void)note_send(s->socket, NOTE_READS, 0, NULL, -1);
		return;
	}
	(void)note_send(s->socket, NOTE_STOPPED, sig, NULL, -1);
}

static void reap(struct pid1 *p)
{
	struct signalfd_siginfo info;
	int status;
	pid_t pid;

	(void)!read(p->signal_fd, &info, sizeof(info));
	while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
		if (pid != p->command)
			continue;
		if (WIFSTOPPED(status))
			command_stopped(p, WSTOPSIG(status));
		else
			end(p, status);
	}
}

/* ---- what guard says ---- */

static void release(struct pid1 *p)
{
	int num = start_command(p);

	if (num == 0) {
		(void)note_send(p->s->socket, NOTE_STARTED, 0, NULL, -1);
		return;
	}
	(void)note_send(p->s->socket, NOTE_NOT_STARTED, num, NULL, -1);
	_exit(127);
}

static void forward(struct pid1 *p, int sig)
{
	if (p->command <= 0)
		return;
	if (kill(-p->command, sig) < 0)
		(void)kill(p->command, sig);
}

static void listen_to_guard(struct pid1 *p)
{
	struct note note;

	if (note_receive(p->s->socket, &note, NULL) <= 0)
		_exit(125);
	if (note.type == NOTE_RELEASE && !p->command)
		release(p);
	else if (note.type == NOTE_SIGNAL)
		forward(p, note.value);
	else if (note.type == NOTE_CONTINUE && p->stopped)
		continue_command(p);
}

void pid1_main(struct setup *s)
{
	struct pid1 p = {.s = s};
	struct pollfd fds[2];
	sigset_t all, child;

	(void)sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, NULL);
	(void)sigemptyset(&child);
	(void)sigaddset(&child, SIGCHLD);
	p.signal_fd = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
	if (p.signal_fd < 0) {
		(void)note_send(s->socket, NOTE_ERROR, errno,
				"wait for signals", -1);
		_exit(125);
	}
	if (note_send(s->socket, NOTE_READY, 0, NULL, s->master_fd) < 0)
		_exit(125);
	if (s->master_fd >= 0)
		(void)close(s->master_fd);
	fds[0] = (struct pollfd){.fd = s->socket, .events = POLLIN};
	fds[1] = (struct pollfd){.fd = p.signal_fd, .events = POLLIN};
	for (;;) {
		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			_exit(125);
		if (fds[1].revents)
			reap(&p);
		if (fds[0].revents)
			listen_to_guard(&p);
	}
}
