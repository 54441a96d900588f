#include "guard/sandbox/mount.h"
#include "guard/sandbox/namespaces_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/copybytes.h"
#include "base/fd.h"
#include "base/text.h"

/* Largest file without a name that is copied for the run. */
#define COPY_MAX (16 << 20)

/* How a descriptor 0, 1 or 2 enters the run. */
enum stdio_pass {
	PASS_UNCHANGED, /* unrestricted */
	PASS_REOPENED, /* reopened on a read-only mount */
	PASS_COPY, /* a copy of the content, up to COPY_MAX */
	PASS_PROXY, /* a pipe and a process of guard's: stdio_proxy.h */
	PASS_REFUSED, /* refused */
};

/* The path of a memory device that every run has; else NULL. */
static const char *common_device_path(const struct stat *st)
{
	static const char *const memory[] = {
		[3] = "/dev/null",   [5] = "/dev/zero",	   [7] = "/dev/full",
		[8] = "/dev/random", [9] = "/dev/urandom",
	};
	unsigned int minor = minor(st->st_rdev);

	return S_ISCHR(st->st_mode) && major(st->st_rdev) == 1 &&
			       minor < ARRAY_SIZE(memory)
		       ? memory[minor]
		       : NULL;
}

/* The kernel's name for the open file; "": none. */
static void read_stdio_path(int fd, char path[4096])
{
	ssize_t len = readlink(fd_proc_path(fd).text, path, 4095);

	path[len < 0 ? 0 : len] = '\0';
}

/*
 * A file opened for reading can be reopened for writing through /proc/self/fd,
 * because that goes by the mount of the descriptor, the machine's own: `guard
 * run -- cmd < notes.txt` would permit writes to notes.txt. So the file is
 * reopened on a read-only mount of its own, at the same offset. The same holds
 * for a device node, whose owner (root) could change its mode. Data written to
 * a device is not subject to the mount's flags (`guard run < /dev/sda`), so the
 * mount gets MOUNT_ATTR_NODEV, except for the devices that every run has.
 */
static bool is_common_device(const struct stat *st)
{
	return S_ISCHR(st->st_mode) &&
	       (common_device_path(st) || st->st_rdev == makedev(5, 0));
}

static int reopen_on_read_only(int fd, const struct stat *st, int flags,
			       struct err *err)
{
	bool node = !S_ISREG(st->st_mode);
	char path[4096];
	auto_close int path_fd = -1, mnt = -1, file = -1;
	struct stat now;
	off_t at = lseek(fd, 0, SEEK_CUR);

	read_stdio_path(fd, path);
	path_fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (path_fd < 0 || fstat(path_fd, &now) < 0 ||
	    now.st_dev != st->st_dev || now.st_ino != st->st_ino)
		return fail(err, ESTALE,
			    "the file of descriptor %d (once %s) cannot be "
			    "opened again: use a pipe (cat FILE | guard run)",
			    fd, text_quote(path));
	mnt = mount_copy(path_fd, false,
			 MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID |
				 (node ? 0U : MOUNT_ATTR_NODEV),
			 err);
	if (mnt < 0)
		return mnt;
	file = fd_reopen(mnt, (flags & (O_ACCMODE | O_APPEND | O_NONBLOCK)) |
				      O_NOCTTY);
	if (file < 0)
		return fail_errno(err, "reopen %s", text_quote(path));
	if (node && !is_common_device(st) &&
	    mount_set_attrs(mnt, MOUNT_ATTR_NODEV) < 0)
		return fail_errno(err, "close %s", text_quote(path));
	if (!S_ISCHR(st->st_mode) && at > 0 && lseek(file, at, SEEK_SET) < 0)
		return fail_errno(err, "seek in %s", text_quote(path));
	if (dup2(file, fd) < 0)
		return fail_errno(err, "replace descriptor %d", fd);
	return 0;
}

/* A directory leads out of the run: its mount is writable. So do descriptors of
 * kernel objects without a file: namespaces, processes, events, memory. */
