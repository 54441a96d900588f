/*
 * Most folders have nothing in them of another group of the user's than his
 * first. Where a snapshot has seen that, the next run need not look at every
 * file for it before it begins (overlay/pre_copy_up.h), so that it begins as
 * soon in a large project as in a small one.
 *
 * In the folder's workspace: "groups", a record of the groups that were seen
 * and of the folder that they were seen in.
 */
#ifndef GUARD_RUN_GID_CACHE_H
#define GUARD_RUN_GID_CACHE_H

#include "overlay/session.h"
#include "snapshot/walk/gid_summary.h"

/* After a snapshot of all of the folder. Failing is no error: the next run
 * looks for itself. */
void gid_cache_save(int workspace_fd, int dir_fd, const struct gid_summary *g);

/* Tells the session, which is new, of its folders (LAYERS_ONE_GROUP). */
void gid_cache_recall(struct session *s, int workspaces_fd);

/* After the snapshot of the run's own beginning: the folder that had one group
 * before has others now, so the run may have failed to write there; or NULL. */
const char *gid_cache_find_stale(const struct session *s, int workspaces_fd);

#endif
