/*
 * Opens names below a root one after the other, each near the last one, as in a
 * walk through a tree that may be thousands of directories deep. The cursor
 * keeps descriptors of directories on the current path, one for about every
 * PATH_CURSOR_PIECE bytes, so that the cost of a name does not grow with the
 * length of its path. Shorter paths are a plain beneath_open().
 *
 * A directory on the current path that another process moves stays in use; only
 * files that were inside the root can be reached through it.
 */
#ifndef GUARD_RESTORE_PATH_CURSOR_H
#define GUARD_RESTORE_PATH_CURSOR_H

#include <stddef.h>

#include "base/err.h"
#include "base/vec.h"

#define PATH_CURSOR_PIECE 512

struct path_cursor_dir {
	int fd; /* O_PATH */
	size_t len; /* length of its path */
};

struct path_cursor {
	int root_fd; /* borrowed */
	char *path; /* path of the last call */
	VEC(struct path_cursor_dir) dirs;
};

/* Closes all descriptors except root_fd and leaves an empty cursor. */
void path_cursor_free(struct path_cursor *w);

/* As beneath_open() of root_fd, for an existing name. */
int path_cursor_open(struct path_cursor *w, const char *path, int flags,
		     struct err *err);
/* As beneath_parent(). */
int path_cursor_parent(struct path_cursor *w, const char *path,
		       const char **ret_name, struct err *err);

#endif
