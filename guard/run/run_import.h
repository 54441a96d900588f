/*
 * Starts the processes that move the versions during a run from its spool to
 * the store (guard/timeline/import.h): while it runs, once a minute if there
 * are any, and when the spool has 64 MB; and after its end.
 *
 *	run_import_begin()	before the command
 *	run_import_tick()	again and again, while it runs
 *	run_import_rest()	after the summary
 */
#ifndef GUARD_RUN_RUN_IMPORT_H
#define GUARD_RUN_RUN_IMPORT_H

#include <stdint.h>

#include "guard/timeline/import.h"

struct run_import {
	const struct session *session; /* borrowed; NULL: nothing is imported */
	int64_t look, due; /* monotonic ms: count the spool, import it */
	pid_t pid; /* 0: no process imports */
};

void run_import_begin(struct run_import *m, const struct session *s);
void run_import_tick(struct run_import *m);
/* If the run destroyed anything: in the background, or (wait) before its
 * directory goes. An import that is still at work is waited for. */
void run_import_rest(const struct session *s, bool wait);

#endif
