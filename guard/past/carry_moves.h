/*
 * What a plan moves: deletions and additions of it that are one thing under
 * another name. For people; what is done are the plan's steps.
 */
#ifndef GUARD_PAST_CARRY_MOVES_H
#define GUARD_PAST_CARRY_MOVES_H

#include <jansson.h>

#include "overlay/change_list.h"
#include "restore/git/moves_store.h"
#include "restore/plan/plan.h"

struct carry_moves {
	struct moves_trees trees;
	struct change_move *items; /* by where they went */
	size_t count;
};

/* What goes with an edit of the user's, and what is merged, is none. *ret must
 * stay where it is. */
int carry_moves_make(struct store *store, const struct plan *plan,
		     struct carry_moves *ret, struct err *err);
void carry_moves_free(struct carry_moves *m);
/* Whether a move begins or (came) ends there. */
bool carry_moves_has(const struct carry_moves *m, const char *path, bool added);
/* A line each on stdout; what went with its folder has none. */
void carry_moves_print(const struct carry_moves *m, const char *prefix);
/* [{"from", "to", "type", "files", "similarity"}]: the same lines. */
json_t *carry_moves_json(const struct carry_moves *m);

#endif
