/*
 * Conflicts of an apply, asked about line by line.
 */
#ifndef GUARD_CLI_CONFLICT_PROMPT_H
#define GUARD_CLI_CONFLICT_PROMPT_H

#include "guard/review/decisions.h"

struct conflict_prompt_options {
	struct store *store;
	struct decisions *decisions; /* where choices are kept, or NULL */
	/* A directory for a text that is edited, and its path. */
	int scratch_fd;
	const char *scratch;
};

/* Asks about each place that is open. false: the user goes back. */
bool conflict_prompt(struct review_conflicts *list,
		     const struct conflict_prompt_options *o);

#endif
