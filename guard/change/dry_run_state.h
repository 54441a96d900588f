/*
 * The changes that the earlier actions of a dry run would have made. A dry run
 * of `undo --count` plans each action against the files as they would be after
 * the ones before it.
 */
#ifndef GUARD_CHANGE_DRY_RUN_STATE_H
#define GUARD_CHANGE_DRY_RUN_STATE_H

#include "restore/plan/plan.h"

struct dry_run_change {
	char *dir; /* absolute */
	char *path;
	struct entry to; /* mode 0: nothing */
};

struct dry_run_state {
	struct dry_run_change *items;
	size_t count, capacity;
};

void dry_run_state_free(struct dry_run_state *t);
/* Adds the steps of a plan in a directory. */
void dry_run_state_add(struct dry_run_state *t, const char *dir,
		       const struct plan *plan);
/* Changes *now, the root of the directory as it is, into the root as it would
 * be. only: the paths that were read, NULL: all. Trees are stored, but no
 * snapshot. */
int dry_run_state_apply(const struct dry_run_state *t, struct store *store,
			const char *dir, char *const *only, struct entry *now,
			struct err *err);

#endif
