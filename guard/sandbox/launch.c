#include "guard/sandbox/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/text.h"
#include "guard/sandbox/internal.h"

#define TICK_MS 250
/* More threads than this make no way on any machine. */
#define PIDS_DEFAULT 1024
/* From SIGTERM to SIGKILL. */
#define GRACE_MS 2000

struct sandbox {
	struct setup setup;
	struct filters filters;
	struct tty *tty; /* NULL: the run has none */
	pid_t pid; /* the run's pid 1; 0: none */
	int pid_fd, socket;
	char *command; /* for messages */
	int64_t timeout_ms;
	/* from the release to the end: */
	int signal_fd; /* -1: signals are as the caller had them */
	sigset_t signals_before;
	bool has_status, ending;
	bool is_empty; /* its pid 1 alone is left, in its exit */
	int status;
	int64_t deadline; /* 0: none; monotonic ms */
	struct cgroup cgroup;
	struct watch watch;
	int64_t next_watch;
	enum sandbox_limit limit; /* why it is ending */
	/* what was asked for; 0: nothing */
	uint64_t memory, pids;
	unsigned int cpus_milli;
	bool held_by_kernel; /* the number of processes */
};

static int64_t now_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* ---- start ---- */

static char *path_of(int fd)
{
	char link[32], path[4096];
	ssize_t len;

	if (fd < 0)
		return NULL;
	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, path, sizeof(path) - 1);
	return len > 0 ? mem_strndup(path, (size_t)len) : NULL;
}

static int prepare(struct sandbox *sb, const struct sandbox_policy *policy,
		   struct err *err)
{
	struct setup *s = &sb->setup;
	int pair[2];
	int rc;

	*s = (struct setup){.policy = policy,
			    .filters = &sb->filters,
			    .uid = geteuid(),
			    .gid = getegid(),
			    .root = geteuid() == 0,
			    .socket = -1,
			    .guard_socket = -1,
			    .tmp_fd = -1,
			    .var_tmp_fd = -1,
			    .resolv_fd = -1,
			    .root_fd = -1,
			    .master_fd = -1,
			    .slave_fd = -1,
			    .tmp_path = path_of(policy->tmp_fd),
			    .var_tmp_path = path_of(policy->var_tmp_fd)};
	s->pids_limit = policy->pids_limit ? policy->pids_limit : PIDS_DEFAULT;
	cgroup_make(&sb->cgroup, "/sys/fs/cgroup", policy);
	s->pin = policy->cpus_milli && !sb->cgroup.holds[CGROUP_CPU];
	lockdown_core();
	sockets_find(s);
	sb->timeout_ms = policy->timeout_ms;
	sb->command = mem_strdup(policy->argv ? policy->argv[0] : "");
	rc = filters_make(
		&(struct filter_wishes){.nested = policy->nested,
					.pinned = s->pin,
					.perf = policy->allow_perf,
					.io_uring = policy->allow_io_uring,
					.userfaultfd =
						policy->allow_userfaultfd,
					.i386 = policy->allow_32bit},
		&sb->filters, err);
	if (rc == 0)
		rc = tty_find(s, &sb->tty, err);
	if (rc < 0)
		return rc;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return fail_errno(err, "make the way to the run");
	sb->socket = s->guard_socket = pair[0];
	s->socket = pair[1];
	return 0;
}

/* One call for all namespaces: the child is the run's pid 1 at once. Like
 * fork(2) otherwise: the caller has no threads. */
static int make_child(struct sandbox *sb, struct err *err)
{
	unsigned long flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID |
			      CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP |
			      CLONE_PIDFD | SIGCHLD;
	long pid;

	if (sb->setup.policy->net == SANDBOX_NET_NONE)
		flags |= CLONE_NEWNET;
	pid = syscall(SYS_clone, flags, NULL, &sb->pid_fd, NULL, 0UL);
	if (pid < 0) {
		sb->pid_fd = -1;
		return userns_explain(errno, "make the run's namespaces", err);
	}
	if (pid == 0)
		child_main(&sb->setup);
	sb->pid = (pid_t)pid;
	(void)close(sb->setup.socket);
	sb->setup.socket = -1;
	return 0;
}

