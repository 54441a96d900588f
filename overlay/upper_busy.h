/*
 * Tells whether an overlay still uses an upper. While the overlay exists, a
 * process with a descriptor into it can open and change files in the upper.
 * Descriptors travel: a run may have passed one to a process that outlives the
 * run.
 */
#ifndef GUARD_OVERLAY_UPPER_BUSY_H
#define GUARD_OVERLAY_UPPER_BUSY_H

#include <stdbool.h>

/*
 * True: no overlay uses this upper, so no descriptor of the run leads into it;
 * and none will while the caller holds the run's lock. False: an overlay uses
 * it, or the state is unknown. upper_fd is the directory "upper" in run_fd.
 * Creates and removes a directory in run_fd, and starts and waits for a
 * process.
 */
bool upper_busy_ruled_out(int run_fd, int upper_fd);

#endif
