#include "guard/sandbox/ns/mount.h"
#include "guard/sandbox/ns/ns_private.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/mem.h"

#define CLOSED_ATTRS (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC)

/* Of the run's processes, at least; at most the kernel's PID_MAX_LIMIT. */
#define NUMBERS_MIN 4400u
#define NUMBERS_MAX 4194304u

/* No namespaces inside of this one but the one that pid 1 is about to make:
 * this is what makes masks hold. */
static int forbid_namespaces(int proc, struct err *err)
{
	auto_close int fd = openat(proc, "sys/user/max_user_namespaces",
				   O_WRONLY | O_CLOEXEC);

	if (fd < 0 || fd_write(fd, "1", 1) < 0)
		return fail_errno(err, "switch off further user namespaces");
	return 0;
}

/*
 * Instances and watches of inotify are counted for the user, in this namespace
 * and in all above: a run could take all of them away from the programs
 * outside. It gets half. No matter where that cannot be set.
 */
static void halve_proc_limit(int proc, const char *of, const char *limit)
{
	AUTO(buf) struct buf b = {0};
	struct err ignored;
	char text[32];
	auto_close int from = openat(proc, of, O_RDONLY | O_CLOEXEC);
	auto_close int to = openat(proc, limit, O_WRONLY | O_CLOEXEC);

	if (from < 0 || to < 0 || fd_slurp(from, 64, &b, &ignored) < 0)
		return;
	(void)snprintf(text, sizeof(text), "%ld",
		       strtol(buf_text(&b), NULL, 10) / 2);
	(void)fd_write(to, text, strlen(text));
}

/*
 * Sandboxes inside: each namespace counts for the user outside as well, and
 * takes memory of the kernel's, that of a network most.
 */
static void limit_namespaces(int proc)
{
	static const char *const names[] = {"user", "mnt", "pid",    "ipc",
					    "uts",  "net", "cgroup", "time"};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(*names); i++) {
		auto_free char *path =
			mem_printf("sys/user/max_%s_namespaces", names[i]);
		auto_close int fd = openat(proc, path, O_WRONLY | O_CLOEXEC);

		if (fd >= 0)
			(void)fd_write(fd, "1024", 4);
	}
}

/* Linux 6.14: before it the number is the machine's, and root could set it. */
static bool has_pid_max_of_namespace(void)
{
	unsigned int major = 0, minor = 0;
	struct utsname name;

	return uname(&name) == 0 &&
	       sscanf(name.release, "%u.%u", &major, &minor) == 2 &&
	       (major > 6 || (major == 6 && minor >= 14));
}

/*
 * No limit of processes binds uid 0 but a control group's, and guard looks only
 * now and then. So the numbers for its processes are few: a burst ends there.
 * Several times the limit, since numbers that come again soon confuse scripts
 * that name files by them. No matter where that cannot be had.
 */
static void limit_pid_max(const struct setup *s, int proc)
{
	auto_close int fd = -1;
	char text[32];

	if (!s->root || s->pids_limit > NUMBERS_MAX / 4 ||
	    !has_pid_max_of_namespace())
		return;
	fd = openat(proc, "sys/kernel/pid_max", O_WRONLY | O_CLOEXEC);
	(void)snprintf(text, sizeof(text), "%llu",
		       (unsigned long long)(s->pids_limit * 4 < NUMBERS_MIN
						    ? NUMBERS_MIN
						    : s->pids_limit * 4));
	if (fd >= 0)
		(void)fd_write(fd, text, strlen(text));
}

int proc_place(struct setup *s, struct err *err)
{
	auto_close int proc = mount_new_fs("proc", NULL, CLOSED_ATTRS, err);
	int rc = 0;

	if (proc == -EPERM)
		return fail(err, EPERM,
			    "/proc cannot be mounted: parts of this machine's "
			    "own /proc are covered, as containers do it. Run "
			    "guard outside of the container, or start that "
			    "with " SANDBOX_CONTAINER);
	if (proc < 0)
		return proc;
	if (s->policy->nested)
		limit_namespaces(proc);
	else
		rc = forbid_namespaces(proc, err);
	if (rc < 0)
		return rc;
	halve_proc_limit(proc, "sys/fs/inotify/max_user_instances",
			 "sys/user/max_inotify_instances");
	halve_proc_limit(proc, "sys/fs/inotify/max_user_watches",
			 "sys/user/max_inotify_watches");
	limit_pid_max(s, proc);
	return mount_place(s->root_fd, "/proc", proc, err);
}

/* ---- /proc for uid 0 ---- */

/*
 * What is being closed. A copy of a read-only mount is one too: the run's
 * /proc is read-only for so long, and of the empty file and folder the first
 * copy that lies somewhere is the source of all others.
 */
struct proc_masking {
	int old_proc; /* the machine's, or -1 */
	int proc;
	int root_fd;
	int scratch_fd;
	size_t number; /* of a mask, unused */
	int empty_file, empty_dir; /* -1: none lies anywhere yet */
};

static int cover_with_copy(int from, int point, const char *name,
			   struct err *err)
{
	auto_close int mnt = mount_copy(from, false, 0, err);

