#include "overlay/upper_busy.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/child.h"
#include "base/fd.h"
#include "base/meta.h"
#include "base/dirtree.h"

#define SCRATCH "in-use"

/* The kernel's answer to an overlay whose lower is its upper. */
enum upper_state {
	UPPER_BUSY, /* EBUSY: another overlay uses the upper */
	UPPER_FREE, /* ELOOP: the kernel got as far as the lower */
	UPPER_UNKNOWN,
};

static int set_fd(int fs, const char *key, int fd)
{
	return fsconfig(fs, FSCONFIG_SET_STRING, key, fd_proc_path(fd).text, 0);
}

/* Creates an overlay that is mounted nowhere and exists until the descriptor is
 * closed. index=on: the kernel refuses an upper that another overlay uses.
 * volatile: closing need not sync the file system. */
static int make_overlay(int lower, int upper, int work)
{
	auto_close int fs = fsopen("overlay", FSOPEN_CLOEXEC);

	if (fs < 0 || set_fd(fs, "lowerdir", lower) < 0 ||
	    set_fd(fs, "upperdir", upper) < 0 ||
	    set_fd(fs, "workdir", work) < 0 ||
	    fsconfig(fs, FSCONFIG_SET_STRING, "index", "on", 0) < 0 ||
	    fsconfig(fs, FSCONFIG_SET_FLAG, "volatile", NULL, 0) < 0 ||
	    fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return -1;
	return TAKE_FD(fs);
}

/*
 * Asks the kernel for an overlay with the upper as its own lower, which always
 * fails. The kernel checks the upper first, then the work directory, the lower
 * last: the errno shows which check failed.
 */
static enum upper_state probe_upper(int upper, int work)
{
	auto_close int fs = make_overlay(upper, upper, work);

	if (fs >= 0)
		return UPPER_UNKNOWN;
	return errno == EBUSY	? UPPER_BUSY
	       : errno == ELOOP ? UPPER_FREE
				: UPPER_UNKNOWN;
}

static bool write_proc_file(const char *path, const char *text)
{
	auto_close int fd = open(path, O_WRONLY | O_CLOEXEC);

	return fd >= 0 &&
	       write(fd, text, strlen(text)) == (ssize_t)strlen(text);
}

/* Enters a new user and mount namespace. Only the user and group of the process
 * are mapped: it gets no power over other users' files. */
static bool enter_namespaces(void)
{
	char uid[48], gid[48];

	(void)snprintf(uid, sizeof(uid), "%u %u 1", geteuid(), geteuid());
	(void)snprintf(gid, sizeof(gid), "%u %u 1", getegid(), getegid());
	return unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 &&
	       write_proc_file("/proc/self/setgroups", "deny") &&
	       write_proc_file("/proc/self/uid_map", uid) &&
	       write_proc_file("/proc/self/gid_map", gid);
}

/*
 * Runs in its own namespaces, where it may create overlays; it opens all
 * directories again, because descriptors from outside are not usable there. A
 * held upper of its own first proves that this kernel reports EBUSY.
 */
static bool probe_in_namespaces(const char *run_path,
				const struct meta *upper_meta)
{
	auto_close int run = -1, scratch = -1, upper = -1, lower = -1;
	auto_close int other = -1, work = -1, second_work = -1, held = -1;
	struct meta m;

	if (!enter_namespaces())
		return false;
	run = fd_open_dir_path(AT_FDCWD, run_path);
	upper = fd_open_dir_path(run, "upper");
	scratch = fd_open_dir_path(run, SCRATCH);
	lower = fd_open_dir_path(scratch, "lower");
	other = fd_open_dir_path(scratch, "upper");
	work = fd_open_dir_path(scratch, "work");
	second_work = fd_open_dir_path(scratch, "work-too");
	if (second_work < 0 || meta_get(upper, "", &m) < 0 ||
	    m.dev != upper_meta->dev || m.ino != upper_meta->ino)
		return false;
	held = make_overlay(lower, other, work);
	return held >= 0 && probe_upper(other, second_work) == UPPER_BUSY &&
	       probe_upper(upper, second_work) == UPPER_FREE;
}

static bool probe_in_child(const char *run_path, const struct meta *upper)
{
	pid_t pid = fork();

	if (!pid)
		_exit(probe_in_namespaces(run_path, upper) ? 0 : 1);
	return child_wait(pid) == 0;
}

bool upper_busy_ruled_out(int run_fd, int upper_fd)
{
	static const char *const names[] = {
		SCRATCH,	 SCRATCH "/lower",    SCRATCH "/upper",
		SCRATCH "/work", SCRATCH "/work-too",
	};
	auto_free char *path = fd_path(run_fd);
	struct err ignored;
	struct meta m;
	bool free = true;
	size_t i;

	if (!path || meta_get(upper_fd, "", &m) < 0 ||
	    dirtree_remove(run_fd, SCRATCH, &ignored) < 0)
		return false;
	for (i = 0; free && i < ARRAY_SIZE(names); i++)
		free = mkdirat(run_fd, names[i], 0700) == 0;
	free = free && probe_in_child(path, &m);
	(void)dirtree_remove(run_fd, SCRATCH, &ignored);
	return free;
}
