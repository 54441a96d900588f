/*
 * The discard of a run or of paths of it, for `discard` and `redo`.
 */
#ifndef GUARD_CLI_DISCARD_H
#define GUARD_CLI_DISCARD_H

#include "guard/change/resolve_run.h"
#include "guard/state/context.h"

/* Discards the run, or its named paths, after a question unless yes; the run is
 * locked. dry: only prints it. Returns an exit status or a negative errno. */
int discard_run(struct context *c, struct resolved_run *p, bool dry, bool yes,
		struct err *err);

/* Discards every pending run of the project here, after one question unless
 * yes. Live runs are named and skipped. Returns an exit status or a negative
 * errno. */
int discard_every_run(struct context *c, bool dry, bool yes, struct err *err);

#endif
