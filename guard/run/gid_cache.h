/*
 * Groups of a project's files. Most projects have no file of the user's
 * supplementary groups. Where a snapshot has shown this, the next run starts
 * without a look at every file (overlay/pre_copy_up.h), so that a large project
 * starts as fast as a small one. The workspace of the directory keeps the
 * record "groups": the groups, and the directory in which they were seen.
 */
#ifndef GUARD_RUN_GID_CACHE_H
#define GUARD_RUN_GID_CACHE_H

#include "overlay/session.h"
#include "snapshot/walk/take.h"

/* After a full snapshot of the directory. A failure is no error: the next run
 * examines the files itself. */
void gid_cache_save(int workspace_fd, int dir_fd, const struct gid_summary *g);

/* Marks the directories of a new session that have one group
 * (LAYERS_ONE_GROUP). */
void gid_cache_recall(struct session *s, int workspaces_fd);

/* After the base snapshot of the run: the directory that had one group before
 * and has several now, so that writes of the run may have failed there; or
 * NULL. */
const char *gid_cache_find_stale(const struct session *s, int workspaces_fd);

#endif
