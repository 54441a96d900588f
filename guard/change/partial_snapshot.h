/*
 * Partial snapshots: before and after a change of a few paths in a large
 * project only these paths are read and stored (project.only), because reading
 * all files twice takes longer than the change. A partial snapshot tells
 * nothing about the other paths.
 */
#ifndef GUARD_CHANGE_PARTIAL_SNAPSHOT_H
#define GUARD_CHANGE_PARTIAL_SNAPSHOT_H

#include "guard/change/restore_want.h"

/* The greatest number of paths for a partial snapshot of the project, of which
 * s is a complete snapshot; 0: the project is small, or s is not complete. */
uint64_t partial_snapshot_max_paths(const struct snapshot *s);

/*
 * The sorted paths of a restore, for project.only; to free with
 * mem_list_free(). NULL: the whole project must be read, because it is small,
 * the targets are large, a target has hard links, which may be anywhere, it
 * lies in a .git, or the root was just created (is_new). When the snapshot of
 * the first target is partial itself, none of that is asked.
 */
int partial_snapshot_targets(struct store *store,
			     const struct restore_target *targets, size_t count,
			     bool is_new, char ***ret, struct err *err);

#endif
