/* Restoring of directories that an apply renamed out of the upper layer
 * (move_from_upper.h). After the rollback or undo of that apply the upper must
 * again hold the result of the run. */
#ifndef GUARD_RESTORE_RESTORE_UPPER_H
#define GUARD_RESTORE_RESTORE_UPPER_H

#include "snapshot/tree/tree.h"

/*
 * Creates the directory `path` of the run's result tree in the upper,
 * completely or not at all. An existing directory stays unchanged; a path
 * without an entry in the result is skipped. run_fd: the run's directory;
 * upper_fd: "upper" in it. The caller holds the run's lock. Durable on return
 * 0.
 */
int restore_upper_dir(struct store *store, const struct entry *result,
		      const char *path, int run_fd, int upper_fd,
		      struct err *err);

#endif
