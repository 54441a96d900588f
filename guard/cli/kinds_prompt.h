/*
 * Goes through the kinds of a review's hunks with the user, a line an answer. A
 * yes to a family counts only after all its values were on the screen.
 */
#ifndef GUARD_CLI_KINDS_PROMPT_H
#define GUARD_CLI_KINDS_PROMPT_H

#include "guard/review/review_kinds.h"

/* Asks until every kind is decided on (true) or the user quits (false); stdin
 * and stdout are terminals. d: where answers are kept, or NULL. */
bool kinds_prompt(struct review_kinds *k, struct decisions *d);

/* Prints all of them, for a review without a terminal. */
void kinds_prompt_print(struct review_kinds *k);

#endif
