/*
 * Whoever has a file open for writing when it is displaced writes into what
 * nobody will see any more: that is a change like any other. A file that is
 * mapped for writing counts, its descriptor closed or not. Where the kernel
 * does not tell (lock_has_writer()) nobody has it.
 */
#ifndef GUARD_RESTORE_OPEN_WRITERS_H
#define GUARD_RESTORE_OPEN_WRITERS_H

#include "base/err.h"
#include "base/dirtree.h"

/* -EBUSY, with the way out, when somebody has the file (open for reading; -1
 * is one that nobody may read) open for writing. */
int open_writers_check(int fd, struct err *err);
/* The same of a name, no link followed. */
int open_writers_check_at(int dirfd, const char *name, struct err *err);
/* The same of each file that lies directly in a folder, whose list that is.
 * path: of the folder below the displaced one, "" for that one itself; errors
 * name what lies there. */
int open_writers_check_in(int dir_fd, const struct dirlist *list,
			  const char *path, struct err *err);
/* The same of all that lies below the folder (open for reading), as far as it
 * can be looked into. */
int open_writers_check_below(int dir_fd, struct err *err);

#endif
