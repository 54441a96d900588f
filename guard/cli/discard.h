/*
 * The discard of a run or of paths of it, for `discard` and `redo`.
 */
#ifndef GUARD_CLI_DISCARD_H
#define GUARD_CLI_DISCARD_H

#include "guard/change/resolve_run.h"
#include "guard/state/context.h"

struct discard_choice {
	bool dry; /* only print what would be discarded */
	bool yes; /* without a question */
	/* The home of the run's agent stays as it is; else the settings that
	 * its next session would execute are put back. */
	bool keep_agent;
	const char *glob; /* runs with such a name only; NULL: all */
};

/* Discards the run, or its named paths; the run is locked. Returns an exit
 * status or a negative errno. */
int discard_run(struct context *c, struct resolved_run *p,
		const struct discard_choice *how, struct err *err);

/* Discards every pending run of the project here, after one question. Live runs
 * are named and skipped. Returns an exit status or a negative errno. */
int discard_every_run(struct context *c, const struct discard_choice *how,
		      struct err *err);

#endif
