/*
 * Of a large project only those paths are looked at and stored before and
 * after a change that the change is about (project.only): what nobody asks for
 * nobody has to read, twice. Such snapshots say nothing of the rest.
 */
#ifndef GUARD_CHANGE_PARTIAL_SNAPSHOT_H
#define GUARD_CHANGE_PARTIAL_SNAPSHOT_H

#include "guard/change/restore_want.h"

/* How many paths may be all that is looked at in a project of which this is a
 * whole snapshot; 0: it is small, look at all of it. */
uint64_t partial_snapshot_max_paths(const struct snapshot *s);

/*
 * The paths of a restore, sorted, for project.only; to free. NULL: all has to
 * be looked at, because the project is small, or there is much in them, or a
 * file of theirs has other names, which may be anywhere, or they are of a .git.
 */
int partial_snapshot_targets(struct store *store,
			     const struct restore_target *targets, size_t count,
			     char ***ret, struct err *err);
/* The paths of the targets, whatever they are. */
char **partial_snapshot_paths(const struct restore_target *targets,
			      size_t count);

#endif
