/*
 * Periodic checks of a run, in guard's process: its threads and memory, where
 * the kernel enforces no limit; a run that stays at its limit of processes and
 * makes no progress (a fork bomb); and kernel resources that it takes away from
 * programs outside (kernel_quotas.h).
 *
 *	watch_begin()
 *	watch_tick()	every watch_interval() ms
 *	watch_end()
 */
#ifndef GUARD_SANDBOX_LIMITS_WATCH_H
#define GUARD_SANDBOX_LIMITS_WATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "guard/sandbox/limits/kernel_quotas.h"
#include "guard/sandbox/sandbox.h"

struct watch {
	pid_t pid1;
	uint64_t pids, memory; /* memory 0: not watched */
	bool enforced; /* the kernel allows no more than pids */
	uint64_t machine, threads; /* last count: of the machine, of the run */
	unsigned int ticks;
	int stuck_ms;
	struct kernel_quotas kernel_quotas;
	enum quota quota; /* with SANDBOX_LIMIT_QUOTA: the exceeded one */
};

/* Takes the first measurements: resources that are short at this time are not
 * attributed to the run. */
void watch_begin(struct watch *w, pid_t pid1, uint64_t pids, bool enforced,
		 uint64_t memory, bool ports);
/* Closes the descriptors of the checks. */
void watch_end(struct watch *w);

/* Milliseconds until the next watch_tick(). */
int watch_interval(const struct watch *w);

/* Returns the limit that the run exceeds, or SANDBOX_LIMIT_NONE. */
enum sandbox_limit watch_tick(struct watch *w);

#endif
