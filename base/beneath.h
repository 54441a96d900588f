/*
 * Names below a root directory, and only there. The kernel opens every part of
 * a path beneath root_fd: no symbolic link is followed, no mount is crossed,
 * ".." is refused. A path that another process swaps during the call gives an
 * error, never another file.
 *
 * Source: openat2(2), RESOLVE_BENEATH|NO_SYMLINKS|NO_MAGICLINKS|NO_XDEV. Where
 * the kernel or a seccomp filter refuses openat2, the parts are opened one by
 * one with O_NOFOLLOW and fstat(2) compares the mount. Paths longer than
 * PATH_MAX work.
 *
 * Errors that callers tell apart: -ENOENT, -ENOTDIR, -ELOOP (a symbolic link
 * stands where a directory was expected), -EXDEV (a mount lies in between).
 */
#ifndef GUARD_BASE_BENEATH_H
#define GUARD_BASE_BENEATH_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

/* Opens path ("" is the root itself) with the flags of open(2); O_CLOEXEC,
 * O_NOFOLLOW and O_NOCTTY are added. mode is used with O_CREAT. Returns a
 * descriptor or a negative errno. */
int beneath_open(int root_fd, const char *path, int flags, mode_t mode,
		 struct err *err);

/* Opens the directory that holds the last part of path, with
 * O_PATH|O_DIRECTORY; *ret_name points into path. path must not be "". Returns
 * a descriptor or a negative errno. */
int beneath_parent(int root_fd, const char *path, const char **ret_name,
		   struct err *err);

#endif