static int give_maps(struct sandbox *sb, struct err *err)
{
	const struct setup *s = &sb->setup;
	int rc = userns_map(sb->pid, s->root, false, s->uid, s->gid, err);

	if (rc < 0)
		return rc;
	if (note_send(sb->socket, NOTE_MAPPED, 0, NULL, -1) < 0)
		return fail_errno(err, "talk to the run");
	return 0;
}

static int wait_until_ready(struct sandbox *sb, struct err *err)
{
	struct note note;
	int fd, rc;

	rc = note_receive(sb->socket, &note, &fd);
	if (rc < 0)
		return fail_errno(err, "listen to the run");
	if (rc == 0)
		return fail(err, ECHILD,
			    "the run's first process died while it was set "
			    "up");
	if (note.type == NOTE_ERROR)
		return fail(err, note.value, "%s", note.text);
	if (note.type != NOTE_READY || (sb->tty && fd < 0))
		return fail(err, EBADMSG, "odd answer from the run");
	if (sb->tty)
		tty_attach(sb->tty, fd);
	return 0;
}

/* A limit on processes binds everybody but uid 0. */
static bool is_held_by_kernel(const struct sandbox *sb)
{
	const struct sandbox_policy *p = sb->setup.policy;

	return sb->cgroup.holds[CGROUP_PIDS] || !sb->setup.root ||
	       (p->has_user && p->user != 0);
}

int sandbox_start(const struct sandbox_policy *policy, struct sandbox **ret,
		  struct err *err)
{
	AUTO(sandbox) struct sandbox *sb = mem_zalloc(sizeof(*sb));
	int rc;

	sb->pid_fd = sb->socket = sb->signal_fd = -1;
	sb->cgroup =
		(struct cgroup){.fd = {-1, -1, -1}, .parent = {-1, -1, -1}};
	rc = prepare(sb, policy, err);
	if (rc == 0)
		rc = make_child(sb, err);
	if (rc == 0)
		rc = cgroup_enter(&sb->cgroup, sb->pid, err);
	if (rc == 0)
		rc = give_maps(sb, err);
	if (rc == 0)
		rc = wait_until_ready(sb, err);
	if (rc < 0)
		return rc;
	sb->memory = policy->memory;
	sb->pids = policy->pids_limit;
	sb->cpus_milli = policy->cpus_milli;
	sb->held_by_kernel = is_held_by_kernel(sb);
	watch_begin(&sb->watch, sb->pid, sb->setup.pids_limit,
		    sb->held_by_kernel,
		    sb->cgroup.holds[CGROUP_MEMORY] ? 0 : policy->memory);
	*ret = TAKE(sb);
	return 0;
}

void sandbox_tell_limits(const struct sandbox *sb, struct buf *to)
{
	const bool *holds = sb->cgroup.holds;
	int version = sb->cgroup.version;

	if (sb->memory && holds[CGROUP_MEMORY])
		buf_printf(to, "memory: a cgroup (v%d) holds it. ", version);
	else if (sb->memory)
		buf_add_text(to, "memory: guard looks ten times a second, "
				 "since there is no cgroup for this user. ");
	if (sb->cpus_milli && holds[CGROUP_CPU])
		buf_printf(to, "processors: a cgroup (v%d). ", version);
	else if (sb->cpus_milli)
		buf_add_text(to, "processors: the run is kept on whole ones, "
				 "since there is no cgroup for this user. ");
	if (sb->pids && holds[CGROUP_PIDS])
		buf_printf(to, "processes: a cgroup (v%d). ", version);
	else if (sb->pids && sb->held_by_kernel)
		buf_add_text(to, "processes: a limit of the kernel's. ");
	else if (sb->pids)
		buf_add_text(to, "processes: guard looks four times a second, "
				 "since there is no cgroup. ");
	while (to->len && to->data[to->len - 1] == ' ')
		to->len--;
}