static bool can_leave_run(int fd, const struct stat *st, int flags)
{
	char path[4096];

	if (S_ISFIFO(st->st_mode) || S_ISSOCK(st->st_mode))
		return flags & O_PATH;
	if ((flags & O_PATH) || S_ISDIR(st->st_mode) || S_ISLNK(st->st_mode) ||
	    !(st->st_mode & S_IFMT))
		return true;
	read_stdio_path(fd, path);
	return *path && *path != '/';
}

/*
 * A socket belongs to the network namespace that it was created in and can be
 * reconnected there, unless it is one of a pair or connected to a local
 * program. The seccomp filter refuses families other than UNIX and IP. An exec
 * client (no policy) does not know the run's network: its sockets are judged as
 * those of a run without the host's network. Returns true if the run may not
 * have the socket.
 */
static bool is_foreign_socket(const struct setup *s, int fd)
{
	struct sockaddr_storage a;
	socklen_t len = sizeof(a), size = sizeof(int);
	int domain, type;

	if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) < 0 ||
	    getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) < 0)
		return true;
	if (s->policy && s->policy->net == SANDBOX_NET_HOST)
		return domain != AF_UNIX && domain != AF_INET &&
		       domain != AF_INET6;
	return domain != AF_UNIX || type == SOCK_DGRAM ||
	       getpeername(fd, (struct sockaddr *)&a, &len) < 0;
}

static enum stdio_pass choose_stdio_pass(const struct setup *s, int fd,
					 const struct stat *st, int flags)
{
	bool reads = (flags & O_ACCMODE) == O_RDONLY;

	if (can_leave_run(fd, st, flags))
		return PASS_REFUSED;
	if (S_ISSOCK(st->st_mode))
		return is_foreign_socket(s, fd) ? PASS_PROXY : PASS_UNCHANGED;
	/* A FIFO can be reopened in the other direction: to feed lines to the
	 * next reader of the input, or to read the output of other writers. */
	if (S_ISFIFO(st->st_mode))
		return s->strict ? PASS_PROXY : PASS_UNCHANGED;
	/* A node of another owner may be writable by a group of the user. */
	if (!S_ISREG(st->st_mode))
		return st->st_uid == geteuid() ||
				       (reads && !is_common_device(st))
			       ? PASS_REOPENED
			       : PASS_UNCHANGED;
	if (!reads)
		return PASS_UNCHANGED;
	if (st->st_nlink)
		return PASS_REOPENED;
	/* A here-document, or a deleted file that another program still
	 * uses. */
	return st->st_size <= COPY_MAX ? PASS_COPY : PASS_PROXY;
}

/* The copy starts at the same offset, and the caller's offset follows the
 * run's. */
static int copy_unlinked_file(int fd, const struct stat *st, struct err *err)
{
	auto_close int copy = memfd_create("input", MFD_CLOEXEC);
	off_t at = lseek(fd, 0, SEEK_CUR);

	if (copy < 0)
		return fail_errno(err, "create a copy of descriptor %d", fd);
	if (copybytes(fd, copy, st->st_size, NULL, NULL, err) < 0)
		return err_context(err, "copy descriptor %d", fd);
	if (lseek(copy, at, SEEK_SET) < 0 || dup2(copy, fd) < 0)
		return fail_errno(err, "replace descriptor %d", fd);
	return 0;
}

static int refuse_stdio_fd(int fd, const struct stat *st, int flags,
			   struct err *err)
{
	char path[4096];

	if (S_ISDIR(st->st_mode) || (flags & O_PATH))
		return fail(
			err, EISDIR,
			"descriptor %d is a directory, which would give access "
			"outside the run: redirect it from or to a file",
			fd);
	read_stdio_path(fd, path);
	return fail(err, EINVAL,
		    "descriptor %d is not a file, pipe or socket, but %s, "
		    "which would give access outside the run: redirect it from "
		    "or to a file",
		    fd, text_quote(path));
}

