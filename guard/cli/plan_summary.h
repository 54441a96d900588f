/*
 * The summary of a plan for apply, restore and undo: counts, JSON and the
 * question before it is executed.
 */
#ifndef GUARD_CLI_PLAN_SUMMARY_H
#define GUARD_CLI_PLAN_SUMMARY_H

#include <stdbool.h>
#include <jansson.h>

#include "guard/change/changeset.h"

/* The steps of a plan by kind; steps that change only a time are apart. */
struct plan_counts {
	size_t deleted, typed, replaced, created, meta, times;
	size_t merged, marked; /* replaced or meta, but counted only here */
	size_t moved; /* neither deleted nor created */
};
/* Counts the plans of all roots; entries below a deleted directory count as
 * deleted, too. Errors are those of reading the store. */
int plan_summary_count(const struct changeset *set, struct plan_counts *ret,
		       struct err *err);

/* Adds "steps", "conflicts", "refused", "kept", "over" and "moves" to object,
 * each an array. */
void plan_summary_json(struct store *store, const struct plan *plan,
		       json_t *object);

/* Asks whether to do it, with the counts and the directory. what: the run, or
 * NULL. yes: the user has agreed already. */
bool plan_summary_ask(const struct plan_counts *counts, const char *what,
		      const char *where, bool yes);
/* "1 deleted, 4 moved, 2 replaced, 3 created, 4 with other rights", appended.
 */
void plan_summary_text(const struct plan_counts *counts, struct buf *to);

#endif
