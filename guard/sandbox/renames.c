#include "guard/sandbox/renames.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
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
#include "guard/sandbox/rename_exdev.h"

/* Linux 6.6: the one who is asked runs at once where the asker ran. */
#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS SECCOMP_IOW(4, __u64)
#endif
#define SYNC_WAKE_UP 1UL

/* What a worker ends with when its answer was EXDEV. */
#define STATUS_REFUSED 1

/* How long renames_close() waits for workers to undo what they did. */
#define UNDO_MS 2000

/* The structures of newer kernels are longer. */
union question {
	struct seccomp_notif is;
	char room[256];
};

/* One of the two names in a question. */
struct name {
	int dirfd; /* the caller's */
	char path[PATH_MAX];
	char last[NAME_MAX + 1];
	int parent_fd;
};

static void name_free(struct name *n)
{
	if (n->parent_fd >= 0)
		(void)close(n->parent_fd);
}

static void reply(const struct renames *r, uint64_t id, int num, bool go_on)
{
	struct seccomp_notif_resp answer = {
		.id = id,
		.error = -num,
		.flags = go_on ? SECCOMP_USER_NOTIF_FLAG_CONTINUE : 0,
	};

	/* ENOENT: the caller is gone. */
	(void)ioctl(r->listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
}

/* ---- what the caller means ---- */

/* Whether all of a text was there, with its end; -1 page at a time is what
 * process_vm_readv(2) reads or does not. */
static bool read_text(pid_t pid, uint64_t address, char *text, size_t room)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), done = 0;

	while (done < room) {
		size_t len = page - (size_t)((address + done) % page);
		struct iovec here, there;
		ssize_t got;

		if (len > room - done)
			len = room - done;
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

/* Where the path starts, as a path of ours. */
static void start_of(pid_t pid, const struct name *n, char text[48])
{
	if (n->path[0] == '/')
		(void)snprintf(text, 48, "/");
	else if (n->dirfd == AT_FDCWD)
		(void)snprintf(text, 48, "/proc/%d/cwd", (int)pid);
	else
		(void)snprintf(text, 48, "/proc/%d/fd/%d", (int)pid, n->dirfd);
}

/* The cheap look that ends nearly all questions. */
static bool is_folder(pid_t pid, const struct name *n)
{
	char start[48], path[PATH_MAX];
	struct stat st;
	int len;

	start_of(pid, n, start);
	len = snprintf(path, sizeof(path), "%s/%s", start, n->path);
	return len < (int)sizeof(path) &&
	       fstatat(AT_FDCWD, path, &st,
		       AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) == 0 &&
	       S_ISDIR(st.st_mode);
}

/* Opens the folder that holds the last part. Slashes behind that are fine:
 * it is a folder. "." and ".." have errors of their own. */
static bool open_parent(pid_t pid, struct name *n)
{
	struct open_how how = {
		.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
		.resolve = RESOLVE_NO_MAGICLINKS,
	};
	auto_close int start = -1;
	char text[48];
	size_t len = strlen(n->path), begin;

	start_of(pid, n, text);
	start = open(text, O_PATH | O_DIRECTORY | O_CLOEXEC);
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
		n->parent_fd = TAKE_FD(start);
		return true;
	}
	n->path[begin] = '\0';
	n->parent_fd =
		(int)syscall(SYS_openat2, start, n->path, &how, sizeof(how));
	return n->parent_fd >= 0;
}

/* The rename stays on one mount, and that is a layer. */
static bool on_one_layer(const struct name *from, const struct name *to)
{
	struct statx a, b, c;

	return statx(from->parent_fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &a) ==
		       0 &&
	       statx(from->parent_fd, from->last,
		     AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT,
		     STATX_MNT_ID | STATX_TYPE, &b) == 0 &&
	       statx(to->parent_fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &c) == 0 &&
	       S_ISDIR(b.stx_mode) && a.stx_mnt_id == b.stx_mnt_id &&
	       a.stx_mnt_id == c.stx_mnt_id &&
	       fstype_of_fd(from->parent_fd)->traits & FSTYPE_OVERLAY;
}

/* Not dumpable: memory and descriptors are nobody's to see. */
static bool read_path(struct renames *r, pid_t pid, uint64_t address,
		      struct name *n)
{
	errno = 0;
	if (read_text(pid, address, n->path, sizeof(n->path)))
		return true;
	if (errno == EPERM)
		r->unseen = pid;
	return false;
}