/* Returns 1 if the run's file offset is no longer the caller's. */
static int restrict_stdio_fd(struct setup *s, int fd, struct err *err)
{
	int flags = fcntl(fd, F_GETFL);
	struct stat st, machines;
	const char *name;

	if (flags < 0 || fstat(fd, &st) < 0) {
		auto_close int null = open("/dev/null", O_RDWR | O_CLOEXEC);

		/* A closed descriptor: the next opened file would take its
		 * number. */
		if (null < 0 || (null != fd && dup2(null, fd) < 0))
			return fail_errno(err, "open /dev/null");
		if (null == fd) {
			(void)fcntl(fd, F_SETFD, 0);
			null = -1;
		}
		return 0;
	}
	switch (choose_stdio_pass(s, fd, &st, flags)) {
	case PASS_REFUSED:
		return refuse_stdio_fd(fd, &st, flags, err);
	case PASS_COPY:
		return copy_unlinked_file(fd, &st, err) < 0 ? -err->num : 1;
	case PASS_REOPENED:
		break;
	case PASS_UNCHANGED:
	case PASS_PROXY:
		return 0;
	}
	/* Mostly root's </dev/null: the node of the run's /dev is equivalent
	 * and its mount exists anyway. The removal of a separate mount makes
	 * the kernel wait for all processors. */
	name = s->root_fd < 0 ? NULL : common_device_path(&st);
	s->replace_node[fd] = name && lstat(name, &machines) == 0 &&
			      S_ISCHR(machines.st_mode) &&
			      machines.st_rdev == st.st_rdev;
	if (s->replace_node[fd])
		return 0;
	return reopen_on_read_only(fd, &st, flags, err) < 0 ? -err->num : 1;
}

int stdio_fds_restrict(struct setup *s, struct err *err)
{
	int fd, rc = 0;

	for (fd = 0; rc >= 0 && fd < 3; fd++) {
		if (s->replace[fd])
			continue;
		rc = restrict_stdio_fd(s, fd, err);
		s->reopened[fd] = rc > 0;
	}
	return rc < 0 ? rc : 0;
}

int stdio_fds_replace_nodes(const struct setup *s, struct err *err)
{
	int fd;

	for (fd = 0; fd < 3; fd++) {
		auto_close int node = -1;
		int flags = fcntl(fd, F_GETFL);
		struct stat st;

		if (!s->replace_node[fd])
			continue;
		if (fstat(fd, &st) < 0 || !common_device_path(&st))
			return fail(err, ESTALE,
				    "descriptor %d was replaced while the "
				    "sandbox started: try again",
				    fd);
		flags &= O_ACCMODE | O_APPEND | O_NONBLOCK;
		node = open(common_device_path(&st),
			    flags | O_NOCTTY | O_CLOEXEC);
		if (node < 0 || dup2(node, fd) < 0)
			return fail_errno(err, "reopen %s",
					  common_device_path(&st));
	}
	return 0;
}

bool stdio_fds_need_proxy(void *arg, int fd)
{
	const struct setup *s = arg;
	int flags = fcntl(fd, F_GETFL);
	auto_close int path_fd = -1;
	char path[4096];
	struct stat st, now;
	enum stdio_pass stdio_pass;

	if (s->replace[fd] || flags < 0 || fstat(fd, &st) < 0)
		return false;
	stdio_pass = choose_stdio_pass(s, fd, &st, flags);
	if (stdio_pass != PASS_REOPENED || common_device_path(&st))
		return stdio_pass == PASS_PROXY;
	/* Compared first, since open(2) can have effects on a device. */
	read_stdio_path(fd, path);
	if (lstat(path, &now) < 0 || now.st_dev != st.st_dev ||
	    now.st_ino != st.st_ino)
		return true;
	path_fd = open(path, (flags & O_ACCMODE) | O_NONBLOCK | O_NOCTTY |
				     O_NOFOLLOW | O_CLOEXEC);
	return path_fd < 0;
}

bool stdio_fds_are_unrestricted(const struct setup *s)
{
	struct stat st;
	int fd;

	for (fd = 0; fd < 3; fd++) {
		int flags = fcntl(fd, F_GETFL);
		enum stdio_pass stdio_pass;

		if (s->replace[fd])
			continue;
		if (flags < 0 || fstat(fd, &st) < 0)
			return false;
		stdio_pass = choose_stdio_pass(s, fd, &st, flags);
		if (stdio_pass != PASS_UNCHANGED && stdio_pass != PASS_PROXY)
			return false;
	}
	return true;
}
