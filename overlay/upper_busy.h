/*
 * Whether a layer is still mounted somewhere: while an overlay lives, whoever
 * holds a descriptor into it can reach, open and change what lies in its
 * upper. Descriptors travel: a run may have passed one to a process that
 * outlives it.
 */
#ifndef GUARD_OVERLAY_UPPER_BUSY_H
#define GUARD_OVERLAY_UPPER_BUSY_H

#include <stdbool.h>

/*
 * true: no overlay with this upper is alive, so that nothing that a run held
 * leads into it; nor will one be while the run is locked. false: one is, or it
 * cannot be told. upper_fd: the folder "upper" in run_fd. Makes and removes a
 * folder in run_fd. Starts and ends a process.
 */
bool upper_busy_ruled_out(int run_fd, int upper_fd);

#endif
