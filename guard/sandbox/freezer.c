#include "guard/sandbox/freezer.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/dirtree.h"
#include "base/vec.h"
#include "guard/sandbox/procfs.h"

#define WAIT_MS 10000
/* Bound for a run that creates processes faster than they are stopped. */
#define ROUNDS_MAX 1000

struct process {
	pid_t pid, parent;
	uint64_t start;
	bool stopped; /* by guard, or before */
};

struct processes {
	struct process *items;
	size_t count, capacity;
};

struct freezer {
	struct processes stopped_list;
	int group_fd; /* the run's cgroup; -1: stop with signals */
	int pipe; /* to the process that resumes the run */
	pid_t resumer;
};

/* ---- state of processes ---- */

uint64_t freezer_start_time(pid_t pid)
{
	struct procfs_stat stat;

	return procfs_stat_of(pid, &stat) ? stat.start : 0;
}

static bool is_stopped_state(char state)
{
	return state == 'T' || state == 't' || state == 'Z' || state == 'X';
}

/* True if all threads are stopped. A process that has ended counts as
 * stopped. */
static bool are_threads_stopped(pid_t pid)
{
	auto_free char *tasks = mem_printf("/proc/%d/task", pid);
	AUTO(dirlist) struct dirlist list = {0};
	struct err ignored;
	size_t i;
	auto_close int fd = fd_open_dir(AT_FDCWD, tasks);

	if (fd < 0 || dirlist_read(fd, &list, &ignored) < 0)
		return true;
	for (i = 0; i < list.count; i++) {
		auto_free char *dir =
			mem_printf("%s/%s", tasks, list.items[i].name);
		struct procfs_stat stat;

		if (procfs_stat(dir, &stat) && !is_stopped_state(stat.state))
			return false;
	}
	return true;
}

/* Lists all processes of the machine. */
static int read_processes(struct processes *ret, struct err *err)
{
	auto_close int fd = fd_open_dir(AT_FDCWD, "/proc");
	AUTO(dirlist) struct dirlist list = {0};
	size_t i;

	if (fd < 0)
		return fail_errno(err, "open /proc");
	if (dirlist_read(fd, &list, err) < 0)
		return -err->num;
	for (i = 0; i < list.count; i++) {
		auto_free char *dir =
			mem_printf("/proc/%s", list.items[i].name);
		struct procfs_stat stat;

		if (!isdigit((unsigned char)list.items[i].name[0]) ||
		    !procfs_stat(dir, &stat))
			continue;
		*VEC_ADD(ret) = (struct process){
			.pid = (pid_t)strtol(list.items[i].name, NULL, 10),
			.parent = stat.parent,
			.start = stat.start,
			.stopped = is_stopped_state(stat.state),
		};
	}
	return 0;
}

static const struct process *find_listed_process(const struct processes *list,
						 pid_t pid)
{
	size_t i;

	for (i = 0; i < list->count; i++)
		if (list->items[i].pid == pid)
			return &list->items[i];
	return NULL;
}

/* ---- the process that resumes the run ---- */

static int write_group_freeze(int group_fd, const char *text)
{
	auto_close int fd =
		openat(group_fd, "cgroup.freeze", O_WRONLY | O_CLOEXEC);

	return fd < 0 ? -1 : fd_write(fd, text, 1);
}

/* Receives each process before it is stopped. End of file means that the caller
 * is done or has died. */
static void __attribute__((noreturn)) resume_at_end(int fd, int group_fd)
{
	struct processes list = {0};
	struct process p;
	size_t i;

	while (fd_read(fd, &p, sizeof(p)) == (ssize_t)sizeof(p))
		*VEC_ADD(&list) = p;
	/* Thaw the group and send SIGCONT: processes were stopped with signals
	 * if the group did not freeze in time. */
	if (group_fd >= 0)
		(void)write_group_freeze(group_fd, "0");
	/* The start time shows that a pid still means the same process. */
	for (i = list.count; i-- > 0;)
		if (freezer_start_time(list.items[i].pid) ==
		    list.items[i].start)
			(void)kill(list.items[i].pid, SIGCONT);
	_exit(0);
}

static int start_resumer(struct freezer *f, struct err *err)
{
	int ends[2];
	sigset_t all;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return fail_errno(err, "pipe");
	f->resumer = fork();
	if (f->resumer == 0) {
		(void)sigfillset(&all);
		(void)sigprocmask(SIG_SETMASK, &all, NULL);
		(void)setsid();
		(void)close(ends[1]);
		resume_at_end(ends[0], f->group_fd);
	}
	(void)close(ends[0]);
	f->pipe = ends[1];
	return f->resumer < 0 ? fail_errno(err, "fork") : 0;
}

