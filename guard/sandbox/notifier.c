#include "guard/sandbox/notifier.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fstype.h"
#include "base/path.h"
#include "base/dirtree.h"
#include "base/fd.h"
#include "base/timestamp.h"
#include "guard/sandbox/rename_exdev.h"

/* Since Linux 6.6: the supervisor is woken up on the CPU of the caller. */
#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS SECCOMP_IOW(4, __u64)
#endif
#define SYNC_WAKE_UP 1UL

/* Exit status of a worker that replied EXDEV. */
#define STATUS_REFUSED 1

/* Tries to resolve a path while other processes rename. */
#define TRIES_MAX 100

/* Time for workers to undo their work in notifier_close(). */
#define UNDO_MS 2000

/* Newer kernels have longer structures. */
union notification {
	struct seccomp_notif notif;
	char bytes[256];
};

/* One of the two names of a rename. */
struct name {
	int dirfd; /* of the caller */
	char path[PATH_MAX];
	char last[NAME_MAX + 1];
	int parent_fd;
	bool in_start; /* the path is a single name */
};

static void name_free(struct name *n)
{
	fd_close(&n->parent_fd);
}

static void reply_to_notification(const struct notifier *r, uint64_t id,
				  int num, bool let_kernel_continue)
{
	struct seccomp_notif_resp answer = {
		.id = id,
		.error = -num,
		.flags = let_kernel_continue ? SECCOMP_USER_NOTIF_FLAG_CONTINUE
					     : 0,
	};

	/* ENOENT: the caller has ended. */
	(void)ioctl(r->listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
}

/* ---- the caller's arguments ---- */

/* Reads a NUL-terminated text; false if it is incomplete. Reads page by page,
 * since process_vm_readv(2) reads a page completely or not at all. */
static bool read_caller_text(pid_t pid, uint64_t address, char *text,
			     size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), done = 0;

	while (done < bytes) {
		size_t len = page - (size_t)((address + done) % page);
		struct iovec here, there;
		ssize_t got;

		if (len > bytes - done)
			len = bytes - done;
		here = (struct iovec){text + done, len};
		there = (struct iovec){(void *)(uintptr_t)(address + done),
				       len};
		got = process_vm_readv(pid, &here, 1, &there, 1, 0);
		if (got <= 0)
			return false;
		if (memchr(text + done, '\0', (size_t)got))
			return true;
		done += (size_t)got;
	}
	return false;
}

/* The directory where the caller's path starts, as a path for this process. */
static void caller_start_path(pid_t pid, const struct name *n, char text[48])
{
	if (n->path[0] == '/')
		(void)snprintf(text, 48, "/proc/%d/root", (int)pid);
	else if (n->dirfd == AT_FDCWD)
		(void)snprintf(text, 48, "/proc/%d/cwd", (int)pid);
	else
		(void)snprintf(text, 48, "/proc/%d/fd/%d", (int)pid, n->dirfd);
}

/* A cheap stat that ends nearly all notifications. */
static bool is_caller_dir(pid_t pid, const struct name *n)
{
	char start[48], path[PATH_MAX];
	struct stat st;
	int len;

	caller_start_path(pid, n, start);
	len = snprintf(path, sizeof(path), "%s/%s", start, n->path);
	return len < (int)sizeof(path) &&
	       fstatat(AT_FDCWD, path, &st,
		       AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) == 0 &&
	       S_ISDIR(st.st_mode);
}

/* Opens the directory where the caller's path starts. other: a name whose
 * parent is open and often the same directory, or NULL. */
static int open_start(pid_t pid, const struct name *n, const struct name *other)
{
	char text[48];

	if (other && other->in_start && other->dirfd == n->dirfd &&
	    n->path[0] != '/')
		return fcntl(other->parent_fd, F_DUPFD_CLOEXEC, 0);
	caller_start_path(pid, n, text);
	return open(text, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* Opens a path of the caller with O_PATH, which opens no device and waits for
 * nothing. A nested sandbox may have another root. EAGAIN: the kernel cannot
 * tell whether ".." left the scope, because of a rename anywhere. */
static int open_caller_path(const struct notifier *r, int start,
			    const char *path, uint64_t flags, uint64_t scope)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC | flags,
		.resolve = RESOLVE_NO_MAGICLINKS | scope,
	};
	int fd, tries = 0;

	if (r->policy->nested && *path == '/')
		how.resolve |= RESOLVE_IN_ROOT;
	do
		fd = (int)syscall(SYS_openat2, start, path, &how, sizeof(how));
	while (fd < 0 && errno == EAGAIN && tries++ < TRIES_MAX);
	return fd;
}