/* An exchange is the same one way and the other: the first is a folder. */
static bool has_folder(pid_t pid, struct name *from, struct name *to,
		       unsigned int flags)
{
	struct name other;

	if (is_folder(pid, from))
		return true;
	if (!(flags & RENAME_EXCHANGE) || !is_folder(pid, to))
		return false;
	other = *from;
	*from = *to;
	*to = other;
	return true;
}

/* Fills both names' folders and the flags. */
static bool understand(struct renames *r, const struct seccomp_notif *q,
		       struct name *from, struct name *to,
		       unsigned int *ret_flags)
{
	pid_t pid = (pid_t)q->pid;
	uint64_t addresses[2];
	uint64_t id = q->id;

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
	if (pid <= 0 || !read_path(r, pid, addresses[0], from))
		return false;
	/* Nearly all questions are about files and end here. */
	if (!(*ret_flags & RENAME_EXCHANGE) && !is_folder(pid, from))
		return false;
	return read_path(r, pid, addresses[1], to) &&
	       has_folder(pid, from, to, *ret_flags) &&
	       open_parent(pid, from) && open_parent(pid, to) &&
	       on_one_layer(from, to) &&
	       /* All of this was about the caller, not about a later process
		* of the same number. */
	       ioctl(r->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
}

/* ---- the worker ---- */

struct waiting {
	int listener;
	uint64_t id;
};

static volatile sig_atomic_t stopped;

static void stop(int sig)
{
	(void)sig;
	stopped = 1;
}

/* Whether there still is somebody to do it for. */
static bool is_wanted(void *arg)
{
	const struct waiting *w = arg;
	uint64_t id = w->id;

	return !stopped &&
	       ioctl(w->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
}

/* Nothing is mended: in one step or not at all. */
static int exchange(const struct name *from, const struct name *to)
{
	return renameat2(from->parent_fd, from->last, to->parent_fd, to->last,
			 RENAME_EXCHANGE) < 0
		       ? -errno
		       : 0;
}

struct renames_begin renames_begin(void)
{
	struct timespec real, boot;

	(void)clock_gettime(CLOCK_REALTIME, &real);
	(void)clock_gettime(CLOCK_BOOTTIME, &boot);
	return (struct renames_begin){real.tv_sec, boot.tv_sec};
}

/*
 * What changed last before that was not written in this run. The steps of a
 * file system's clock are finer than a second; one who set the clock meanwhile
 * leaves nothing to go by.
 */
static time_t settled_before(const struct renames *r)
{
	struct renames_begin now = renames_begin();
	time_t moved = (now.real - now.boot) - (r->begin.real - r->begin.boot);

	return moved < -1 || moved > 1 ? 0 : r->begin.real - 1;
}

static void __attribute__((noreturn))
work(const struct renames *r, uint64_t id, const struct name *from,
     const struct name *to, unsigned int flags, const char *temporary)
{
	struct waiting w = {r->listener, id};
	struct exdev_rename m = {
		.from_fd = from->parent_fd,
		.from = from->last,
		.to_fd = to->parent_fd,
		.to = to->last,
		.temporary = temporary,
		.no_replace = flags & RENAME_NOREPLACE,
		.how = {is_wanted, &w, settled_before(r)},
	};
	struct sigaction action = {.sa_handler = stop};
	sigset_t term;
	int rc;

	(void)prctl(PR_SET_NAME, "guard-rename");
	(void)umask(0);
	(void)sigemptyset(&term);
	(void)sigaddset(&term, SIGTERM);
	(void)sigaction(SIGTERM, &action, NULL);
	(void)sigprocmask(SIG_UNBLOCK, &term, NULL);
	rc = flags & RENAME_EXCHANGE ? exchange(from, to) : rename_exdev(&m);
	reply(r, id, rc == -EINTR ? EXDEV : -rc, false);
	_exit(rc == -EXDEV ? STATUS_REFUSED : 0);
}

static void note_refused(struct renames *r, const char *name,
			 enum sandbox_unrenamed how)
{
	if (*r->refused)
		return;
	(void)snprintf(r->refused, sizeof(r->refused), "%s", name);
	r->refused_how = how;
}

/* It may have been a file, or have gone well. Who then fails perhaps failed
 * for this. */
static void note_unseen(struct renames *r)
{
	char path[48], name[17] = "";
	auto_close int fd = -1;

	(void)snprintf(path, sizeof(path), "/proc/%d/comm", (int)r->unseen);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, name, sizeof(name) - 1) <= 0)
		return;
	name[strcspn(name, "\n")] = '\0';
	note_refused(r, name, SANDBOX_UNSEEN);
}

