/*
 * Names below a root, and only there. Every part of a path is opened by the
 * kernel beneath root_fd: no link is followed, no mount crossed, no "..".
 * What somebody swaps meanwhile gives an error, never another file.
 *
 * Source: openat2(2), RESOLVE_BENEATH|NO_SYMLINKS|NO_MAGICLINKS|NO_XDEV.
 * Where the kernel or a filter refuses openat2, the parts are opened one by
 * one with O_NOFOLLOW and the mount is compared by fstat;
 * beneath_forbid_openat2(true) makes tests take that way. Paths longer than
 * PATH_MAX work.
 *
 * Errors worth telling apart: -ENOENT, -ENOTDIR, -ELOOP (a link stands where
 * a folder was expected), -EXDEV (a mount lies in between).
 */
#ifndef GUARD_BASE_BENEATH_H
#define GUARD_BASE_BENEATH_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

/* Opens path ("" is the root itself) with open(2) flags; O_CLOEXEC,
 * O_NOFOLLOW and O_NOCTTY are added. mode counts with O_CREAT. */
int beneath_open(int root_fd, const char *path, int flags, mode_t mode,
		 struct err *err);

/* The folder that holds path's last part, O_PATH|O_DIRECTORY; *ret_name
 * points into path. path must not be "". */
int beneath_parent(int root_fd, const char *path, const char **ret_name,
		   struct err *err);

/* For tests: true = as if the kernel had no openat2. */
void beneath_forbid_openat2(bool on);

#endif
