#include "guard/sandbox/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/text.h"

/* Of a device that every run has and that knows no one; else NULL. */
static const char *name_of(const struct stat *st)
{
	static const char *const memory[] = {
		[3] = "/dev/null",   [5] = "/dev/zero",	   [7] = "/dev/full",
		[8] = "/dev/random", [9] = "/dev/urandom",
	};
	unsigned int minor = minor(st->st_rdev);

	return S_ISCHR(st->st_mode) && major(st->st_rdev) == 1 &&
			       minor < sizeof(memory) / sizeof(*memory)
		       ? memory[minor]
		       : NULL;
}

/*
 * A file opened for reading can be opened for writing through /proc/self/fd:
 * that goes by the mount it was opened on, the machine's own. `guard run --
 * cmd < notes.txt` would be a licence to write notes.txt. So the same file is
 * opened again on a read-only mount of its own, at the same offset. The same
 * with a device node, which its owner (root) could give another mode; and what
 * is written to a node is no affair of the mount's (`guard run < /dev/sda`), so
 * that nobody opens it again there, but for those that every run has.
 */
static bool is_everyones(const struct stat *st)
{
	return S_ISCHR(st->st_mode) &&
	       (name_of(st) || st->st_rdev == makedev(5, 0));
}

static int reopen_on_read_only(int fd, const struct stat *st, int flags,
			       struct err *err)
{
	bool node = !S_ISREG(st->st_mode);
	struct mount_attr closed = {.attr_set = MOUNT_ATTR_NODEV};
	char link[32], path[4096];
	auto_close int again = -1, mnt = -1, file = -1;
	struct stat now;
	ssize_t len;
	off_t at = lseek(fd, 0, SEEK_CUR);

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, path, sizeof(path) - 1);
	if (len <= 0)
		return fail_errno(err, "find the file behind descriptor %d",
				  fd);
	path[len] = '\0';
	again = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (again < 0 || fstat(again, &now) < 0 || now.st_dev != st->st_dev ||
	    now.st_ino != st->st_ino)
		return fail(err, ESTALE,
			    "the file behind descriptor %d (once %s) cannot be "
			    "found again: use a pipe (cat FILE | guard run)",
			    fd, text_quote(path));
	mnt = mount_copy(again, false,
			 MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID |
				 (node ? 0U : MOUNT_ATTR_NODEV),
			 err);
	if (mnt < 0)
		return mnt;
	file = fd_reopen(mnt, (flags & (O_ACCMODE | O_APPEND | O_NONBLOCK)) |
				      O_NOCTTY);
	if (file < 0)
		return fail_errno(err, "open %s again", text_quote(path));
	if (node && !is_everyones(st) &&
	    mount_setattr(mnt, "", AT_EMPTY_PATH, &closed, sizeof(closed)) < 0)
		return fail_errno(err, "close %s", text_quote(path));
	if (!S_ISCHR(st->st_mode) && at > 0 && lseek(file, at, SEEK_SET) < 0)
		return fail_errno(err, "seek in %s", text_quote(path));
	if (dup2(file, fd) < 0)
		return fail_errno(err, "replace descriptor %d", fd);
	return 0;
}

static bool is_to_reopen(const struct stat *st, int flags, uid_t uid)
{
	bool reads = (flags & O_ACCMODE) == O_RDONLY;

	/* Deleted ones (here-documents) have nothing left to protect. */
	if (st->st_nlink == 0)
		return false;
	/* Another one's may be writable by a group that the user is in. */
	if (S_ISBLK(st->st_mode) || S_ISCHR(st->st_mode))
		return st->st_uid == uid || (reads && !is_everyones(st));
	return S_ISREG(st->st_mode) && reads;
}

/*
 * </dev/null of root's, mostly: the run's own node is as good, on a mount that
 * is there anyway. The kernel lets the end of a mount of its own wait for all
 * processors.
 */
static bool is_to_replace(const struct setup *s, const struct stat *st)
{
	const char *name = s->root_fd < 0 ? NULL : name_of(st);
	struct stat machines;

	return name && lstat(name, &machines) == 0 &&
	       S_ISCHR(machines.st_mode) && machines.st_rdev == st->st_rdev;
}

