/*
 * A plan for people: its steps on stdout, what the user must know or decide on
 * stderr.
 */
#ifndef GUARD_CLI_PLAN_PRINT_H
#define GUARD_CLI_PLAN_PRINT_H

#include <stdbool.h>

#include "restore/plan/plan.h"
#include "snapshot/store/store.h"

/* Every step on stdout, deletions first, with all that is below a deleted
 * folder: none is left out, but that a move is one line. */
int plan_print(struct store *store, const struct plan *plan, struct err *err);
/* On stderr, whose files cannot stay theirs. */
void plan_print_owners(const struct plan *plan);
/* Conflicts and refusals on stderr, each with its reason, and the way out;
 * false when there are none. remedy: for conflicts, may be NULL. */
bool plan_print_blocks(const struct plan *plan, const char *remedy);
/* What the user has decided on, on stderr: the paths that stay as they are,
 * and those where his own edits give way. */
void plan_print_choices(const struct plan *plan);

#endif
