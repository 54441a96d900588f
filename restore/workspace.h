/*
 * A workspace: the state that guard keeps for one directory of the user, in
 * workspaces/<id>/: its path, the stat cache, the journal and a lock. The id is
 * a hash of the canonical path; two paths with the same hash get directories of
 * their own.
 */
#ifndef GUARD_RESTORE_WORKSPACE_H
#define GUARD_RESTORE_WORKSPACE_H

#include <stdbool.h>

#include "base/atomic.h"
#include "base/err.h"
#include "base/meta.h"

/* Opens (make: creates if missing) the workspace of an absolute path without
 * symbolic links. Returns a descriptor; -ENOENT: no such workspace. */
int workspace_open(int workspaces_fd, const char *path, bool make,
		   struct err *err);

/*
 * The directory at a workspace's path. A renamed project is recognized by it
 * (guard/state/moved_project.h), and so is another directory at its old path.
 */
struct workspace_dir {
	struct dir_identity dir; /* .ino 0: not noted yet */
	struct dir_identity git; /* the .git in the directory */
	/* Snapshots of the directory have numbers from first on, below end (0:
	 * it is still there), and the older numbers, from another path. */
	uint64_t first, end;
	struct workspace_seqs {
		uint64_t *items;
		size_t count, capacity;
	} older;
};
void workspace_dir_free(struct workspace_dir *d);
/* The identities of a directory and of its .git, without numbers. -1 with
 * errno. */
int workspace_dir_get(const char *path, struct workspace_dir *ret);

/* Loads the path and the directory of an open workspace; *ret_path is the
 * caller's to free, *ret must be freed with workspace_dir_free(). -ENOENT: no
 * record; -EBADMSG: damaged. */
int workspace_load(int workspace_fd, char **ret_path, struct workspace_dir *ret,
		   struct err *err);
/* Writes both. */
int workspace_save(int workspace_fd, const char *path,
		   const struct workspace_dir *d, enum atomic_durability how,
		   struct err *err);
/* The directory was lost and made again by guard: the records are its own. */
int workspace_renew(int workspace_fd, const char *path, struct err *err);
/* Gives an open workspace to another path, which has none yet. After a kill
 * within this call the record still has the old path, and the call can be made
 * again. */
int workspace_rename(int workspaces_fd, int workspace_fd, const char *to,
		     struct err *err);
/* Keeps an open workspace for a directory that is elsewhere now: its path is
 * free for another one. Its record keeps the path; d->end is set. */
int workspace_set_aside(int workspaces_fd, int workspace_fd, const char *path,
			struct workspace_dir *d, uint64_t end, struct err *err);

/* Takes the lock of the project: of its files, journal, actions and notes. The
 * descriptor; -EBUSY: another process has it, and the text says that `what` is
 * in use by that process. wait: until it is free. */
int workspace_lock(int workspace_fd, bool wait, const char *what,
		   struct err *err);

/* Path of the stat cache, to free. Valid while workspace_fd stays open. */
char *workspace_cache_path(int workspace_fd);

#endif
