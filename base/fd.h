/* Complete reads and writes on descriptors. A descriptor argument is always
 * borrowed; a returned descriptor belongs to the caller and has O_CLOEXEC. */
#ifndef GUARD_BASE_FD_H
#define GUARD_BASE_FD_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/mem.h"

/* Closes *fd unless it is -1, and sets it to -1. Keeps errno. */
void fd_close(int *fd);

/* Reads until len bytes or the end of the file. Returns the number of bytes, or
 * -1 with errno. Calls interrupted by a signal (EINTR) are repeated. */
ssize_t fd_read(int fd, void *data, size_t len);
ssize_t fd_pread(int fd, void *data, size_t len, uint64_t offset);

/* Writes all len bytes. Returns 0, or -1 with errno. */
int fd_write(int fd, const void *data, size_t len);
int fd_pwrite(int fd, const void *data, size_t len, uint64_t offset);

/* Appends the rest of the file to `to`. -EFBIG: more than max bytes are left;
 * `to` holds the bytes read so far. */
int fd_slurp(int fd, size_t max, struct buf *to, struct err *err);

/*
 * Repeats a call once when it fails with ENOENT. guard takes a missing file for
 * deleted, finished or unowned, and cannot undo what follows, so a single
 * ENOENT is not trusted: file systems in user space, and names that are being
 * replaced, can report it wrongly.
 */
#define RETRY_ENOENT(call)                                                     \
	({                                                                     \
		int twice_ = (call);                                           \
		twice_ < 0 && errno == ENOENT ? (call) : twice_;               \
	})

/* Whether name exists in dirfd; a symbolic link itself counts. A name whose
 * state is unknown counts as existing: the error of the later open explains it.
 */
bool fd_exists(int dirfd, const char *name);

/* Whether the errno of renameat2(2) with flags is that of a file system without
 * them (NFS, 9p, most of FUSE). */
bool fd_lacks_rename_flags(int num);
/* Renames to a name that must be free: 0, or -1 with errno, EEXIST. Without
 * RENAME_NOREPLACE link(2), which refuses an existing name, takes its place; a
 * killed process may leave both names then, and the same call completes it. For
 * a directory, and where hard links fail, the name is only looked up before. */
int fd_rename_new(int from_fd, const char *from, int to_fd, const char *to);

/* Opens the directory `name` in dirfd, for reading or as O_PATH; a symbolic
 * link is refused. Returns the descriptor, or -1 with errno. */
int fd_open_dir(int dirfd, const char *name);
int fd_open_dir_path(int dirfd, const char *name);

/* Opens name in dirfd and appends its whole content, as fd_slurp() does.
 * -ENOENT: no such name. */
int fd_slurp_at(int dirfd, const char *name, size_t max, struct buf *to,
		struct err *err);
/* As fd_slurp(), of a regular file of this user or of root. -EPERM, -EINVAL. */
int fd_slurp_own(int fd, size_t max, struct buf *to, struct err *err);
/* The decimal number that a file of the kernel begins with; otherwise: it
 * cannot be read. */
int64_t fd_read_number(const char *path, int64_t otherwise);

/* "/proc/self/fd/N", the file of a descriptor (O_PATH or not), for calls that
 * take only a path. Valid in this process while the descriptor is open. */
struct fd_proc_path {
	char text[32];
};

/* Formats the path of a descriptor. */
struct fd_proc_path fd_proc_path(int fd);

/* As fchmod(2), also for O_PATH descriptors, which fchmod(2) refuses. Returns
 * 0, or -1 with errno. */
int fd_chmod(int fd, mode_t mode);

/* The absolute path of an open file in this process's mount namespace; for
 * pipes and other nameless files the kernel's own text. For the caller to free;
 * NULL with errno. */
char *fd_path(int fd);

/* Fills err from errno with "what 'path of fd': reason"; returns -err->num. */
int fd_fail(int fd, const char *what, struct err *err);

/* Whether a process has this file open for writing or mapped writable. */
enum fd_writers {
	FD_WRITERS_NONE,
	FD_WRITERS_SOME,
	/* Another user's file, and file systems without leases. */
	FD_WRITERS_UNKNOWN,
};

/*
 * Asks the kernel for the writers of a regular file that is open for reading
 * here. fcntl(2) grants a read lease only
 * while there is none; it is returned at once. Opens for writing that come in
 * between wait for the return (with O_NONBLOCK: EAGAIN).
 */
enum fd_writers fd_find_writers(int fd);

/* Opens a regular file again with other flags, also from an O_PATH descriptor.
 * Returns the new descriptor, or -1 with errno. */
int fd_reopen(int fd, int flags);

#endif
