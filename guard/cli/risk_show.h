/*
 * Risks and losses for people: the notes below a row, and the list of the
 * changes to look at first.
 *
 * In directories that tools fill, thousands of files may have the same risk:
 * three of a kind are shown and the others counted; mere notes are only
 * counted.
 */
#ifndef GUARD_CLI_RISK_SHOW_H
#define GUARD_CLI_RISK_SHOW_H

#include "guard/cli/styled.h"
#include "guard/review/verdict.h"
#include "guard/review/view.h"

#define REPEATS_MAX 16 /* kinds; of others all are shown */

/* Whether it is to be shown; false: it is counted, or nothing to be shown. */
bool risk_show_wants(struct fold_repeats *l, const char *path,
		     const struct risk *risk);
/* A note for each kind of which some were not shown. */
void risk_show_repeats(const struct fold_repeats *l, const char *indent,
		       struct styled *to);
/* One risk: "!! " for a critical one, " !" or " i", and its text. path: in
 * front of the text, or NULL. */
void risk_show_line(const struct risk *risk, const char *indent,
		    const char *path, struct styled *to);

/* "Look at these first": files that were overwritten and are a loss, and risks
 * from this level on (below RISK_HIGH: each of them, also in folds). late: only
 * of the entries that were judged late (view.h). Nothing when there is none. */
void risk_show_first(const struct view *v, enum risk_level least, bool late,
		     struct styled *to);

/* A line each; nothing for an empty verdict. */
void risk_show_verdict(const struct verdict *v, struct styled *to);

#endif
