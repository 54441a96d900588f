/*
 * Names below a root that are asked for one near the other, as in a walk, where
 * paths may be thousands of folders long: descriptors of some folders on the
 * way are kept, one for about every PATH_CURSOR_PIECE bytes of the path, so
 * that each name costs so much at most and not all of its path. Up to that
 * length it is beneath_open() and nothing else.
 *
 * A folder that somebody moves elsewhere while it is on the way is still the
 * one that is used; nothing but what was in the root can be reached by that.
 */
#ifndef GUARD_BASE_PATH_CURSOR_H
#define GUARD_BASE_PATH_CURSOR_H

#include <stddef.h>

#include "base/err.h"
#include "base/vec.h"

#define PATH_CURSOR_PIECE 512

struct path_cursor_dir {
	int fd; /* O_PATH */
	size_t len; /* of its path */
};

struct path_cursor {
	int root_fd; /* borrowed */
	char *path; /* that was asked for last */
	VEC(struct path_cursor_dir) dirs;
};

void path_cursor_free(struct path_cursor *w);

/* As beneath_open() of root_fd, of what is there. */
int path_cursor_open(struct path_cursor *w, const char *path, int flags,
		     struct err *err);
/* As beneath_parent(). */
int path_cursor_parent(struct path_cursor *w, const char *path,
		       const char **ret_name, struct err *err);

#endif
