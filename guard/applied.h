/*
 * What guard itself has taken over from a run already. A run that goes on
 * after a part of it was applied works on top of those files: where the
 * project still holds them as guard put them, they are what the run began
 * with, and not an edit of the user's.
 *
 * Kept in the session's record: applied = the snapshots before and after each
 * apply.
 */
#ifndef GUARD_APPLIED_H
#define GUARD_APPLIED_H

#include "overlay/session.h"
#include "restore/plan.h"
#include "snapshot/tree.h"

/*
 * Adds one apply to the record (not saved). What was merged is noted apart: it
 * has the user's edits in it, which the run knows nothing of, so that it is
 * never taken for what the run began with.
 */
void applied_add(struct session *s, uint64_t before, uint64_t after,
		 const struct plan *plan);

/*
 * Gives base what was applied, path by path, where `now` is still like that.
 * An apply whose snapshots are gone from the store is passed over.
 */
int applied_rebase(struct store *store, const struct session *s,
		   struct entry *base, const struct entry *now,
		   struct err *err);

#endif