	if (mnt < 0)
		return err_context(err, "%s", name);
	if (move_mount(mnt, "", point, "",
		       MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
		return fail_errno(err, "cover %s", name);
	return 0;
}

/* The first one of its kind: lies on the point and stays open. */
static int make_proc_mask(struct proc_masking *c, bool dir, struct err *err)
{
	struct mount_attr attr = {.attr_set = MOUNT_ATTR_RDONLY};
	auto_close int mnt = masks_make(c->scratch_fd, c->number++, dir, err);

	if (mnt < 0)
		return mnt;
	if (mount_setattr(mnt, "", AT_EMPTY_PATH, &attr, sizeof(attr)) < 0)
		return fail_errno(err, "close a mask");
	return TAKE_FD(mnt);
}

static int mask_proc_point(struct proc_masking *c, int point, bool dir,
			   const char *name, struct err *err)
{
	int *empty = dir ? &c->empty_dir : &c->empty_file;

	if (*empty >= 0)
		return cover_with_copy(*empty, point, name, err);
	*empty = make_proc_mask(c, dir, err);
	if (*empty < 0)
		return *empty;
	if (move_mount(*empty, "", point, "",
		       MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
		return fail_errno(err, "cover %s", name);
	return 0;
}

/* What only root reads is hidden, what can be written or holds more is
 * read-only: by what they are, since drivers add names of their own. They are
 * the same in all of a machine's /proc; those of a new one are made when they
 * are asked for, which takes time. */
static int restrict_proc_entry(struct proc_masking *c, const char *name,
			       struct err *err)
{
	auto_close int point = -1;
	bool hidden;
	struct stat st;

	if (fstatat(c->old_proc, name, &st, AT_SYMLINK_NOFOLLOW) < 0 &&
	    fstatat(c->proc, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	hidden = S_ISREG(st.st_mode) && !(st.st_mode & 0004);
	if (!hidden && !S_ISDIR(st.st_mode) &&
	    (!S_ISREG(st.st_mode) || !(st.st_mode & 0222)))
		return 0;
	point = openat(c->proc, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (point < 0)
		return 0;
	return hidden ? mask_proc_point(c, point, false, name, err)
		      : cover_with_copy(point, point, name, err);
}

static int restrict_proc_entries(struct proc_masking *c, struct err *err)
{
	int copy = fcntl(c->proc, F_DUPFD_CLOEXEC, 0);
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *e;
	int rc = 0;

	if (!dir) {
		if (copy >= 0)
			(void)close(copy);
		return fail_errno(err, "read the run's /proc");
	}
	while (rc == 0 && (e = readdir(dir)))
		if (e->d_name[0] != '.' && !isdigit((uint8_t)e->d_name[0]))
			rc = restrict_proc_entry(c, e->d_name, err);
	(void)closedir(dir);
	return rc;
}

/* A sandbox inside needs a whole one to mount its own. For uid 0 there is none:
 * what that one mounts would have all switches of the machine in it. */
bool proc_must_restrict(const struct setup *s)
{
	const struct sandbox_policy *p = s->policy;

	return s->root && !(p->nested && p->has_user && p->user != 0);
}

/* One that is not there needs no mask. */
static int mask_proc_path(struct proc_masking *c, const char *path, bool dir,
			  struct err *err)
{
	auto_close int point =
		openat(c->root_fd, path + 1, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	return point < 0 ? 0 : mask_proc_point(c, point, dir, path, err);
}

/* Read by all, or by some kernels. */
static int mask_listed_paths(struct proc_masking *c, struct err *err)
{
	static const char *const files[] = {
		"/proc/keys",	  "/proc/timer_list",	 "/proc/sched_debug",
		"/proc/kallsyms", "/proc/latency_stats", NULL};
	static const char *const dirs[] = {"/sys/kernel/debug",
					   "/sys/kernel/tracing",
					   "/sys/kernel/security",
					   "/sys/firmware",
					   "/sys/fs/bpf",
					   "/sys/fs/pstore",
					   "/sys/devices/virtual/powercap",
					   NULL};
	int rc = 0;
	size_t i;

	for (i = 0; rc == 0 && files[i]; i++)
		rc = mask_proc_path(c, files[i], false, err);
	for (i = 0; rc == 0 && dirs[i]; i++)
		rc = mask_proc_path(c, dirs[i], true, err);
	return rc;
}

/*
 * /proc/sys asks for the uid, not for capabilities: core_pattern was writable
 * for uid 0 without any (measured). A plain user is not 0, and a fresh /proc
 * for sandboxes inside needs ours uncovered. All of /sys is read-only anyway.
 */
int proc_restrict(struct setup *s, int scratch_fd, struct err *err)
{
	struct mount_attr closed = {.attr_set = MOUNT_ATTR_RDONLY};
	struct mount_attr writable_again = {.attr_clr = MOUNT_ATTR_RDONLY};
	auto_close int old_proc =
		open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	auto_close int proc =
		openat(s->root_fd, "proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct proc_masking c = {.old_proc = old_proc,
				 .proc = proc,
				 .root_fd = s->root_fd,
				 .scratch_fd = scratch_fd,
				 .number = s->places.count,
				 .empty_file = -1,
				 .empty_dir = -1};
	int rc;

	if (proc < 0)
		return fail_errno(err, "open the run's /proc");
	if (mount_setattr(proc, "", AT_EMPTY_PATH, &closed, sizeof(closed)) < 0)
		return fail_errno(err, "close the run's /proc");
	rc = restrict_proc_entries(&c, err);
	if (rc == 0)
		rc = mask_listed_paths(&c, err);
	if (c.empty_file >= 0)
		(void)close(c.empty_file);
	if (c.empty_dir >= 0)
		(void)close(c.empty_dir);
	if (rc == 0 && mount_setattr(proc, "", AT_EMPTY_PATH, &writable_again,
				     sizeof(writable_again)) < 0)
		return fail_errno(err, "open the run's /proc");
	return rc;
}
