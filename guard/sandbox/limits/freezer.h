/*
 * Holds a live run still from outside, for as long as its layer is looked at.
 *
 * Every process of it is stopped by SIGSTOP, pid 1 first and parents before
 * their children, so that no shell in it sees its jobs stop; those that were
 * stopped before stay so afterwards. Processes are found by their descent from
 * the run's pid 1, which nobody in the run can leave. A process of its own
 * lets all of them go on as soon as the caller says so, or is dead.
 *
 * A run that has a control group of version 2 to itself (one with limits) is
 * frozen by that instead: at one moment, and nobody in it can tell.
 */
#ifndef GUARD_SANDBOX_LIMITS_FREEZER_H
#define GUARD_SANDBOX_LIMITS_FREEZER_H

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/* When a process was started, in the kernel's ticks; 0: there is none. With
 * its number it names a process for ever. */
uint64_t freezer_start_time(pid_t pid);

struct freezer;

/*
 * init, start: the run's pid 1. When it returns 0 no process of the run does
 * anything, and *ret is to be given to freezer_end(). -ESRCH: it has ended;
 * -ETIMEDOUT: one does not stop (all go on).
 */
int freezer_begin(pid_t init, uint64_t start, struct freezer **ret,
		  struct err *err);
/* The same where control groups are mounted elsewhere, for tests. */
int freezer_begin_in(const char *groups, pid_t init, uint64_t start,
		     struct freezer **ret, struct err *err);
/* They go on. NULL inside is fine. */
void freezer_end(struct freezer **f);

#endif
