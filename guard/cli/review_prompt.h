/*
 * Goes through a review with the user, with the keys of `git add -p`: a line
 * an answer, so that the terminal stays as it is whatever happens.
 */
#ifndef GUARD_CLI_REVIEW_PROMPT_H
#define GUARD_CLI_REVIEW_PROMPT_H

#include "guard/review/decisions.h"

struct review_prompt_options {
	int scratch_fd; /* a directory for a hunk that is edited */
	const char *scratch; /* its path */
	struct decisions *decisions; /* where answers are kept, or NULL */
	size_t root; /* the number of the review's root there */
	bool open_only; /* begins at the first part that is not decided on */
};

/* Asks part by part; stdin and stdout are terminals. Returns when every part is
 * decided on or the user quits. */
void review_prompt(struct review *r, const struct review_prompt_options *o);

/* A line from the user after a question: its text without blanks around, to
 * free; NULL at the end of input. */
char *review_prompt_ask(const char *format, ...)
	__attribute__((format(printf, 1, 2)));

/* One line an item with its number and answer; without `all` only the accepted
 * items. */
void review_prompt_list(struct review *r, bool all);

#endif
