#include "guard/sandbox/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "base/mem.h"
#include "guard/sandbox/renames.h"

struct pid1 {
	struct setup *s;
	int signal_fd;
	pid_t command; /* 0: not started */
	bool stopped;
	struct renames renames;
};

/* What the command's process leaves here until its exec. */
struct birth {
	const struct setup *s;
	volatile int num; /* errno of the exec, 0: it came to pass */
	volatile int listener;
};

/* For execvp(3), which puts a script's arguments there. As address space
 * alone: pages that are not used do not exist. */
#define BIRTH_STACK ((size_t)8 << 20)

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

/* Comes back when the exec fails. */
static int run_command(void *arg)
{
	struct birth *b = arg;
	const struct setup *s = b->s;
	int num;

	(void)setpgid(0, 0);
	/* In the background of a pipeline it is stopped when it reads. */
	if (s->slave_fd >= 0 && !s->pipeline)
		(void)tcsetpgrp(s->slave_fd, getpid());
	reset_signals();
	environ = (char **)(uintptr_t)s->policy->envp;
	if (s->filters->renames.len)
		b->listener = filter_load_asking(s->filters->renames.data,
						 s->filters->renames.len);
	(void)execvp(s->policy->argv[0], s->policy->argv);
	num = errno;
	if (num == EACCES && !strchr(s->policy->argv[0], '/') &&
	    !is_in_path(s->policy->argv[0]))
		num = ENOENT;
	b->num = num;
	_exit(127);
}

/*
 * 0, or the errno of the exec. As vfork(2) does it: pid 1 has nothing else to
 * do until the exec, and a copy of its memory costs more than all the rest of
 * this. The descriptors are shared as well, so that the one where the renames
 * are asked about is pid 1's at once.
 */
static int start_command(struct pid1 *p)
{
	struct birth b = {.s = p->s, .listener = -1};
	char *stack = mmap(
		NULL, BIRTH_STACK, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
	pid_t pid;

	if (stack == MAP_FAILED)
		return errno;
	pid = clone(run_command, stack + BIRTH_STACK,
		    CLONE_VM | CLONE_VFORK | CLONE_FILES | SIGCHLD, &b);
	if (pid < 0)
		b.num = errno;
	(void)munmap(stack, BIRTH_STACK);
	renames_open(&p->renames, b.listener);
	if (pid < 0)
		return b.num;
	p->command = pid;
	(void)setpgid(p->command, p->command);
	return b.num;
}

/* ---- its ends ---- */

/*
 * Nothing is left when guard hears of the end. The terminal is given up
 * first: a session leader that exits with it hangs it up, and what the run
 * printed last would be thrown away. With our exit the kernel takes the
 * mounts down, and writes the layers' file system out for that: guard need
 * not wait for it, so nothing else of the run may be open here.
 */
static void __attribute__((noreturn)) end(struct pid1 *p, int status)
{
	int fd;

	renames_close(&p->renames);
	(void)kill(-1, SIGKILL);
	while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
		;
	(void)signal(SIGHUP, SIG_IGN);
	if (p->s->slave_fd >= 0) {
		(void)ioctl(p->s->slave_fd, TIOCNOTTY);
		(void)close(p->s->slave_fd);
	}
	for (fd = 0; fd < 3; fd++)
		(void)close(fd);
	(void)note_send(p->s->socket, NOTE_EXITED, status, NULL, -1);
	/* Who came in from outside is not ours to wait for: then it is our
	 * own end, which the kernel delays until that one is gone. */
	if (kill(-1, 0) < 0 && errno == ESRCH)
		(void)note_send(p->s->socket, NOTE_EMPTY, 0, NULL, -1);
	_exit(0);
}

static void continue_command(struct pid1 *p)
{
	if (p->stopped)
		(void)kill(-p->command, SIGCONT);
	p->stopped = false;
	(void)note_send(p->s->socket, NOTE_CONTINUED, 0, NULL, -1);
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
		if (pid != p->command && !WIFSTOPPED(status))
			(void)renames_reap(&p->renames, pid);
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
	else if (note.type == NOTE_CONTINUE)
		continue_command(p);
}

void pid1_main(struct setup *s)
{
	struct pid1 p = {.s = s, .renames = {.listener = -1}};
	struct pollfd fds[3];
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
		fds[2] = (struct pollfd){.fd = p.renames.listener,
					 .events = POLLIN};
		if (poll(fds, 3, -1) < 0 && errno != EINTR)
			_exit(125);
		if (fds[2].revents & POLLIN)
			renames_answer(&p.renames);
		else if (fds[2].revents)
			renames_hang_up(&p.renames);
		if (fds[1].revents)
			reap(&p);
		if (fds[0].revents)
			listen_to_guard(&p);
	}
}
