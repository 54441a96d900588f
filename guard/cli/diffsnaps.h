/*
 * `guard diff` between two snapshots, or one and the files as they are now.
 */
#ifndef GUARD_CLI_DIFFSNAPS_H
#define GUARD_CLI_DIFFSNAPS_H

#include "guard/state/context.h"
#include "guard/cli/diffshow.h"

/*
 * The number of operands that are points in time, before the first other one:
 * 0, 1 or 2. The name of an existing file and the beginning of a run's id are
 * no points. A number that is also the name of a file is an error, and so is an
 * unknown operand that has the form of a point.
 */
int diffsnaps_points(struct context *c, int count, char **argv,
		     struct err *err);

/*
 * Shows the changes from the first point to the second; with one point the
 * second is the directory itself. The other operands are paths. Returns the
 * exit status, or negative.
 */
int diffsnaps(struct context *c, char **argv, int points, int count,
	      const struct diff_options *o, struct err *err);

#endif