/* Opens the parent directory. Trailing slashes are ignored: the name is a
 * directory. "." and ".." are left to the kernel, which has errors for them.
 * With nested the caller's mounts may permit less than pid 1's own, so that a
 * relative path may not leave its start. */
static bool open_rename_parent(const struct notifier *r, pid_t pid,
			       struct name *n, const struct name *other)
{
	auto_close int start = open_start(pid, n, other);
	size_t len = strlen(n->path), begin;

	while (len && n->path[len - 1] == '/')
		len--;
	begin = len;
	while (begin && n->path[begin - 1] != '/')
		begin--;
	if (start < 0 || !path_name_ok(n->path + begin, len - begin))
		return false;
	memcpy(n->last, n->path + begin, len - begin);
	n->last[len - begin] = '\0';
	if (begin == 0) {
		n->in_start = true;
		n->parent_fd = TAKE_FD(start);
		return true;
	}
	n->path[begin] = '\0';
	n->parent_fd = open_caller_path(
		r, start, n->path, O_DIRECTORY,
		r->policy->nested && *n->path != '/' ? RESOLVE_BENEATH : 0);
	return n->parent_fd >= 0;
}

/* True if the rename stays on one mount. */
static bool on_one_mount(const struct name *from, const struct name *to)
{
	struct statx a, b, c;

	return statx(from->parent_fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &a) ==
		       0 &&
	       statx(from->parent_fd, from->last,
		     AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT,
		     STATX_MNT_ID | STATX_TYPE, &b) == 0 &&
	       statx(to->parent_fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &c) == 0 &&
	       S_ISDIR(b.stx_mode) && a.stx_mnt_id == b.stx_mnt_id &&
	       a.stx_mnt_id == c.stx_mnt_id;
}

/* A directory is more telling than a program. */
static void record_refused_rename(struct notifier *r, const char *name,
				  enum sandbox_refused_rename how)
{
	if (*r->refused && r->refused_how != SANDBOX_RENAME_UNREADABLE)
		return;
	(void)snprintf(r->refused, sizeof(r->refused), "%s", name);
	r->refused_how = how;
}

/* The rename may be of a file, or succeed. */
static void record_unreadable_rename(struct notifier *r, pid_t pid)
{
	char path[48], name[17] = "";
	auto_close int fd = -1;

	(void)snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (*r->refused || fd < 0 || read(fd, name, sizeof(name) - 1) <= 0)
		return;
	name[strcspn(name, "\n")] = '\0';
	record_refused_rename(r, name, SANDBOX_RENAME_UNREADABLE);
}

/* EPERM means that the caller is not dumpable: its memory and descriptors are
 * unreadable. */
static bool read_caller_path(struct notifier *r, pid_t pid, uint64_t address,
			     struct name *n)
{
	errno = 0;
	if (read_caller_text(pid, address, n->path, sizeof(n->path)))
		return true;
	if (errno == EPERM)
		record_unreadable_rename(r, pid);
	return false;
}

