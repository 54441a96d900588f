/*
 * Risks in folders that tools fill, where thousands of files may have the same
 * one: three of a kind are shown, of the rest the number; what is only worth
 * knowing is counted alone.
 */
#ifndef GUARD_REVIEW_REPEATS_H
#define GUARD_REVIEW_REPEATS_H

#include "guard/risk.h"

#define REPEATS_MAX 16 /* kinds; of others all are shown */

struct repeats {
	struct {
		struct risk risk; /* a copy */
		size_t shown, more;
	} items[REPEATS_MAX];
	size_t count;
};

void repeats_free(struct repeats *said);

/* Whether it is to be shown; false: it is counted, or nothing to be shown. */
bool repeats_show(struct repeats *said, const char *path,
		  const struct risk *risk);

/* Whether any are counted that were not shown. */
bool repeats_any(const struct repeats *said);

/* A line for each kind of which some were not shown. */
void repeats_print(const struct repeats *said, const char *indent);

#endif
