/*
 * The versions during runs, of all runs: retention and removal. All versions
 * of a run are kept until the user has decided about it and a day
 * longer; then it is thinned (guard/timeline/drop.h). The rest goes with the
 * results of the run, by the rules for all snapshots.
 */
#ifndef GUARD_RETENTION_RUN_CONTENTS_H
#define GUARD_RETENTION_RUN_CONTENTS_H

#include "guard/state/state.h"
#include "snapshot/store/store.h"

/* Moves the versions that earlier imports left behind into the store, and thins
 * those of decided runs; while ages are believed (clock.h). The store is open
 * for writing. */
int run_contents_maintain(const struct state *state, struct store *store,
			  struct err *err);
/* Purges the absolute path from the versions of all runs. Returns the number of
 * contents; dry: of those that would go. -EBUSY: a live run has some. */
int run_contents_purge(const struct state *state, struct store *store,
		       const char *path, bool dry, struct err *err);

#endif
