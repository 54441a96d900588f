/*
 * A workspace: what guard's state remembers of one folder of the user, in
 * workspaces/<id>/: its path, the stat cache, the journal, a lock. The id is a
 * number made of the canonical path; two paths with the same number get
 * folders of their own.
 */
#ifndef GUARD_RESTORE_WORKSPACE_H
#define GUARD_RESTORE_WORKSPACE_H

#include <stdbool.h>

#include "base/err.h"

/* Opens (make: makes) the workspace of an absolute path without links.
 * -ENOENT: there is none. */
int workspace_open(int workspaces_fd, const char *path, bool make,
		   struct err *err);

/* The stat cache's path, valid while workspace_fd stays open. To free. */
char *workspace_cache_path(int workspace_fd);

#endif
