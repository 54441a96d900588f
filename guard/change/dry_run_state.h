/*
 * What a dry run has thought of doing, step after step: a later one has to be
 * told what the files would be by then, not what they are.
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
/* The plan's steps in that folder would be done now. */
void dry_run_state_add(struct dry_run_state *t, const char *dir,
		       const struct plan *plan);
/* Makes *now, the root of what is there, what it would be. only: the paths that
 * were looked at, NULL: all. Puts trees into the store, and no snapshot. */
int dry_run_state_apply(const struct dry_run_state *t, struct store *store,
			const char *dir, char *const *only, struct entry *now,
			struct err *err);

#endif
