#include "guard/sandbox/freezer.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/dirtree.h"
#include "base/vec.h"
#include "guard/sandbox/procfs.h"

#define WAIT_MS 10000
/* A process that waits for pid 1's answer (notifier.h) is never frozen with its
 * control group. */
#define GROUP_WAIT_MS 1000
/* Bound for a run that creates processes faster than they are stopped. */
#define ROUNDS_MAX 1000

struct process {
	pid_t pid, parent;
	uint64_t start;
	bool stopped; /* by guard, or before */
	bool asking; /* a thread waits for pid 1's answer */
};

struct processes {
	struct process *items;
	size_t count, capacity;
};

struct freezer {
	struct processes stopped_list;
	int record_fd; /* holds the lock */
	sigset_t signals; /* the signal mask before */
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

/* True if the thread waits for pid 1's answer to a seccomp notification: even a
 * stop signal does not interrupt that, and the call is made, or its error
 * returned, only after the answer. The kernel's function is one of two, as the
 * compiler inlined it. */
static bool waits_for_answer(const char *dir)
{
	AUTO(buf) struct buf b = {0};
	auto_free char *path = mem_printf("%s/wchan", dir);
	struct err ignored;

	return fd_slurp_at(AT_FDCWD, path, 256, &b, &ignored) == 0 &&
	       strstr(buf_text(&b), "seccomp");
}

/* True if no thread executes. A process that has ended counts as stopped. */
static bool are_threads_stopped(pid_t pid, bool *ret_asking)
{
	auto_free char *tasks = mem_printf("/proc/%d/task", pid);
	AUTO(dirlist) struct dirlist list = {0};
	struct err ignored;
	size_t i;
	auto_close int fd = fd_open_dir(AT_FDCWD, tasks);

	*ret_asking = false;
	if (fd < 0 || dirlist_read(fd, &list, &ignored) < 0)
		return true;
	for (i = 0; i < list.count; i++) {
		auto_free char *dir =
			mem_printf("%s/%s", tasks, list.items[i].name);
		struct procfs_stat stat;

		if (!procfs_stat(dir, &stat) || is_stopped_state(stat.state))
			continue;
		if (stat.state != 'D' || !waits_for_answer(dir))
			return false;
		*ret_asking = true;
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

/* ---- the list of the suspended processes ---- */

/* One line for the frozen group, then one for each stopped process, each
 * written before the act:
 *
 *	group PATH
 *	PID START
 */
#define SUSPENDED "suspended"
#define PAUSED "paused"
#define SUSPENDED_MAX (64u << 20)

static int write_record(const struct freezer *f, const char *line,
			struct err *err)
{
	return fd_write(f->record_fd, line, strlen(line)) < 0
		       ? fail_errno(err, "write '" SUSPENDED "'")
		       : 0;
}

static int write_group_freeze(const char *group, const char *text)
{
	auto_free char *path = mem_printf("%s/cgroup.freeze", group);
	auto_close int fd = open(path, O_WRONLY | O_CLOEXEC);

	return fd < 0 ? -1 : fd_write(fd, text, 1);
}

/* The start time shows that a pid still means the same process. */
static void resume_process(const char *line)
{
	uint64_t start;
	int pid;

	if (sscanf(line, "%d %" SCNu64, &pid, &start) == 2 && pid > 0 &&
	    freezer_start_time(pid) == start)
		(void)kill(pid, SIGCONT);
}

/* Resumes all that the record names, and empties it. Children first: no parent
 * sees that its child was stopped. */
static void resume_recorded(int record_fd)
{
	static const char group[] = "group ";
	AUTO(buf) struct buf b = {0};
	struct err ignored;
	char *text, *line;

	if (lseek(record_fd, 0, SEEK_SET) < 0 ||
	    fd_slurp(record_fd, SUSPENDED_MAX, &b, &ignored) < 0)
		return;
	(void)buf_text(&b);
	text = (char *)b.data;
	while ((line = strrchr(text, '\n'))) {
		*line = '\0';
		line = strrchr(text, '\n');
		line = line ? line + 1 : text;
		if (strncmp(line, group, strlen(group)) == 0)
			(void)write_group_freeze(line + strlen(group), "0");
		else
			resume_process(line);
	}
	if (ftruncate(record_fd, 0) == 0)
		(void)lseek(record_fd, 0, SEEK_SET);
}

/* The record is the lock as well. */
static int open_record(int run_fd, struct err *err)
{
	int left_ms = WAIT_MS, fd;

	while ((fd = lock_take(run_fd, SUSPENDED, true, false, err)) ==
		       -EWOULDBLOCK &&
	       left_ms-- > 0)
		(void)poll(NULL, 0, 1);
	if (fd == -EWOULDBLOCK) {
		auto_free char *holders = lock_holders_at(run_fd, SUSPENDED);

		return fail(err, EBUSY, "%s has frozen it: wait for its end",
			    holders);
	}
	if (fd >= 0)
		resume_recorded(fd);
	return fd;
}

void freezer_resume_abandoned(int run_fd)
{
	struct err ignored;
	struct stat st;
	auto_close int fd = -1;

	if (fstatat(run_fd, SUSPENDED, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !st.st_size)
		return;
	fd = lock_take(run_fd, SUSPENDED, true, false, &ignored);
	if (fd >= 0)
		resume_recorded(fd);
}

/* Ctrl-Z would stop guard, and the run with it, until guard continues. */
static void block_stop(sigset_t *before)
{
	sigset_t stop;

	(void)sigemptyset(&stop);
	(void)sigaddset(&stop, SIGTSTP);
	(void)sigprocmask(SIG_BLOCK, &stop, before);
}

void freezer_end(struct freezer **freezer)
{
	struct freezer *f = *freezer;

	if (!f)
		return;
	*freezer = NULL;
	resume_recorded(f->record_fd);
	fd_close(&f->record_fd);
	(void)sigprocmask(SIG_SETMASK, &f->signals, NULL);
	free(f->stopped_list.items);
	free(f);
}

/* ---- with the cgroup freezer ---- */

/* The directory of the group that cgroup.c made for the run; NULL: none. */
static char *find_run_group(const char *groups, pid_t init)
{
	auto_free char *process = mem_printf("%d", init);
	auto_free char *group = procfs_cgroup(process, "");
	auto_free char *path = mem_printf("%s%s", groups, group);
	const char *name = strstr(path, "/guard-");

	if (!name || strcmp(name + 1 + strcspn(name + 1, "/"), "/run") != 0)
		return NULL;
	return TAKE(path);
}

/* Returns 1 if the group is frozen, 0 if signals are needed. */
static int freeze_group(const struct freezer *f, const char *group,
			struct err *err)
{
	auto_free char *events = mem_printf("%s/cgroup.events", group);
	auto_free char *line = mem_printf("group %s\n", group);
	int left_ms = GROUP_WAIT_MS;

	if (write_record(f, line, err) < 0)
		return -err->num;
	if (write_group_freeze(group, "1") < 0)
		return 0;
	while (left_ms-- >= 0) {
		AUTO(buf) struct buf b = {0};
		struct err ignored;

		if (fd_slurp_at(AT_FDCWD, events, 4096, &b, &ignored) < 0)
			break;
		if (strstr(buf_text(&b), "frozen 1"))
			return 1;
		(void)poll(NULL, 0, 1);
	}
	(void)write_group_freeze(group, "0");
	return 0;
}

static int wait_until_stopped(struct process *p, int *left_ms, struct err *err)
{
	while (!are_threads_stopped(p->pid, &p->asking)) {
		if ((*left_ms)-- <= 0)
			return fail(err, ETIMEDOUT,
				    "process %d of the run does not stop",
				    p->pid);
		(void)poll(NULL, 0, 1);
	}
	return 0;
}

static int stop_process(struct freezer *f, const struct process *p,
			int *left_ms, struct err *err)
{
	auto_free char *line = mem_printf("%d %" PRIu64 "\n", p->pid, p->start);

	struct process *added = VEC_ADD(&f->stopped_list);

	*added = *p;
	if (p->stopped)
		return 0;
	if (write_record(f, line, err) < 0)
		return -err->num;
	if (kill(p->pid, SIGSTOP) < 0 && errno != ESRCH)
		return fail_errno(err, "stop process %d of the run", p->pid);
	return wait_until_stopped(added, left_ms, err);
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
	size_t i;
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
	/* pid 1's workers stop late, and may have answered meanwhile. */
	for (i = 0; got >= 0 && i < f->stopped_list.count; i++)
		if (f->stopped_list.items[i].asking)
			got = wait_until_stopped(&f->stopped_list.items[i],
						 &left_ms, err);
	return got;
}

/* groups: where the cgroups are mounted. */
static int freezer_begin_in(const char *groups, int run_fd, pid_t init,
			    uint64_t start, struct freezer **ret,
			    struct err *err)
{
	struct process first = {.pid = init, .start = start};
	auto_free char *group = NULL;
	struct freezer *f;
	int got;

	if (!start || freezer_start_time(init) != start)
		return fail(err, ESRCH, "the run has ended");
	got = open_record(run_fd, err);
	if (got < 0)
		return err_context(err, "freeze the run");
	f = mem_zalloc(sizeof(*f));
	f->record_fd = got;
	block_stop(&f->signals);
	group = find_run_group(groups, init);
	got = group ? freeze_group(f, group, err) : 0;
	if (got == 0)
		got = stop_descendants(f, &first, err);
	if (got < 0) {
		freezer_end(&f);
		return err_context(err, "freeze the run");
	}
	*ret = f;
	return 0;
}

int freezer_begin(int run_fd, pid_t init, uint64_t start, struct freezer **ret,
		  struct err *err)
{
	return freezer_begin_in("/sys/fs/cgroup", run_fd, init, start, ret,
				err);
}

int freezer_pause(int run_fd, pid_t init, uint64_t start, struct err *err)
{
	struct freezer *f;
	/* With signals: the group belongs to the others. */
	int got = freezer_begin_in("/", run_fd, init, start, &f, err);

	if (got < 0)
		return got;
	if (renameat(run_fd, SUSPENDED, run_fd, PAUSED) < 0)
		got = fail_errno(err, "pause the run");
	else
		fd_close(&f->record_fd);
	freezer_end(&f);
	return got;
}

bool freezer_is_paused(int run_fd)
{
	return fd_exists(run_fd, PAUSED);
}

void freezer_continue(int run_fd)
{
	auto_close int fd = openat(run_fd, PAUSED, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return;
	resume_recorded(fd);
	(void)unlinkat(run_fd, PAUSED, 0);
}
