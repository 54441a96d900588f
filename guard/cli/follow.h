/*
 * apply --follow: waits for the pauses of a live run.
 */
#ifndef GUARD_CLI_FOLLOW_H
#define GUARD_CLI_FOLLOW_H

#include <stdint.h>

#include "base/err.h"
#include "guard/change/apply_plan.h"

/*
 * Calls offer() whenever the run has changes that were not offered yet, and has
 * changed nothing for rest_ms; once more after the run's end. Shows the user's
 * edits to the run at each pause. offer() returns an exit status, or a negative
 * errno, which ends the loop. Returns the last status or a negative errno.
 */
int follow_run(const char *run_id, int64_t rest_ms,
	       int (*offer)(void *arg, struct err *err), void *arg,
	       struct err *err);

/*
 * For -y: conflicts and refusals of the plans are listed, and the run's paths
 * become those of the other changes: plan again. The blocked paths stay
 * pending. Returns 0: nothing is blocked.
 */
int follow_leave_blocked(struct apply_plan *a, struct err *err);

#endif
