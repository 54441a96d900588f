/*
 * What a plan moves: deletions and additions of it that are one thing under
 * another name. For people; what is done are the plan's steps.
 */
#ifndef GUARD_CHANGE_PLAN_MOVES_H
#define GUARD_CHANGE_PLAN_MOVES_H

#include <jansson.h>

#include "overlay/change_list.h"
#include "restore/git/moves_store.h"
#include "restore/plan/plan.h"

struct plan_moves {
	struct moves_trees trees;
	struct change_move *items; /* by where they went */
	size_t count;
};

/* What goes with an edit of the user's, and what is merged, is none. *ret must
 * stay where it is. */
int plan_moves_make(struct store *store, const struct plan *plan,
		    struct plan_moves *ret, struct err *err);
void plan_moves_free(struct plan_moves *m);
/* Whether a move begins or (came) ends there. */
bool plan_moves_has(const struct plan_moves *m, const char *path, bool added);
/* [{"from", "to", "type", "files", "similarity"}]: the same lines. */
json_t *plan_moves_json(const struct plan_moves *m);

#endif
