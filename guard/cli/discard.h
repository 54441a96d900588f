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

#endif
