/*
 * A workspace: the state that guard keeps for one directory of the user, in
 * workspaces/<id>/: its path, the stat cache, the journal and a lock. The id is
 * a hash of the canonical path; two paths with the same hash get directories of
 * their own.
 */
#ifndef GUARD_RESTORE_WORKSPACE_H
#define GUARD_RESTORE_WORKSPACE_H

#include <stdbool.h>

#include "base/err.h"

/* Opens (make: creates if missing) the workspace of an absolute path without
 * symbolic links. Returns a descriptor; -ENOENT: no such workspace. */
int workspace_open(int workspaces_fd, const char *path, bool make,
		   struct err *err);

/* Takes the lock of the project: of its files, journal, actions and notes. The
 * descriptor; -EBUSY: another process has it, and the text says that `what` is
 * in use by that process. wait: until it is free. */
int workspace_lock(int workspace_fd, bool wait, const char *what,
		   struct err *err);

/* Path of the stat cache, to free. Valid while workspace_fd stays open. */
char *workspace_cache_path(int workspace_fd);

#endif