/* ---- the gate ---- */

static int explain_exec(const struct sandbox *sb, int num, struct err *err)
{
	const char *name = text_quote(sb->command);

	if (num == ENOENT && !strchr(sb->command, '/'))
		return fail(err, num, "%s: no such command in PATH", name);
	if (num == ENOENT)
		return fail(err, num,
			    "%s: no such file, or the interpreter that it "
			    "names is missing",
			    name);
	return fail_num(err, num, "run %s", name);
}

/* From before the command runs: one that comes early must not end guard. */
static int take_signals(struct sandbox *sb, struct err *err)
{
	static const int taken[] = {SIGINT,  SIGTERM,  SIGHUP, SIGQUIT,
				    SIGTSTP, SIGWINCH, SIGCONT};
	sigset_t set;
	size_t i;

	(void)sigemptyset(&set);
	for (i = 0; i < sizeof(taken) / sizeof(*taken); i++)
		(void)sigaddset(&set, taken[i]);
	sb->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (sb->signal_fd < 0)
		return fail_errno(err, "wait for signals");
	(void)sigprocmask(SIG_BLOCK, &set, &sb->signals_before);
	return 0;
}

/* The terminal and the signals are the caller's again. */
static void give_back(struct sandbox *sb)
{
	if (sb->tty)
		tty_leave(sb->tty, true);
	if (sb->signal_fd < 0)
		return;
	(void)close(sb->signal_fd);
	sb->signal_fd = -1;
	(void)sigprocmask(SIG_SETMASK, &sb->signals_before, NULL);
}

static int release(struct sandbox *sb, struct err *err)
{
	struct note note;

	if (note_send(sb->socket, NOTE_RELEASE, 0, NULL, -1) < 0)
		return fail_errno(err, "let the command go");
	if (note_receive(sb->socket, &note, NULL) <= 0)
		return fail(err, ECHILD, "the run's first process died");
	if (note.type == NOTE_STARTED)
		return 0;
	if (note.type == NOTE_NOT_STARTED)
		return explain_exec(sb, note.value, err);
	return fail(err, EBADMSG, "odd answer from the run");
}

int sandbox_release(struct sandbox *sb, struct err *err)
{
	int rc = take_signals(sb, err);

	if (rc < 0)
		return rc;
	if (sb->tty)
		tty_enter(sb->tty);
	rc = release(sb, err);
	if (rc < 0) {
		give_back(sb);
		return rc;
	}
	sb->deadline = sb->timeout_ms > 0 ? now_ms() + sb->timeout_ms : 0;
	sb->next_watch = now_ms() + watch_interval(&sb->watch);
	return 0;
}

/* ---- the end ---- */

static void kill_run(const struct sandbox *sb)
{
	if (sb->pid_fd >= 0)
		(void)syscall(SYS_pidfd_send_signal, sb->pid_fd, SIGKILL, NULL,
			      0);
}

/* First politely, then not. */
static void end_run(struct sandbox *sb)
{
	if (sb->ending) {
		kill_run(sb);
		sb->deadline = 0;
		return;
	}
	sb->ending = true;
	sb->deadline = now_ms() + GRACE_MS;
	(void)note_send(sb->socket, NOTE_SIGNAL, SIGTERM, NULL, -1);
	(void)note_send(sb->socket, NOTE_SIGNAL, SIGCONT, NULL, -1);
}

/* ---- signals and stops ---- */

