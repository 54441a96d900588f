/*
 * Risks in directories that tools fill, where thousands of files may have the
 * same risk: three of a kind are shown and the others counted; mere notes are
 * only counted.
 */
#ifndef GUARD_CLI_COLLAPSE_RISKS_H
#define GUARD_CLI_COLLAPSE_RISKS_H

#include "guard/review/fold.h"

#define REPEATS_MAX 16 /* kinds; of others all are shown */

/* Whether it is to be shown; false: it is counted, or nothing to be shown. */
bool collapse_risks_show(struct fold_repeats *l, const char *path,
			 const struct risk *risk);

/* A line for each kind of which some were not shown. */
void collapse_risks_print(const struct fold_repeats *l, const char *indent);

/* Prints one risk: "!! " for a critical one, " !" or " i", and its text. path:
 * in front of the text, or NULL. */
void collapse_risks_line(const struct risk *risk, const char *indent,
			 const char *path);

#endif
