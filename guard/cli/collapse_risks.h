/*
 * Risks in directories that tools fill, where thousands of files may have the
 * same risk: three of a kind are shown and the others counted; mere notes are
 * only counted.
 */
#ifndef GUARD_CLI_COLLAPSE_RISKS_H
#define GUARD_CLI_COLLAPSE_RISKS_H

#include "guard/rules/risk.h"

#define REPEATS_MAX 16 /* kinds; of others all are shown */

struct collapse_risks {
	struct {
		struct risk risk; /* a copy */
		size_t shown, more;
	} items[REPEATS_MAX];
	size_t count;
};

/* Frees all that *collapsed owns. */
void collapse_risks_free(struct collapse_risks *collapsed);

/* Whether it is to be shown; false: it is counted, or nothing to be shown. */
bool collapse_risks_show(struct collapse_risks *collapsed, const char *path,
			 const struct risk *risk);

/* A line for each kind of which some were not shown. */
void collapse_risks_print(const struct collapse_risks *collapsed,
			  const char *indent);

/* Prints one risk: "!! " for a critical one, " !" or " i", and its text. path:
 * in front of the text, or NULL. */
void collapse_risks_line(const struct risk *risk, const char *indent,
			 const char *path);

#endif