static enum sandbox_unrenamed failure_of(unsigned int flags)
{
	return flags & RENAME_EXCHANGE ? SANDBOX_UNEXCHANGED
				       : SANDBOX_UNRENAMED;
}

static bool start_worker(struct renames *r, uint64_t id, struct name *from,
			 struct name *to, unsigned int flags)
{
	struct renames_worker *w = r->workers;

	while (w < r->workers + RENAMES_WORKERS && w->pid)
		w++;
	if (w == r->workers + RENAMES_WORKERS) {
		note_refused(r, from->last, failure_of(flags));
		return false;
	}
	(void)snprintf(w->name, sizeof(w->name), "%s", from->last);
	(void)snprintf(w->temporary, sizeof(w->temporary),
		       ".guard-rename-%016llx", (unsigned long long)id);
	w->how = failure_of(flags);
	w->pid = fork();
	if (w->pid == 0)
		work(r, id, from, to, flags, w->temporary);
	if (w->pid < 0) {
		w->pid = 0;
		return false;
	}
	w->to_fd = TAKE_FD(to->parent_fd);
	return true;
}

/* ---- pid 1's side ---- */

void renames_open(struct renames *r, struct renames_begin begin, int listener)
{
	struct seccomp_notif_sizes sizes;

	*r = (struct renames){.begin = begin, .listener = listener};
	if (listener < 0)
		return;
	(void)ioctl(listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS, SYNC_WAKE_UP);
	r->closed =
		syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes) < 0 ||
		sizes.seccomp_notif > sizeof(union question);
}

void renames_answer(struct renames *r)
{
	AUTO(name) struct name from = {.parent_fd = -1};
	AUTO(name) struct name to = {.parent_fd = -1};
	union question q;
	unsigned int flags;

	memset(&q, 0, sizeof(q));
	if (ioctl(r->listener, SECCOMP_IOCTL_NOTIF_RECV, &q) < 0)
		return; /* ENOENT: the caller is gone */
	if (q.is.data.nr == SYS_landlock_restrict_self)
		r->closed = true;
	if (q.is.data.nr == SYS_exit_group && !r->fd_exhaustion.max_count)
		(void)(fd_exhaustion_check((pid_t)q.is.pid, true,
					   &r->fd_exhaustion) ||
		       fd_exhaustion_check_inotify((pid_t)q.is.pid,
						   &r->fd_exhaustion));
	if (q.is.data.nr == SYS_exit_group && (pid_t)q.is.pid == r->unseen)
		note_unseen(r);
	if (r->closed || q.is.data.nr == SYS_exit_group ||
	    !understand(r, &q.is, &from, &to, &flags) ||
	    !start_worker(r, q.is.id, &from, &to, flags))
		reply(r, q.is.id, 0, true);
}

void renames_hang_up(struct renames *r)
{
	(void)close(r->listener);
	r->listener = -1;
}

bool renames_reap(struct renames *r, pid_t pid, int status)
{
	struct renames_worker *w;
	struct err ignored;

	for (w = r->workers; w < r->workers + RENAMES_WORKERS; w++) {
		if (w->pid != pid)
			continue;
		if (WIFEXITED(status) && WEXITSTATUS(status) == STATUS_REFUSED)
			note_refused(r, w->name, w->how);
		/* Nothing is there, unless somebody killed it. */
		if (faccessat(w->to_fd, w->temporary, F_OK,
			      AT_SYMLINK_NOFOLLOW) == 0)
			(void)dirtree_remove(w->to_fd, w->temporary, &ignored);
		(void)close(w->to_fd);
		*w = (struct renames_worker){0};
		return true;
	}
	return false;
}

static bool any_worker(const struct renames *r)
{
	size_t i;

	for (i = 0; i < RENAMES_WORKERS; i++)
		if (r->workers[i].pid)
			return true;
	return false;
}

void renames_close(struct renames *r)
{
	struct timespec limit = {UNDO_MS / 1000, UNDO_MS % 1000 * 1000000L};
	sigset_t child;
	int status;
	pid_t pid;
	size_t i;

	(void)sigemptyset(&child);
	(void)sigaddset(&child, SIGCHLD);
	for (i = 0; i < RENAMES_WORKERS; i++)
		if (r->workers[i].pid)
			(void)kill(r->workers[i].pid, SIGTERM);
	while (any_worker(r)) {
		while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
			(void)renames_reap(r, pid, status);
		if (any_worker(r) && sigtimedwait(&child, NULL, &limit) < 0 &&
		    errno == EAGAIN)
			break;
	}
}
