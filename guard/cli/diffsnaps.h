/*
 * `guard diff` between two snapshots, one and the files as they are now, or two
 * runs of a project.
 */
#ifndef GUARD_CLI_DIFFSNAPS_H
#define GUARD_CLI_DIFFSNAPS_H

#include "guard/state/context.h"
#include "guard/cli/diffshow.h"
#include "overlay/session.h"

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
 * second is the directory itself, or the end of the run for a RUN@WHEN. The
 * other operands are paths. Returns the exit status, or negative.
 */
int diffsnaps(struct context *c, char **argv, int points, int count,
	      const struct diff_options *o, struct err *err);

/*
 * Opens the runs when the first two of the operands name runs: 1; otherwise 0.
 */
int diffsnaps_open_runs(struct context *c, int count, char **argv,
			struct session *a, struct session *b, struct err *err);

/*
 * Lists the paths that at least one of the runs changed, by which run and
 * whether both results are equal, then the difference from the first result to
 * the second. paths: only these. The home directory is not compared. Returns
 * the exit status, or negative; -EXDEV: the runs are of different projects.
 */
int diffsnaps_runs(struct context *c, const struct session *a,
		   const struct session *b, char **paths, int count,
		   const struct diff_options *o, struct err *err);

#endif
