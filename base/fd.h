/*
 * Whole reads and writes on descriptors. A descriptor argument is borrowed,
 * always; a returned one is the caller's and has O_CLOEXEC.
 */
#ifndef GUARD_BASE_FD_H
#define GUARD_BASE_FD_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/mem.h"

/*
 * Reads until len bytes or the end of the file; returns how many, or -1 with
 * errno. EINTR is taken care of.
 */
ssize_t fd_read(int fd, void *data, size_t len);
ssize_t fd_pread(int fd, void *data, size_t len, uint64_t offset);

/* Writes all of it; 0, or -1 with errno. */
int fd_write(int fd, const void *data, size_t len);
int fd_pwrite(int fd, const void *data, size_t len, uint64_t offset);

/*
 * Appends all that is left to read. -EFBIG when it is more than max bytes
 * (what was read till then stays in `to`).
 */
int fd_slurp(int fd, size_t max, struct buf *to, struct err *err);

/*
 * What is not there is taken for deleted, for done or for nobody's, and there
 * is no way back from that: one call alone that says so is not believed (a file
 * system in user space, a name that is just being replaced). call: evaluated
 * once more when it fails with ENOENT.
 */
#define RETRY_ENOENT(call)                                                     \
	({                                                                     \
		int twice_ = (call);                                           \
		twice_ < 0 && errno == ENOENT ? (call) : twice_;               \
	})

/* Whether name is in dirfd, a link itself. What cannot be told counts as
 * there: whoever goes on to open it is told why. */
bool fd_exists(int dirfd, const char *name);

/* Opens name in dirfd, reads it whole as above; -ENOENT when it is absent. */
int fd_slurp_at(int dirfd, const char *name, size_t max, struct buf *to,
		struct err *err);

/*
 * "/proc/self/fd/N": what the descriptor is open on, O_PATH or not, for calls
 * that take a path alone. Holds while it is open, and in this process.
 */
struct fd_proc_path {
	char text[32];
};

struct fd_proc_path fd_proc_path(int fd);

/* Of O_PATH descriptors, too, which fchmod(2) refuses; 0, or -1 with errno. */
int fd_chmod(int fd, mode_t mode);

/*
 * The absolute path of what is open there, as this process sees it now; of a
 * pipe or another nameless thing what the kernel calls it. NULL with errno.
 */
char *fd_path(int fd);

/* An error of what is open there, by errno: "what 'its path': why". */
int fd_fail(int fd, const char *what, struct err *err);

/* A plain file's descriptor again with other flags (from an O_PATH one). */
int fd_reopen(int fd, int flags);

#endif
