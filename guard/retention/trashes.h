/*
 * The two trashes, which guard keeps for some days: runs (undo restores them)
 * and snapshots (undelete does). Both may be emptied earlier, when the space is
 * needed.
 */
#ifndef GUARD_RETENTION_TRASHES_H
#define GUARD_RETENTION_TRASHES_H

#include "guard/state/context.h"
#include "guard/state/usage.h"

struct trashes {
	struct usage runs, versions;
};

/* Disk usage of both; of the store only when it is open. */
void trashes_measure(struct context *c, struct trashes *ret);

/* Empties both. Their content cannot be restored. */
int trashes_empty(struct context *c, struct err *err);

#endif
