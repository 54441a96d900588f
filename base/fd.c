#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/text.h"

void fd_close(int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		(void)close(*fd);
	*fd = -1;
	errno = saved;
}

/* Reads at *offset, or at the file position when offset is NULL. */
static ssize_t read_all(int fd, char *data, size_t len, const uint64_t *offset)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = offset ? pread(fd, data + done, len - done,
					   (off_t)(*offset + done))
				   : read(fd, data + done, len - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		if (n == 0)
			break;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

ssize_t fd_read(int fd, void *data, size_t len)
{
	return read_all(fd, data, len, NULL);
}

ssize_t fd_pread(int fd, void *data, size_t len, uint64_t offset)
{
	return read_all(fd, data, len, &offset);
}

static int write_all(int fd, const char *data, size_t len,
		     const uint64_t *offset)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = offset ? pwrite(fd, data + done, len - done,
					    (off_t)(*offset + done))
				   : write(fd, data + done, len - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		done += (size_t)n;
	}
	return 0;
}

int fd_write(int fd, const void *data, size_t len)
{
	return write_all(fd, data, len, NULL);
}

int fd_pwrite(int fd, const void *data, size_t len, uint64_t offset)
{
	return write_all(fd, data, len, &offset);
}

int fd_slurp(int fd, size_t max, struct buf *to, struct err *err)
{
	size_t start = to->len;

	for (;;) {
		size_t piece = 65536;
		ssize_t n = fd_read(fd, buf_reserve(to, piece), piece);

		if (n < 0)
			return fail_errno(err, "read");
		to->len += (size_t)n;
		if (to->len - start > max)
			return fail(err, EFBIG, "larger than the limit of %s",
				    text_size(max));
		if ((size_t)n < piece)
			return 0;
	}
}

bool fd_exists(int dirfd, const char *name)
{
	return RETRY_ENOENT(faccessat(dirfd, name, F_OK,
				      AT_SYMLINK_NOFOLLOW)) == 0 ||
	       errno != ENOENT;
}

bool fd_lacks_rename_flags(int num)
{
	return num == EINVAL || num == ENOSYS || num == EOPNOTSUPP;
}

int fd_rename_new(int from_fd, const char *from, int to_fd, const char *to)
{
	struct stat a, b;

	if (renameat2(from_fd, from, to_fd, to, RENAME_NOREPLACE) == 0)
		return 0;
	if (!fd_lacks_rename_flags(errno))
		return -1;
	if (linkat(from_fd, from, to_fd, to, 0) == 0)
		return unlinkat(from_fd, from, 0);
	if (errno == ENOENT ||
	    fstatat(from_fd, from, &a, AT_SYMLINK_NOFOLLOW) < 0)
		return -1;
	if (fstatat(to_fd, to, &b, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? renameat(from_fd, from, to_fd, to)
				       : -1;
	if (a.st_ino == b.st_ino && a.st_dev == b.st_dev)
		return unlinkat(from_fd, from, 0);
	errno = EEXIST;
	return -1;
}

int fd_open_dir(int dirfd, const char *name)
{
	return openat(dirfd, name,
		      O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

int fd_open_dir_path(int dirfd, const char *name)
{
	return openat(dirfd, name,
		      O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

int fd_slurp_at(int dirfd, const char *name, size_t max, struct buf *to,
		struct err *err)
{
	auto_close int fd = RETRY_ENOENT(openat(
		dirfd, name,
		O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));

	if (fd < 0)
		return fail_errno(err, "open %s", text_quote(name));
	if (fd_slurp(fd, max, to, err) < 0)
		return err_context(err, "%s", text_quote(name));
	return 0;
}

int fd_slurp_own(int fd, size_t max, struct buf *to, struct err *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return fail_errno(err, "stat it");
	if (!S_ISREG(st.st_mode))
		return fail(err, EINVAL, "it is no regular file");
	if (st.st_uid != geteuid() && st.st_uid != 0)
		return fail(err, EPERM,
			    "it belongs to uid %u, not to you: change its "
			    "owner, or remove it",
			    (unsigned int)st.st_uid);
	return fd_slurp(fd, max, to, err);
}

int64_t fd_read_number(const char *path, int64_t otherwise)
{
	AUTO(buf) struct buf text = {0};
	struct err ignored;

	return fd_slurp_at(AT_FDCWD, path, 64, &text, &ignored) < 0 || !text.len
		       ? otherwise
		       : strtoll(buf_text(&text), NULL, 10);
}

struct fd_proc_path fd_proc_path(int fd)
{
	struct fd_proc_path name;

	(void)snprintf(name.text, sizeof(name.text), "/proc/self/fd/%d", fd);
	return name;
}

int fd_chmod(int fd, mode_t mode)
{
	return chmod(fd_proc_path(fd).text, mode & 07777);
}

char *fd_path(int fd)
{
	char path[PATH_MAX];
	ssize_t len = readlink(fd_proc_path(fd).text, path, sizeof(path));

	if (len < 0)
		return NULL;
	if ((size_t)len == sizeof(path)) {
		errno = ENAMETOOLONG;
		return NULL;
	}
	return mem_strndup(path, (size_t)len);
}

int fd_fail(int fd, const char *what, struct err *err)
{
	int num = errno;
	auto_free char *path = fd_path(fd);

	return fail_num(err, num, "%s %s", what, path ? text_quote(path) : "?");
}

int fd_reopen(int fd, int flags)
{
	return RETRY_ENOENT(
		open(fd_proc_path(fd).text, (flags & ~O_NOFOLLOW) | O_CLOEXEC));
}

enum fd_writers fd_find_writers(int fd)
{
	/* A process that opens the file during the lease makes the kernel send
	 * a signal: SIGURG, which is ignored by default, instead of SIGIO,
	 * which ends the process. */
	if (fcntl(fd, F_SETSIG, SIGURG) < 0 ||
	    fcntl(fd, F_SETLEASE, F_RDLCK) < 0)
		return errno == EAGAIN ? FD_WRITERS_SOME : FD_WRITERS_UNKNOWN;
	(void)fcntl(fd, F_SETLEASE, F_UNLCK);
	return FD_WRITERS_NONE;
}