/* Fills in both parent directories and the flags. */
static bool read_rename_arguments(struct notifier *r,
				  const struct seccomp_notif *q,
				  struct name *from, struct name *to,
				  unsigned int *ret_flags)
{
	pid_t pid = (pid_t)q->pid;
	uint64_t addresses[2], id = q->id;
	struct name other;
	bool is_dir;

	*ret_flags = 0;
#ifdef SYS_rename
	if (q->data.nr == SYS_rename) {
		from->dirfd = to->dirfd = AT_FDCWD;
		addresses[0] = q->data.args[0];
		addresses[1] = q->data.args[1];
	} else
#endif
	{
		from->dirfd = (int)q->data.args[0];
		to->dirfd = (int)q->data.args[2];
		addresses[0] = q->data.args[1];
		addresses[1] = q->data.args[3];
		if (q->data.nr == SYS_renameat2)
			*ret_flags = (unsigned int)q->data.args[4];
	}
	if (pid <= 0 || !read_caller_path(r, pid, addresses[0], from))
		return false;
	/* Nearly all notifications are about files and end here. */
	is_dir = is_caller_dir(pid, from);
	if ((!is_dir && !(*ret_flags & RENAME_EXCHANGE)) ||
	    !read_caller_path(r, pid, addresses[1], to))
		return false;
	/* An exchange is symmetric: swap the names so that the first is a
	 * directory. */
	if (!is_dir) {
		other = *from;
		*from = *to;
		*to = other;
		is_dir = is_caller_dir(pid, from);
	}
	return is_dir && open_rename_parent(r, pid, from, NULL) &&
	       open_rename_parent(r, pid, to, from) &&
	       fstype_of_fd(from->parent_fd)->traits & FSTYPE_OVERLAY &&
	       /* The notification is still valid, so pid was the caller's all
		* the time and not reused. */
	       ioctl(r->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
}

/* ---- the worker ---- */

struct waiting_caller {
	int listener;
	uint64_t id;
};

static volatile sig_atomic_t stopped;

static void stop_rename_worker(int sig)
{
	(void)sig;
	stopped = 1;
}

/* False once the caller has ended. */
static bool is_caller_waiting(void *arg)
{
	const struct waiting_caller *w = arg;
	uint64_t id = w->id;

	return !stopped &&
	       ioctl(w->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
}

struct notifier_clock notifier_clock(void)
{
	return (struct notifier_clock){timestamp_now().sec,
				       timestamp_boot_ns() / TIMESTAMP_NS};
}

/* Files with an older ctime were not written in this run. A file system's clock
 * has finer steps than a second, hence one second less. After a change of the
 * system clock no time is reliable. */
static time_t unwritten_before(const struct notifier *r)
{
	struct notifier_clock now = notifier_clock();
	time_t moved = (now.real - now.boot) - (r->begin.real - r->begin.boot);

	return moved < -1 || moved > 1 ? 0 : r->begin.real - 1;
}

static void __attribute__((noreturn))
run_rename_worker(const struct notifier *r, uint64_t id,
		  const struct name *from, const struct name *to,
		  bool no_replace, const char *temporary)
{
	struct waiting_caller w = {r->listener, id};
	struct exdev_rename m = {
		.from_fd = from->parent_fd,
		.from = from->last,
		.to_fd = to->parent_fd,
		.to = to->last,
		.temporary = temporary,
		.no_replace = no_replace,
		.how = {is_caller_waiting, &w, unwritten_before(r)},
	};
	struct sigaction action = {.sa_handler = stop_rename_worker};
	sigset_t term;
	int rc;

	(void)prctl(PR_SET_NAME, "guard-rename");
	(void)umask(0);
	(void)sigemptyset(&term);
	(void)sigaddset(&term, SIGTERM);
	(void)sigaction(SIGTERM, &action, NULL);
	(void)sigprocmask(SIG_UNBLOCK, &term, NULL);
	rc = rename_exdev(&m);
	reply_to_notification(r, id, rc == -EINTR ? EXDEV : -rc, false);
	_exit(rc == -EXDEV ? STATUS_REFUSED : 0);
}

static bool start_rename_worker(struct notifier *r, uint64_t id,
				struct name *from, struct name *to,
				bool no_replace)
{
	struct notifier_worker *w = r->workers;

	while (w < r->workers + RENAME_WORKERS && w->pid)
		w++;
	if (w == r->workers + RENAME_WORKERS)
		return false;
	(void)snprintf(w->name, sizeof(w->name), "%s", from->last);
	(void)snprintf(w->temporary, sizeof(w->temporary),
		       ".guard-rename-%016llx", (unsigned long long)id);
	w->pid = fork();
	if (w->pid == 0)
		run_rename_worker(r, id, from, to, no_replace, w->temporary);
	if (w->pid < 0) {
		w->pid = 0;
		return false;
	}
	w->id = id;
	w->to_fd = TAKE_FD(to->parent_fd);
	return true;
}

/* ---- files that are overwritten ---- */

/* True if an open with these flags does not wait for the end of a lease. The
 * filter decides for the calls that have their flags in an argument. */
static bool passes_lease(uint64_t flags)
{
	return flags & (flags & O_ACCMODE ? O_NONBLOCK : O_TRUNC);
}

static bool read_caller_how(pid_t pid, uint64_t address, struct open_how *how)
{
	struct iovec here = {how, sizeof(*how)};
	struct iovec there = {(void *)(uintptr_t)address, sizeof(*how)};

	return process_vm_readv(pid, &here, 1, &there, 1, 0) ==
	       (ssize_t)sizeof(*how);
}

/* Opens the file that the call opens or truncates, O_PATH. Returns -1 unless it
 * is a regular file of a layer. A missing file, a wrong type and any other
 * error are left to the kernel. */
static int open_caller_file(struct notifier *r, const struct seccomp_notif *q,
			    struct stat *ret)
{
	const uint64_t *args = (const uint64_t *)q->data.args;
	struct open_how how = {.flags = O_TRUNC};
	struct name n = {.dirfd = AT_FDCWD};
	auto_close int start = -1, fd = -1;
	uint64_t path = args[0], id = q->id;
	pid_t pid = (pid_t)q->pid;
	size_t slashes = 0;

	if (q->data.nr == SYS_openat || q->data.nr == SYS_openat2) {
		n.dirfd = (int)args[0];
		path = args[1];
		how.flags = args[2];
	}
#ifdef SYS_open
	if (q->data.nr == SYS_open)
		how.flags = args[1];
#endif
	if (q->data.nr == SYS_openat2 &&
	    (!read_caller_how(pid, args[2], &how) || !passes_lease(how.flags)))
		return -1;
	errno = 0;
	if (!read_caller_text(pid, path, n.path, sizeof(n.path))) {
		if (errno == EPERM)
			r->unasked = "guard cannot read the memory of a "
				     "program";
		return -1;
	}
	/* The root of such a call is its directory. */
	if (how.resolve & (RESOLVE_IN_ROOT | RESOLVE_BENEATH)) {
		slashes = strspn(n.path, "/");
		memmove(n.path, n.path + slashes, strlen(n.path + slashes) + 1);
	}
	start = open_start(pid, &n, NULL);
	fd = open_caller_path(r, start, n.path,
			      how.flags & (O_NOFOLLOW | O_DIRECTORY),
			      how.resolve & ~(uint64_t)RESOLVE_CACHED);
	if (fd < 0 || fstat(fd, ret) < 0 || !S_ISREG(ret->st_mode) ||
	    !(fstype_of_fd(fd)->traits & FSTYPE_OVERLAY) ||
	    ioctl(r->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) < 0)
		return -1;
	return TAKE_FD(fd);
}

/* Opens the file for writing and closes it: overlayfs then ends a lease on the
 * file in the upper layer, and the open waits until its holder has given the
 * lease up. */
static int end_lease(int fd, int flags)
{
	char path[32];
	int out;

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	out = open(path, O_WRONLY | O_CLOEXEC | flags);
	if (out < 0)
		return -errno;
	(void)close(out);
	return 0;
}

/* A program that is root in a namespace of its own may write to files whose
 * mode lets the run only read. */
static void enter_caller_userns(pid_t pid)
{
	char path[48];
	auto_close int fd = -1;

	(void)snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		(void)setns(fd, CLONE_NEWUSER);
}

/* Starts a worker that replies once the file has no lease; not while busy.
 * Returns false if the run has reached its limit of processes. */
static bool start_lease_worker(struct notifier *r,
			       const struct seccomp_notif *q, int fd)
{
	size_t i = 0;
	pid_t pid;

	while (r->lease_workers[i].pid)
		i++;
	pid = fork();
	if (pid == 0) {
		(void)prctl(PR_SET_NAME, "guard-lease");
		if (r->policy->nested)
			enter_caller_userns((pid_t)q->pid);
		(void)end_lease(fd, 0);
		reply_to_notification(r, q->id, 0, true);
		_exit(0);
	}
	if (pid < 0) {
		r->unasked = "the run has reached its limit of processes";
		return false;
	}
	r->lease_workers[i].pid = pid;
	r->lease_workers[i].id = q->id;
	return true;
}

/*
 * Lets the call continue once the holder of a lease has copied the file. A file
 * without a change since the start of the run is on a lower layer, if the upper
 * one was empty: it has no lease, and the call copies it up, or fails. A file
 * with a change is on the upper layer (or changed outside), so that an open in
 * pid 1 takes no time. The others need a worker: the open may copy them up.
 */
static void answer_overwrite(struct notifier *r, const struct seccomp_notif *q)
{
	struct stat st;
	auto_close int fd = open_caller_file(r, q, &st);
	bool waits = false;

	if (fd >= 0 && (r->policy->continued ||
			st.st_ctim.tv_sec >= unwritten_before(r))) {
		int got = st.st_ctim.tv_sec < r->begin.real
				  ? -EWOULDBLOCK
				  : end_lease(fd, O_NONBLOCK);

		waits = got == -EWOULDBLOCK ||
			(got == -EACCES && r->policy->nested);
	}
	if (!waits || !start_lease_worker(r, q, fd))
		reply_to_notification(r, q->id, 0, true);
}

bool notifier_is_busy(const struct notifier *r)
{
	size_t i;

	for (i = 0; i < LEASE_WORKERS; i++)
		if (!r->lease_workers[i].pid)
			return false;
	return true;
}

/* ---- in pid 1 ---- */

/* Renames a directory for the caller. The plain call comes first: it is enough
 * for a directory that the run created, and costs a fraction of a worker. An
 * exchange has no equivalent in several steps. */
static void rename_for_caller(struct notifier *r, uint64_t id,
			      struct name *from, struct name *to,
			      unsigned int flags)
{
	bool exchange = flags & RENAME_EXCHANGE;
	int num = renameat2(from->parent_fd, from->last, to->parent_fd,
			    to->last, flags) < 0
			  ? errno
			  : 0;

	if (num == EXDEV && !on_one_mount(from, to)) {
		reply_to_notification(r, id, num, false);
		return;
	}
	if (num == EXDEV && !exchange &&
	    start_rename_worker(r, id, from, to, flags & RENAME_NOREPLACE))
		return;
	if (num == EXDEV)
		record_refused_rename(r, from->last,
				      exchange ? SANDBOX_EXCHANGE_REFUSED
					       : SANDBOX_RENAME_REFUSED);
	reply_to_notification(r, id, num, false);
}

void notifier_open(struct notifier *r, const struct sandbox_policy *policy,
		   struct notifier_clock begin, int listener)
{
	struct seccomp_notif_sizes sizes;

	*r = (struct notifier){
		.policy = policy, .begin = begin, .listener = listener};
	if (policy->allow_io_uring)
		r->unasked = "programs of the run may use io_uring";
	else if (policy->allow_32bit)
		r->unasked = "32-bit programs of the run do not ask";
	if (listener < 0)
		r->unasked = "the kernel is older than Linux 5.19, or another "
			     "program listens to guard's system calls";
	if (listener < 0)
		return;
	(void)ioctl(listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS, SYNC_WAKE_UP);
	r->closed =
		syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes) < 0 ||
		sizes.seccomp_notif > sizeof(union notification);
}

void notifier_answer(struct notifier *r)
{
	AUTO(name) struct name from = {.parent_fd = -1};
	AUTO(name) struct name to = {.parent_fd = -1};
	union notification q;
	unsigned int flags;

	memset(&q, 0, sizeof(q));
	if (ioctl(r->listener, SECCOMP_IOCTL_NOTIF_RECV, &q) < 0)
		return; /* ENOENT: the caller has ended */
	switch (q.notif.data.nr) {
	case SYS_landlock_restrict_self:
		r->closed = true;
		break;
#ifdef SYS_open
	case SYS_open:
#endif
	case SYS_openat:
	case SYS_openat2:
	case SYS_truncate:
		answer_overwrite(r, &q.notif);
		return;
	default:
		if (r->closed ||
		    !read_rename_arguments(r, &q.notif, &from, &to, &flags))
			break;
		rename_for_caller(r, q.notif.id, &from, &to, flags);
		return;
	}
	reply_to_notification(r, q.notif.id, 0, true);
}

void notifier_hang_up(struct notifier *r)
{
	fd_close(&r->listener);
}

bool notifier_reap(struct notifier *r, pid_t pid, int status)
{
	struct notifier_worker *w;
	struct err ignored;
	size_t i;

	for (i = 0; i < LEASE_WORKERS; i++)
		if (r->lease_workers[i].pid == pid) {
			reply_to_notification(r, r->lease_workers[i].id, 0,
					      true);
			r->lease_workers[i].pid = 0;
			return true;
		}
	for (w = r->workers; w < r->workers + RENAME_WORKERS; w++) {
		if (w->pid != pid)
			continue;
		if (WIFEXITED(status) && WEXITSTATUS(status) == STATUS_REFUSED)
			record_refused_rename(r, w->name,
					      SANDBOX_RENAME_REFUSED);
		/* The name exists only if the worker was killed. */
		if (faccessat(w->to_fd, w->temporary, F_OK,
			      AT_SYMLINK_NOFOLLOW) == 0)
			(void)dirtree_remove(w->to_fd, w->temporary, &ignored);
		reply_to_notification(r, w->id, EXDEV, false);
		(void)close(w->to_fd);
		*w = (struct notifier_worker){0};
		return true;
	}
	return false;
}

static bool has_rename_worker(const struct notifier *r)
{
	size_t i;

	for (i = 0; i < RENAME_WORKERS; i++)
		if (r->workers[i].pid)
			return true;
	return false;
}

void notifier_close(struct notifier *r)
{
	struct timespec limit = {UNDO_MS / 1000, UNDO_MS % 1000 * 1000000L};
	sigset_t child;
	int status;
	pid_t pid;
	size_t i;

	(void)sigemptyset(&child);
	(void)sigaddset(&child, SIGCHLD);
	for (i = 0; i < RENAME_WORKERS; i++)
		if (r->workers[i].pid)
			(void)kill(r->workers[i].pid, SIGTERM);
	while (has_rename_worker(r)) {
		while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
			(void)notifier_reap(r, pid, status);
		if (has_rename_worker(r) &&
		    sigtimedwait(&child, NULL, &limit) < 0 && errno == EAGAIN)
			break;
	}
}
