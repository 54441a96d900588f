/*
 * Detection of files that are open for writing.
 *
 * A process with a writable descriptor of a displaced file writes to an inode
 * that has no name in the project, and the data is lost. guard treats such a
 * file as changed. A writable mapping counts, even after its descriptor was
 * closed. Where the kernel gives no answer (fd_find_writers()), no writer is
 * assumed.
 */
#ifndef GUARD_RESTORE_OPEN_WRITERS_H
#define GUARD_RESTORE_OPEN_WRITERS_H

#include "base/err.h"
#include "base/dirtree.h"

/* Returns -EBUSY, with the remedy in the message, when the file is open for
 * writing. fd: open for reading; -1 for an unreadable file, which passes. */
int open_writers_check(int fd, struct err *err);
/* The same check for the entry `name` of dirfd. A symbolic link is not
 * followed. */
int open_writers_check_at(int dirfd, const char *name, struct err *err);
/* The same check for each file directly in a directory, whose entries are
 * `list`. path: of this directory relative to the displaced one, "" for the
 * displaced directory itself; errors name the file below it. */
int open_writers_check_in(int dir_fd, const struct dirlist *list,
			  const char *path, struct err *err);
/* The same check for all files below the directory (open for reading).
 * Unreadable directories are skipped. */
int open_writers_check_below(int dir_fd, struct err *err);

#endif
