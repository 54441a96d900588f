/*
 * The moves in a plan: pairs of a deletion and an addition of the same content.
 * They are for display only; the transaction executes the plan's steps.
 */
#ifndef GUARD_CHANGE_PLAN_MOVES_H
#define GUARD_CHANGE_PLAN_MOVES_H

#include <jansson.h>

#include "overlay/change_list.h"
#include "restore/git/moves_store.h"
#include "restore/plan/plan.h"

struct plan_moves {
	struct moves moves;
	struct change_move *items; /* sorted by target path */
	size_t count;
};

/* Deletions of the user's edits and merged files are no moves. *ret must not be
 * moved: its items point into it. */
int plan_moves_make(struct store *store, const struct plan *plan,
		    struct plan_moves *ret, struct err *err);
void plan_moves_free(struct plan_moves *m);
/* Whether a move begins at the path or (added) ends there. */
bool plan_moves_has(const struct plan_moves *m, const char *path, bool added);
/* [{"from", "to", "type", "files", "similarity"}]: the same lines. */
json_t *plan_moves_json(const struct plan_moves *m);

#endif
