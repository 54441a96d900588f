/*
 * A folder that an apply took out of a run's layer, made again from the store:
 * the apply was taken back, and the layer shall be what the run left.
 */
#ifndef GUARD_RESTORE_RESTORE_UPPER_H
#define GUARD_RESTORE_RESTORE_UPPER_H

#include "snapshot/tree/tree.h"

/*
 * path as it is in the tree of the run's result, whole or not at all; what is
 * there already stays, and what the result does not have is not made. run_fd:
 * the run's folder; upper_fd: "upper" in it. The run is locked by the caller.
 * On return 0 it is on disk.
 */
int restore_upper_dir(struct store *store, const struct entry *result,
		      const char *path, int run_fd, int upper_fd,
		      struct err *err);

#endif
