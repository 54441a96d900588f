/*
 * Conflicts of an apply, for the full screen and for line prompts: the three
 * sides as lines, a cursor (review_ui.conflict), and the acts of the keys.
 */
#ifndef GUARD_CLI_CONFLICT_VIEW_H
#define GUARD_CLI_CONFLICT_VIEW_H

#include "guard/cli/review_ui.h"

struct review_conflict *conflict_view_current(const struct review_ui *u);
/* Gives the sides of the current place to a medium. */
void conflict_view_make(const struct review_ui *u, struct styled *to);
/* Goes to the next open place behind the current one, once round, without the
 * files that are left out; false: there is none. */
bool conflict_view_find_open(struct review_ui *u);

/* Acts of review_keys.c. After an answer the cursor goes to the next open
 * place; u->all_decided: there was none. */
bool conflict_view_can(struct review_ui *u, int key);
void conflict_view_choose(struct review_ui *u, int key);
/* The same for all that are open, where it is possible. */
void conflict_view_choose_all(struct review_ui *u, int key);
void conflict_view_edit(struct review_ui *u, int key);
void conflict_view_step(struct review_ui *u, int key);
/* Goes on with the apply; once warns of open places. */
void conflict_view_confirm(struct review_ui *u, int key);
void conflict_view_leave(struct review_ui *u, int key);

#endif
