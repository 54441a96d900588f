#include "guard/sandbox/mount.h"
#include "guard/sandbox/mount_list.h"
#include "guard/sandbox/namespaces_private.h"

#include <ctype.h>
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
#include "base/dirtree.h"

#define CLOSED_ATTRS (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC)

/* Lower bound for the run's pid_max; the kernel's PID_MAX_LIMIT is the upper
 * bound. */
#define NUMBERS_MIN 4400u
#define NUMBERS_MAX 4194304u

/* The kernel counts inotify instances and watches for the user in this
 * namespace and in its parents. The run gets half, so that the programs outside
 * keep some. A failure is ignored. */
static void halve_proc_limit(int proc, const char *of, const char *limit)
{
	AUTO(buf) struct buf b = {0};
	struct err ignored;
	char text[32];
	auto_close int to = openat(proc, limit, O_WRONLY | O_CLOEXEC);

	if (to < 0 || fd_slurp_at(proc, of, 64, &b, &ignored) < 0)
		return;
	(void)snprintf(text, sizeof(text), "%ld",
		       strtol(buf_text(&b), NULL, 10) / 2);
	(void)fd_write(to, text, strlen(text));
}

/* Limits the namespaces of nested sandboxes: each counts for the user outside
 * as well and takes kernel memory, a network namespace most. */
static void limit_namespaces(int proc)
{
	static const char *const names[] = {"user", "mnt", "pid",    "ipc",
					    "uts",  "net", "cgroup", "time"};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		auto_free char *path =
			mem_printf("sys/user/max_%s_namespaces", names[i]);
		auto_close int fd = openat(proc, path, O_WRONLY | O_CLOEXEC);

		if (fd >= 0)
			(void)fd_write(fd, "1024", 4);
	}
}

/*
 * Only a cgroup limits the processes of uid 0, and guard counts them only
 * periodically. A small pid_max ends a burst of forks. It is several times the
 * limit, since scripts that name files by pid rely on late reuse. A failure is
 * ignored.
 */
static void limit_pid_max(const struct setup *s, int proc)
{
	unsigned int major = 0, minor = 0;
	struct utsname name;
	auto_close int fd = -1;
	char text[32];

	/* Linux 6.14 has a pid_max for each pid namespace. Before, the file is
	 * the machine's, and root could change it. */
	if (!s->root || s->pids_limit > NUMBERS_MAX / 4 || uname(&name) < 0 ||
	    sscanf(name.release, "%u.%u", &major, &minor) != 2 || major < 6 ||
	    (major == 6 && minor < 14))
		return;
	fd = openat(proc, "sys/kernel/pid_max", O_WRONLY | O_CLOEXEC);
	(void)snprintf(text, sizeof(text), "%llu",
		       (unsigned long long)(s->pids_limit * 4 < NUMBERS_MIN
						    ? NUMBERS_MIN
						    : s->pids_limit * 4));
	if (fd >= 0)
		(void)fd_write(fd, text, strlen(text));
}

int proc_place(struct setup *s, const char *path, struct err *err)
{
	auto_close int proc = mount_new_fs("proc", NULL, CLOSED_ATTRS, err);
	auto_close int user = -1;

	if (proc == -EPERM)
		return fail(err, EPERM,
			    "/proc cannot be mounted: parts of this machine's "
			    "own /proc are masked, as in containers. Run guard "
			    "outside of the container, or start the container "
			    "with --security-opt %s",
			    /* podman's own file */
			    access("/run/.containerenv", F_OK) == 0
				    ? "unmask=ALL"
				    : "systempaths=unconfined");
	if (proc < 0)
		return proc;
	if (s->policy->nested) {
		limit_namespaces(proc);
	} else {
		/* No user namespaces inside, except the namespace of pid 1's
		 * next step. A process with its own user and mount namespace
		 * could unmount masks. */
		user = openat(proc, "sys/user/max_user_namespaces",
			      O_WRONLY | O_CLOEXEC);
		if (user < 0 || fd_write(user, "1", 1) < 0)
			return fail_errno(err,
					  "disable further user namespaces");
	}
	halve_proc_limit(proc, "sys/fs/inotify/max_user_instances",
			 "sys/user/max_inotify_instances");
	halve_proc_limit(proc, "sys/fs/inotify/max_user_watches",
			 "sys/user/max_inotify_watches");
	limit_pid_max(s, proc);
	return mount_place(s->root_fd, path, proc, err);
}

/* ---- /proc for uid 0 ---- */

static void restrict_entry(struct setup *s, const char *path,
			   const struct stat *st, bool hidden)
{
	struct mount_entry *e = mount_list_add(
		s, hidden ? VISIBILITY_HIDDEN : VISIBILITY_READ_ONLY,
		mem_strdup(path));

	e->dir = S_ISDIR(st->st_mode);
	e->in_place = !hidden;
}

/*
 * Masks files that only root may read and makes directories and writable files
 * read-only. The rule goes by mode and type, since drivers add entries. Entries
 * are the same in every /proc of the machine, and the kernel creates the inodes
 * of a new /proc on demand, which takes time: so stat the machine's first.
 */
static void restrict_proc_entry(struct setup *s, int proc, const char *name)
{
	auto_free char *path = mem_printf("/proc/%s", name);
	bool hidden;
	struct stat st;

	if (lstat(path, &st) < 0 &&
	    fstatat(proc, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	hidden = S_ISREG(st.st_mode) && !(st.st_mode & 0004);
	if (hidden || S_ISDIR(st.st_mode) ||
	    (S_ISREG(st.st_mode) && (st.st_mode & 0222)))
		restrict_entry(s, path, &st, hidden);
}

/*
 * /proc/sys checks the uid, not capabilities: core_pattern was writable for uid
 * 0 without any capability (measured). A plain user is not uid 0, and its
 * nested sandboxes need an uncovered /proc. For uid 0 there is none: a /proc
 * that it mounts would contain all writable settings of the machine. All of
 * /sys is read-only in any case.
 */
int proc_restrict(struct setup *s, struct err *err)
{
	/* All users may read these, on all kernels or on some. */
	static const char *const masked[] = {
		"/proc/keys",	       "/proc/timer_list",
		"/proc/sched_debug",   "/proc/kallsyms",
		"/proc/latency_stats", "/sys/kernel/debug",
		"/sys/kernel/tracing", "/sys/kernel/security",
		"/sys/firmware",       "/sys/fs/bpf",
		"/sys/fs/pstore",      "/sys/devices/virtual/powercap",
	};
	const struct sandbox_policy *p = s->policy;
	AUTO(dirlist) struct dirlist list = {0};
	auto_close int proc = -1;
	struct stat st;
	size_t i;

	if (!s->root || (p->nested && p->has_user && p->user != 0))
		return 0;
	proc = openat(s->root_fd, "proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (proc < 0)
		return fail_errno(err, "open the run's /proc");
	if (dirlist_read(proc, &list, err) < 0)
		return fail_num(err, err->num, "read the run's /proc");
	for (i = 0; i < list.count; i++)
		if (!isdigit((uint8_t)list.items[i].name[0]))
			restrict_proc_entry(s, proc, list.items[i].name);
	for (i = 0; i < ARRAY_SIZE(masked); i++)
		if (fstatat(s->root_fd, masked[i] + 1, &st,
			    AT_SYMLINK_NOFOLLOW) == 0)
			restrict_entry(s, masked[i], &st, true);
	return 0;
}