void freezer_end(struct freezer **freezer)
{
	struct freezer *f = *freezer;

	if (!f)
		return;
	*freezer = NULL;
	fd_close(&f->pipe);
	while (f->resumer > 0 && waitpid(f->resumer, NULL, 0) < 0 &&
	       errno == EINTR)
		;
	fd_close(&f->group_fd);
	free(f->stopped_list.items);
	free(f);
}

/* ---- with the cgroup freezer ---- */

/* Opens the group that cgroup.c made for the run; -1: none. */
static int open_run_group(const char *groups, pid_t init)
{
	auto_free char *process = mem_printf("%d", init);
	auto_free char *group = procfs_cgroup(process, "");
	auto_free char *path = mem_printf("%s%s", groups, group);
	const char *name = strstr(path, "/guard-");

	if (!name || strcmp(name + 1 + strcspn(name + 1, "/"), "/run") != 0)
		return -1;
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* Returns -1 if signals are needed. */
static int freeze_group(struct freezer *f)
{
	int left_ms = WAIT_MS;

	if (f->group_fd < 0 || write_group_freeze(f->group_fd, "1") < 0)
		return -1;
	while (left_ms-- >= 0) {
		AUTO(buf) struct buf b = {0};
		struct err ignored;

		if (fd_slurp_at(f->group_fd, "cgroup.events", 4096, &b,
				&ignored) < 0)
			break;
		if (strstr(buf_text(&b), "frozen 1"))
			return 0;
		(void)poll(NULL, 0, 1);
	}
	(void)write_group_freeze(f->group_fd, "0");
	return -1;
}

static int stop_process(struct freezer *f, const struct process *p,
			int *left_ms, struct err *err)
{
	*VEC_ADD(&f->stopped_list) = *p;
	if (p->stopped)
		return 0;
	if (fd_write(f->pipe, p, sizeof(*p)) < 0)
		return fail_errno(err, "pipe");
	if (kill(p->pid, SIGSTOP) < 0 && errno != ESRCH)
		return fail_errno(err, "stop process %d of the run", p->pid);
	while (!are_threads_stopped(p->pid)) {
		if ((*left_ms)-- <= 0)
			return fail(err, ETIMEDOUT,
				    "process %d of the run does not stop",
				    p->pid);
		(void)poll(NULL, 0, 1);
	}
	return 0;
}

/* Returns 1 if it stopped any process, 0 if all were stopped. */
static int stop_new_descendants(struct freezer *f, int *left_ms,
				struct err *err)
{
	struct processes all = {0};
	size_t i;
	int got = read_processes(&all, err);
	int more = 0;

	for (i = 0; got == 0 && i < all.count; i++) {
		const struct process *p = &all.items[i];
		const struct process *known =
			find_listed_process(&f->stopped_list, p->pid);

		if ((known && known->start == p->start) ||
		    !find_listed_process(&f->stopped_list, p->parent))
			continue;
		more = 1;
		got = stop_process(f, p, left_ms, err);
	}
	free(all.items);
	return got < 0 ? got : more;
}

static int stop_descendants(struct freezer *f, const struct process *init,
			    struct err *err)
{
	int left_ms = WAIT_MS, rounds = 0, quiet = 0;
	int got = stop_process(f, init, &left_ms, err);

	/* A listing of /proc is not atomic, so it takes two in a row without a
	 * new process. */
	while (got >= 0 && quiet < 2) {
		got = stop_new_descendants(f, &left_ms, err);
		quiet = got ? 0 : quiet + 1;
		if (rounds++ == ROUNDS_MAX)
			return fail(err, ETIMEDOUT,
				    "the run creates processes faster than "
				    "guard can stop them");
	}
	return got;
}

int freezer_begin_in(const char *groups, pid_t init, uint64_t start,
		     struct freezer **ret, struct err *err)
{
	struct process first = {.pid = init, .start = start};
	struct freezer *f;
	int got;

	if (!start || freezer_start_time(init) != start)
		return fail(err, ESRCH, "the run has ended");
	f = mem_zalloc(sizeof(*f));
	f->pipe = -1;
	f->group_fd = open_run_group(groups, init);
	got = start_resumer(f, err);
	if (got == 0 && freeze_group(f) < 0)
		got = stop_descendants(f, &first, err);
	if (got < 0) {
		freezer_end(&f);
		return err_context(err, "freeze the run");
	}
	*ret = f;
	return 0;
}

int freezer_begin(pid_t init, uint64_t start, struct freezer **ret,
		  struct err *err)
{
	return freezer_begin_in("/sys/fs/cgroup", init, start, ret, err);
}
