/*
 * A plan for people: its steps on stdout, notes and choices on stderr.
 */
#ifndef GUARD_CLI_PLAN_PRINT_H
#define GUARD_CLI_PLAN_PRINT_H

#include <stdbool.h>

#include "guard/review/view.h"
#include "restore/plan/plan.h"
#include "snapshot/store/store.h"

/* Every step on stdout, deletions first; a move is one line. Directories are
 * folded (guard/review/fold.h), by the losses and risks of a view
 * of the run's changes; judged NULL: nothing is known. */
int plan_print(struct store *store, const struct plan *plan,
	       const struct view *judged, struct err *err);
/* On stderr, whose files cannot stay theirs. */
void plan_print_owners(const struct plan *plan);
/* The refused losses of only copies. */
size_t plan_print_copies_refused(const struct plan *plan);
/* Several of them on stderr: their number, and the first ones, folded. */
int plan_print_copies(struct store *store, const struct plan *plan,
		      struct err *err);
/* Conflicts and the other refusals on stderr, each with its reason, and the
 * ways out; false when there are none. remedy: for conflicts; refused: for
 * refusals; each may be NULL. */
bool plan_print_blocks(const struct plan *plan, const char *remedy,
		       const char *refused);
/* Asks for the consent to a refused change; shown: its path for people. */
bool plan_print_consent(const char *shown, const struct refusal *refusal);
/* Decisions of the user, on stderr: the paths that stay unchanged, and those
 * where the user's edits are replaced. */
void plan_print_choices(const struct plan *plan);

#endif