static void stop_self(const struct sandbox *sb)
{
	struct sigaction old, plain = {.sa_handler = SIG_DFL};
	sigset_t stop, before;

	(void)sigaction(SIGTSTP, &plain, &old);
	(void)sigemptyset(&stop);
	(void)sigaddset(&stop, SIGTSTP);
	/* The terminal would have stopped all of the foreground group. Where
	 * nobody could wake us up (an orphaned group) this does nothing, as
	 * Ctrl-Z does there. */
	if (sb->tty)
		(void)kill(0, SIGTSTP);
	else
		(void)kill(getpid(), SIGTSTP);
	(void)sigprocmask(SIG_UNBLOCK, &stop, &before);
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	(void)sigaction(SIGTSTP, &old, NULL);
}

static void command_stopped(struct sandbox *sb)
{
	if (sb->tty)
		tty_leave(sb->tty, false);
	stop_self(sb);
	if (sb->tty) {
		tty_hold(sb->tty, true);
		tty_enter(sb->tty);
	}
	(void)note_send(sb->socket, NOTE_CONTINUE, 0, NULL, -1);
}

static void take_signal(struct sandbox *sb)
{
	struct signalfd_siginfo info;

	if (read(sb->signal_fd, &info, sizeof(info)) != sizeof(info))
		return;
	switch (info.ssi_signo) {
	case SIGWINCH:
		if (sb->tty)
			tty_resize(sb->tty);
		break;
	case SIGCONT:
		/* Perhaps in the foreground now. */
		if (sb->tty)
			tty_enter(sb->tty);
		break;
	default:
		(void)note_send(sb->socket, NOTE_SIGNAL, (int)info.ssi_signo,
				NULL, -1);
	}
}

/* False when nothing more will come. */
static bool take_note(struct sandbox *sb)
{
	struct note note;

	if (note_receive(sb->socket, &note, NULL) <= 0)
		return false;
	switch (note.type) {
	case NOTE_EXITED:
		sb->status = note.value;
		sb->has_status = true;
		break;
	case NOTE_CONTINUED:
		if (sb->tty)
			tty_hold(sb->tty, false);
		break;
	case NOTE_EMPTY:
		sb->is_empty = true;
		break;
	case NOTE_STOPPED:
		if (!sb->ending)
			command_stopped(sb);
		break;
	case NOTE_READS:
		if (sb->tty)
			tty_want_input(sb->tty);
		(void)note_send(sb->socket, NOTE_CONTINUE, 0, NULL, -1);
		break;
	default:
		break;
	}
	return true;
}

/* ---- the loop ---- */

static int64_t earlier(int64_t a, int64_t b)
{
	return a && (!b || a < b) ? a : b;
}

/* next_tick 0: there is none. */
static int next_wait(const struct sandbox *sb, int64_t next_tick)
{
	int64_t now = now_ms(), then = earlier(sb->deadline, next_tick);

	then = earlier(then, sb->next_watch);

	if (sb->tty && tty_waits(sb->tty))
		then = earlier(then, now + TICK_MS);
	if (!then)
		return -1;
	if (then <= now)
		return 0;
	return (int)(then - now > 60000 ? 60000 : then - now);
}

static void stop_run(struct sandbox *sb)
{
	sb->ending = true;
	kill_run(sb);
}

static void look_at_limits(struct sandbox *sb)
{
	enum sandbox_limit limit;

	if (sb->ending || now_ms() < sb->next_watch)
		return;
	sb->next_watch = now_ms() + watch_interval(&sb->watch);
	limit = watch_tick(&sb->watch);
	if (limit == SANDBOX_LIMIT_NONE)
		return;
	sb->limit = limit;
	stop_run(sb);
}

/* Until the last process but pid 1 is gone, which cannot do anything more, or
 * pid 1 with all of them. */
