/*
 * `guard diff` between two runs of a project.
 */
#ifndef GUARD_CLI_DIFFRUNS_H
#define GUARD_CLI_DIFFRUNS_H

#include "guard/cli/diffshow.h"
#include "guard/state/context.h"
#include "overlay/session.h"

/*
 * Opens the runs when the first two of the operands name runs: 1; otherwise 0.
 */
int diffruns_open(struct context *c, int count, char **argv, struct session *a,
		  struct session *b, struct err *err);

/*
 * Lists the paths that at least one of the runs changed, by which run and
 * whether both results are equal, then the difference from the first result to
 * the second. paths: only these. The home directory is not compared. Returns
 * the exit status, or negative; -EXDEV: the runs are of different projects.
 */
int diffruns(struct context *c, const struct session *a,
	     const struct session *b, char **paths, int count,
	     const struct diff_options *o, struct err *err);

#endif
