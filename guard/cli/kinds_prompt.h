/*
 * Goes through the kinds of a review's hunks with the user, a line an answer. A
 * yes to a family counts only after all its values were on the screen.
 */
#ifndef GUARD_CLI_KINDS_PROMPT_H
#define GUARD_CLI_KINDS_PROMPT_H

#include "guard/cli/review_ui.h"

/* Asks until every kind is decided on (true) or the user quits (false); stdin
 * and stdout are terminals. */
bool kinds_prompt(struct review_ui *u);

/* Prints all of them, for a review without a terminal. */
void kinds_prompt_print(struct review_ui *u);

/* Acts of review_keys.c, on u->kind. */

/* Answers all hunks of the kind; u->all_decided: no other is open. */
void kinds_prompt_answer(struct review_ui *u, int key);
void kinds_prompt_step(struct review_ui *u, int key);
void kinds_prompt_split(struct review_ui *u, int key);
void kinds_prompt_show(struct review_ui *u, int key);
bool kinds_prompt_can(struct review_ui *u, int key);

#endif
