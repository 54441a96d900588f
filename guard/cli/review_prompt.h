/*
 * Goes through a review with the user, with the keys of `git add -p`: a line
 * an answer, so that the terminal stays as it is whatever happens.
 */
#ifndef GUARD_CLI_REVIEW_PROMPT_H
#define GUARD_CLI_REVIEW_PROMPT_H

#include "guard/review/review.h"

/*
 * Asks part by part; stdin and stdout are terminals. scratch_fd and scratch: a
 * directory for a hunk that is edited, and its path. Returns when every part is
 * decided on or the user quits.
 */
void review_prompt(struct review *r, int scratch_fd, const char *scratch);

/* A line from the user after a question: its text without blanks around, to
 * free; NULL at the end of input. */
char *review_prompt_ask(const char *format, ...)
	__attribute__((format(printf, 1, 2)));

/* One line an item with its number and answer; without `all` only the accepted
 * items. */
void review_prompt_list(struct review *r, bool all);

#endif
