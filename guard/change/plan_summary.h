/*
 * Shows a plan, asks, and has it carried out; for apply, restore and undo.
 */
#ifndef GUARD_CHANGE_PLAN_SUMMARY_H
#define GUARD_CHANGE_PLAN_SUMMARY_H

#include <stdbool.h>
#include <jansson.h>

#include "guard/action.h"
#include "guard/context.h"
#include "restore/transaction.h"

/* Steps that a person wants to read: times alone are none. */
struct plan_counts {
	size_t deleted, replaced, created, meta, times;
	size_t merged, marked; /* replaced or meta, but counted only here */
	size_t moved; /* neither deleted nor created */
};
/* A step of which the time alone moves. */
bool plan_summary_is_time_only(const struct step *step);
/* Deleted is everything below a deleted folder too. */
int plan_summary_count(struct store *store, const struct plan *plan,
		       struct plan_counts *ret, struct err *err);

/* {"steps": [...], "conflicts": [...], "refused": [...], "kept": [...],
 * "over": [...], "moves": [...]} put into object. */
void plan_summary_json(struct store *store, const struct plan *plan,
		       json_t *object);

/* output_confirm() with the counts of what is done there. */
bool plan_summary_ask(const struct plan_counts *counts, const char *where,
		      bool yes);
/* "1 deleted, 4 moved, 2 replaced, 3 created, 4 with other rights", appended.
 */
void plan_summary_text(const struct plan_counts *counts, struct buf *to);

/* The numbers of one sum added to those of another. */
void plan_summary_add(struct plan_counts *to, const struct plan_counts *more);

#endif
