/*
 * Line prompts of a review, with the keys of `git add -p`: a line an answer, so
 * that the terminal stays as it is whatever happens.
 */
#ifndef GUARD_CLI_REVIEW_PROMPT_H
#define GUARD_CLI_REVIEW_PROMPT_H

#include "guard/cli/review_ui.h"

/* Asks part by part; stdin and stdout are terminals. Returns when every part is
 * decided on or the user quits. open_only: begins at the first part that is not
 * decided on. */
void review_prompt(struct review_ui *u, bool open_only);

/* The terminal asks line by line, with the keys of this place. */
void review_prompt_begin(struct review_ui *u, unsigned int place);
/* Asks "QUESTION [y,n,?]?", and acts on the key of the answer; another answer
 * lists the keys. false: the input has ended. */
bool review_prompt_key(struct review_ui *u, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Acts of review_keys.c. */

/* One line a row with its number and answer. */
void review_prompt_list(struct review_ui *u, int key);
void review_prompt_go(struct review_ui *u, int key);
void review_prompt_print(struct review_ui *u, int key);
void review_prompt_help(struct review_ui *u, int key);

#endif