/* A folder is a way out: its mount is writable. */
static bool is_folder(const struct stat *st, int flags)
{
	return S_ISDIR(st->st_mode) || (flags & O_PATH);
}

/* 1: it was opened again. */
static int restrict_one(struct setup *s, int fd, uid_t uid, struct err *err)
{
	int flags = fcntl(fd, F_GETFL);
	struct stat st;

	if (flags < 0 || fstat(fd, &st) < 0) {
		auto_close int null = open("/dev/null", O_RDWR | O_CLOEXEC);

		/* Closed: the next file that is opened would take its place. */
		if (null < 0 || (null != fd && dup2(null, fd) < 0))
			return fail_errno(err, "open /dev/null");
		if (null == fd) {
			(void)fcntl(fd, F_SETFD, 0);
			null = -1;
		}
		return 0;
	}
	if (is_folder(&st, flags))
		return fail(err, EISDIR,
			    "descriptor %d is a folder: it would lead out of "
			    "the run; redirect it from or to a file",
			    fd);
	if (!is_to_reopen(&st, flags, uid))
		return 0;
	s->replace_node[fd] = is_to_replace(s, &st);
	if (s->replace_node[fd])
		return 0;
	return reopen_on_read_only(fd, &st, flags, err) < 0 ? -err->num : 1;
}

int files_restrict(struct setup *s, struct err *err)
{
	int fd, rc = 0;

	for (fd = 0; rc >= 0 && fd < 3; fd++) {
		if (s->replace[fd])
			continue;
		rc = restrict_one(s, fd, geteuid(), err);
		s->again[fd] = rc > 0;
	}
	return rc < 0 ? rc : 0;
}

int files_replace_nodes(const struct setup *s, struct err *err)
{
	int fd;

	for (fd = 0; fd < 3; fd++) {
		auto_close int node = -1;
		int flags = fcntl(fd, F_GETFL);
		struct stat st;

		if (!s->replace_node[fd])
			continue;
		if (fstat(fd, &st) < 0 || !name_of(&st))
			return fail(err, ESTALE, "descriptor %d is another one",
				    fd);
		flags &= O_ACCMODE | O_APPEND | O_NONBLOCK;
		node = open(name_of(&st), flags | O_NOCTTY | O_CLOEXEC);
		if (node < 0 || dup2(node, fd) < 0)
			return fail_errno(err, "open %s again", name_of(&st));
	}
	return 0;
}

/* Without opening it: that may do something to a device. */
static bool is_where_it_was(int fd, const struct stat *st, char path[4096])
{
	char link[32];
	struct stat now;
	ssize_t len;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, path, 4095);
	if (len <= 0)
		return false;
	path[len] = '\0';
	return lstat(path, &now) == 0 && now.st_dev == st->st_dev &&
	       now.st_ino == st->st_ino;
}

bool files_cannot_reopen(void *arg, int fd)
{
	const struct setup *s = arg;
	int flags = fcntl(fd, F_GETFL);
	auto_close int again = -1;
	char path[4096];
	struct stat st;

	if (s->replace[fd] || flags < 0 || fstat(fd, &st) < 0 ||
	    is_folder(&st, flags) || name_of(&st) ||
	    !is_to_reopen(&st, flags, geteuid()))
		return false;
	if (!is_where_it_was(fd, &st, path))
		return true;
	again = open(path, (flags & O_ACCMODE) | O_NONBLOCK | O_NOCTTY |
				   O_NOFOLLOW | O_CLOEXEC);
	return again < 0;
}

bool files_are_fine(const struct setup *s)
{
	struct stat st;
	int fd;

	for (fd = 0; fd < 3; fd++) {
		int flags = fcntl(fd, F_GETFL);

		if (!s->replace[fd] &&
		    (flags < 0 || fstat(fd, &st) < 0 || is_folder(&st, flags) ||
		     is_to_reopen(&st, flags, geteuid())))
			return false;
	}
	return true;
}
