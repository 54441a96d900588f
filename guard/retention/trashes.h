/*
 * What guard keeps for some days after somebody has dropped it: runs (undo
 * brings them back) and versions (undelete does). Both may be emptied before
 * their time, when the room is needed.
 */
#ifndef GUARD_RETENTION_TRASHES_H
#define GUARD_RETENTION_TRASHES_H

#include "guard/context.h"
#include "guard/usage.h"

struct trashes {
	struct usage runs, versions;
};

/* What they take; of a store that is open, if there is one. */
void trashes_measure(struct context *c, struct trashes *ret);

/* The name in the trash of a discarded run, "<time>-discard-<id>", to free;
 * NULL with -ENOENT: it is there no more. */
char *trashes_find(const struct state *state, const char *run_id,
		   struct err *err);

/* Nothing brings back what was in them. */
int trashes_empty(struct context *c, struct err *err);

#endif
