#include "guard/sandbox/internal.h"

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
static void halve(int proc, const char *of, const char *limit)
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

/* Linux 6.14: before it the number is the machine's, and root could set it. */
static bool has_numbers_of_its_own(void)
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
static void limit_numbers(const struct setup *s, int proc)
{
	auto_close int fd = -1;
	char text[32];

	if (!s->root || s->pids_limit > NUMBERS_MAX / 4 ||
	    !has_numbers_of_its_own())
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
	auto_close int proc = mount_new("proc", NULL, CLOSED_ATTRS, err);
	int rc = 0;

	if (proc == -EPERM)
		return fail(err, EPERM,
			    "/proc cannot be mounted: parts of this machine's "
			    "own /proc are covered, as containers do it. Run "
			    "guard outside of the container, or start that "
			    "with --security-opt systempaths=unconfined");
	if (proc < 0)
		return proc;
	if (!s->policy->nested)
		rc = forbid_namespaces(proc, err);
	if (rc < 0)
		return rc;
	halve(proc, "sys/fs/inotify/max_user_instances",
	      "sys/user/max_inotify_instances");
	halve(proc, "sys/fs/inotify/max_user_watches",
	      "sys/user/max_inotify_watches");
	limit_numbers(s, proc);
	return mount_place(s->root_fd, "/proc", proc, err);
}

/* ---- /proc for uid 0 ---- */

static int cover_proc(struct setup *s, const char *path, int fd,
		      struct err *err)
{
	auto_close int mnt =
		mount_copy(fd, false, CLOSED_ATTRS | MOUNT_ATTR_RDONLY, err);

	if (mnt < 0)
		return err_context(err, "%s", path);
	return mount_place(s->root_fd, path, mnt, err);
}

/* What only root reads is hidden, what can be written or holds more is
 * read-only: by what they are, since drivers add names of their own. */
static int close_entry(struct setup *s, int proc, int empty, const char *name,
		       struct err *err)
{
	auto_free char *path = mem_printf("/proc/%s", name);
	auto_close int fd = -1;
	struct stat st;

	if (fstatat(proc, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	if (S_ISREG(st.st_mode) && !(st.st_mode & 0004))
		return cover_proc(s, path, empty, err);
	if (!S_ISDIR(st.st_mode) &&
	    (!S_ISREG(st.st_mode) || !(st.st_mode & 0222)))
		return 0;
	fd = openat(proc, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? 0 : cover_proc(s, path, fd, err);
}

static int close_entries(struct setup *s, int empty, struct err *err)
{
	auto_close int proc =
		openat(s->root_fd, "proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int copy = proc < 0 ? -1 : fcntl(proc, F_DUPFD_CLOEXEC, 0);
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
			rc = close_entry(s, proc, empty, e->d_name, err);
	(void)closedir(dir);
	return rc;
}

/* A sandbox inside needs a whole one to mount its own. For uid 0 there is none:
 * what that one mounts would have all switches of the machine in it. */
bool proc_is_to_close(const struct setup *s)
{
	const struct sandbox_policy *p = s->policy;

	return s->root && !(p->nested && p->has_user && p->user != 0);
}

static int hide_folder(struct setup *s, const char *path, int scratch_fd,
		       size_t number, struct err *err)
{
	auto_close int mnt = -1;

	if (faccessat(s->root_fd, path + 1, F_OK, 0) < 0)
		return 0;
	mnt = masks_make(scratch_fd, number, true, err);
	if (mnt < 0)
		return mnt;
	return mount_place(s->root_fd, path, mnt, err);
}

/*
 * /proc/sys asks for the uid, not for capabilities: core_pattern was writable
 * for uid 0 without any (measured). A plain user is not 0, and a fresh /proc
 * for sandboxes inside needs ours uncovered. All of /sys is read-only anyway.
 */
int proc_close(struct setup *s, int scratch_fd, struct err *err)
{
	/* Read by all, or by some kernels. */
	static const char *const hidden[] = {
		"/proc/keys",	  "/proc/timer_list",	 "/proc/sched_debug",
		"/proc/kallsyms", "/proc/latency_stats", NULL};
	static const char *const folders[] = {"/sys/kernel/debug",
					      "/sys/kernel/tracing",
					      "/sys/kernel/security",
					      "/sys/firmware",
					      "/sys/fs/bpf",
					      "/sys/fs/pstore",
					      "/sys/devices/virtual/powercap",
					      NULL};
	auto_close int empty =
		openat(scratch_fd, "empty", O_PATH | O_NOFOLLOW | O_CLOEXEC);
	int rc = 0;
	size_t i;

	if (empty < 0)
		return fail_errno(err, "open the empty file");
	rc = close_entries(s, empty, err);
	for (i = 0; rc == 0 && hidden[i]; i++)
		if (faccessat(s->root_fd, hidden[i] + 1, F_OK, 0) == 0)
			rc = cover_proc(s, hidden[i], empty, err);
	for (i = 0; rc == 0 && folders[i]; i++)
		rc = hide_folder(s, folders[i], scratch_fd, s->place_count + i,
				 err);
	return rc;
}
