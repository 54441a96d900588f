/*
 * States that a run made, other than its result: snapshots "during-run".
 */
#ifndef GUARD_CHANGE_RUN_STATE_H
#define GUARD_CHANGE_RUN_STATE_H

#include "overlay/session.h"
#include "snapshot/tree/catalog.h"

/*
 * Stores a tree of a directory (0: the project, n: the n-th additional root) as
 * a snapshot. last: the state before it, from which the numbers of files are
 * counted on. Sets *seq, and keeps it when nothing has changed since but mtimes
 * of directories: no snapshot is added then.
 */
int run_state_add(struct store *store, const struct session *s, size_t dir,
		  const struct snapshot *last, struct timestamp time,
		  const struct entry *root, uint64_t *seq, struct err *err);

#endif
