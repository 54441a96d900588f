/*
 * Conflicts of an apply out of a review: plans the apply, shows the conflicts,
 * on the full screen or line by line, and plans again with the decisions.
 *
 *	conflict_session_list()		from the list of the review
 *	conflict_session_plan()		again after each return to the review
 *	conflict_session_free()
 */
#ifndef GUARD_CLI_CONFLICT_SESSION_H
#define GUARD_CLI_CONFLICT_SESSION_H

#include "guard/change/apply_plan.h"
#include "guard/cli/review_ui.h"

struct conflict_session {
	struct review_ui *ui; /* the review's */
	struct review_conflicts list;
	struct plan_choice **choices; /* of each root */
	size_t root_count;
};

/* Frees the choices and conflicts; the plans of the apply are not used any
 * more. */
void conflict_session_free(struct conflict_session *s);

/*
 * Plans all roots of a, which is loaded. 1: without a conflict; 0: the user
 * goes back, and the roots are unlocked. resolve: for all conflicts, or
 * RESOLVE_NOT: the user is asked.
 */
int conflict_session_plan(struct conflict_session *s, struct apply_plan *a,
			  enum plan_resolve resolve, struct err *err);
/* Fills in s->list before an apply is planned: the clashes of the reviews, of
 * each root in turn, with the changes that are not left in them, as if all of
 * these are taken. The choices are those that an apply begins with. */
int conflict_session_list(struct conflict_session *s,
			  const struct apply_plan *a, struct err *err);
/* Whether the user decided on a conflict at this path. */
bool conflict_session_decided(const struct conflict_session *s, size_t root,
			      const char *path);

#endif
