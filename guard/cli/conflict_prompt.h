/*
 * Conflicts of an apply, asked about line by line.
 */
#ifndef GUARD_CLI_CONFLICT_PROMPT_H
#define GUARD_CLI_CONFLICT_PROMPT_H

#include "guard/cli/review_ui.h"

/* Asks about each place that is open. false: the user goes back. */
bool conflict_prompt(struct review_ui *u, struct review_conflicts *list);

#endif
