/*
 * `guard diff` between two snapshots, or one and the files as they are now.
 */
#ifndef GUARD_CLI_DIFFSNAPS_H
#define GUARD_CLI_DIFFSNAPS_H

#include "guard/context.h"
#include "guard/cli/diffshow.h"

/*
 * How many of the operands are points in time before the first that is not: 0,
 * 1 or 2. What is the name of a file here, or the beginning of a run's id, is
 * none; a number that is a file's name too is an error, and so is what can
 * only be meant as a point.
 */
int diffsnaps_points(const struct context *c, int count, char **argv,
		     struct err *err);

/*
 * Shows what is other in the second than in the first; with one point the
 * second is the folder itself. The other operands are paths. The status to
 * end with, or negative.
 */
int diffsnaps(struct context *c, char **argv, int points, int count,
	      const struct diff_options *o, struct err *err);

#endif