static int relay(struct sandbox *sb,
		 enum sandbox_wish (*tick)(void *arg, int *ret_next_ms),
		 void *arg, struct err *err)
{
	int64_t next_tick = tick ? now_ms() : 0;
	struct pollfd fds[6];
	size_t count;

	for (;;) {
		fds[0] = (struct pollfd){.fd = sb->pid_fd, .events = POLLIN};
		fds[1] = (struct pollfd){.fd = sb->signal_fd, .events = POLLIN};
		fds[2] = (struct pollfd){.fd = sb->socket, .events = POLLIN};
		count = sb->tty ? tty_poll(sb->tty, fds + 3) : 0;
		if (poll(fds, 3 + count, next_wait(sb, next_tick)) < 0 &&
		    errno != EINTR)
			return fail_errno(err, "wait for the run");
		if (count)
			tty_relay(sb->tty, fds + 3, count);
		if (fds[1].revents)
			take_signal(sb);
		if (fds[2].revents && !take_note(sb))
			(void)poll(fds, 1, -1);
		if (fds[0].revents || sb->is_empty)
			return 0;
		if (sb->deadline && now_ms() >= sb->deadline) {
			if (!sb->ending)
				sb->limit = SANDBOX_LIMIT_TIME;
			end_run(sb);
		}
		look_at_limits(sb);
		if (tick && now_ms() >= next_tick) {
			int ms = TICK_MS;

			if (tick(arg, &ms) == SANDBOX_KILL)
				stop_run(sb);
			next_tick = now_ms() + ms;
		}
	}
}

static void collect(struct sandbox *sb)
{
	struct note note;

	while (!sb->is_empty && note_receive(sb->socket, &note, NULL) > 0)
		if (note.type == NOTE_EXITED) {
			sb->status = note.value;
			sb->has_status = true;
		}
	if (!sb->is_empty)
		sandbox_unmount(sb);
	if (sb->tty)
		tty_drain(sb->tty);
}

static struct sandbox_result make_result(const struct sandbox *sb)
{
	struct sandbox_result result = {SANDBOX_SIGNALED, SIGKILL};

	if (sb->ending)
		return (struct sandbox_result){.end = SANDBOX_STOPPED,
					       .limit = sb->limit};
	result.killed = cgroup_killed(&sb->cgroup);
	if (!sb->has_status)
		return result;
	if (WIFEXITED(sb->status)) {
		result.end = SANDBOX_EXITED;
		result.code = WEXITSTATUS(sb->status);
	} else {
		result.code = WTERMSIG(sb->status);
	}
	return result;
}

int sandbox_wait(struct sandbox *sb,
		 enum sandbox_wish (*tick)(void *arg, int *ret_next_ms),
		 void *arg, struct sandbox_result *ret, struct err *err)
{
	int rc = relay(sb, tick, arg, err);

	if (rc < 0)
		kill_run(sb);
	collect(sb);
	give_back(sb);
	if (rc < 0)
		return rc;
	*ret = make_result(sb);
	return 0;
}

void sandbox_unmount(struct sandbox *sb)
{
	while (sb->pid > 0 && waitpid(sb->pid, NULL, __WALL) < 0 &&
	       errno == EINTR)
		;
	sb->pid = 0;
	cgroup_remove(&sb->cgroup);
}

pid_t sandbox_init(const struct sandbox *sb)
{
	return sb->pid;
}

void sandbox_free(struct sandbox **sb)
{
	struct sandbox *b = *sb;

	if (!b)
		return;
	*sb = NULL;
	if (b->pid > 0 && !b->is_empty) {
		kill_run(b);
		sandbox_unmount(b);
	}
	give_back(b);
	cgroup_remove(&b->cgroup);
	tty_free(&b->tty);
	if (b->socket >= 0)
		(void)close(b->socket);
	if (b->setup.socket >= 0)
		(void)close(b->setup.socket);
	if (b->pid_fd >= 0)
		(void)close(b->pid_fd);
	filters_free(&b->filters);
	sockets_free(&b->setup);
	free(b->setup.tmp_path);
	free(b->setup.var_tmp_path);
	free(b->command);
	free(b);
}
