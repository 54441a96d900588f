#include "base/beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/text.h"

/* Below PATH_MAX with a margin: longer paths are opened piece by piece. */
#define PIECE_MAX 3800

static atomic_bool plain; /* without openat2() */

static int open_by_openat2(int fd, const char *path, int flags, mode_t mode)
{
	struct open_how how = {
		.flags = (unsigned int)flags,
		.mode = flags & (O_CREAT | __O_TMPFILE) ? mode & 07777 : 0,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
			   RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV,
	};
	int tries = 0;
	long got;

	/* EAGAIN: a rename or mount ran at the same time; try again. */
	do {
		got = syscall(SYS_openat2, fd, path, &how, sizeof(how));
	} while (got < 0 && (errno == EAGAIN || errno == EINTR) &&
		 tries++ < 64);
	return (int)got;
}

/* Opens one part at a time; the last part gets the caller's flags. */
static int open_part_by_part(int root_fd, const char *path, int flags,
			     mode_t mode)
{
	auto_close int dir = fcntl(root_fd, F_DUPFD_CLOEXEC, 0);
	struct stat root, now;
	char name[NAME_MAX + 1];

	if (dir < 0 || fstat(dir, &root) < 0)
		return -1;
	for (;;) {
		size_t len = strcspn(path, "/");
		int next;

		memcpy(name, path, len);
		name[len] = '\0';
		path += len;
		if (!*path)
			break;
		path++;
		next = fd_open_dir_path(dir, name);
		if (next < 0)
			return -1;
		(void)close(dir);
		dir = next;
		if (fstat(dir, &now) < 0)
			return -1;
		if (now.st_dev != root.st_dev) {
			errno = EXDEV;
			return -1;
		}
	}
	return openat(dir, name, flags, mode);
}

static int open_path_piece(int fd, const char *path, int flags, mode_t mode)
{
	int got;

	if (!plain) {
		got = open_by_openat2(fd, path, flags, mode);
		if (got >= 0 || (errno != ENOSYS && errno != EPERM))
			return got;
		/* EPERM may come from a seccomp filter or from the file itself:
		 * the fallback tells which. */
	}
	return open_part_by_part(fd, path, flags, mode);
}

int beneath_open(int root_fd, const char *path, int flags, mode_t mode,
		 struct err *err)
{
	auto_close int dir = -1;
	const char *full_path = path;
	int fd;

	flags |= O_CLOEXEC | O_NOFOLLOW;
	if (!(flags & O_PATH))
		flags |= O_NOCTTY;
	if (!*path) {
		fd = RETRY_ENOENT(
			openat(root_fd, ".", flags & ~O_NOFOLLOW, mode));
		return fd < 0 ? fd_fail(root_fd, "open", err) : fd;
	}
	if (!path_ok(path))
		return fail(err, EINVAL,
			    "%s is not a relative path without '..'",
			    text_quote(path));
	while (strlen(path) > PIECE_MAX) {
		size_t len = PIECE_MAX;
		auto_free char *head = NULL;
		int next;

		while (path[len] != '/')
			len--;
		head = mem_strndup(path, len);
		next = RETRY_ENOENT(open_path_piece(
			dir >= 0 ? dir : root_fd, head,
			O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0));
		if (next < 0)
			return fail_errno(err, "open %s",
					  text_quote(full_path));
		if (dir >= 0)
			(void)close(dir);
		dir = next;
		path += len + 1;
	}
	fd = RETRY_ENOENT(
		open_path_piece(dir >= 0 ? dir : root_fd, path, flags, mode));
	if (fd < 0)
		return fail_errno(err, "open %s", text_quote(full_path));
	return fd;
}

int beneath_parent(int root_fd, const char *path, const char **ret_name,
		   struct err *err)
{
	auto_free char *parent = path_parent(path);
	int fd;

	if (!*path)
		return fail(err, EINVAL, "the root has no parent directory");
	fd = beneath_open(root_fd, parent, O_PATH | O_DIRECTORY, 0, err);
	if (fd >= 0)
		*ret_name = path_name(path);
	return fd;
}
