/*
 * Locks that die with their holder: flock(2) on a file made for it. The
 * descriptor is the lock; close it to let go. It must not leak into a run.
 */
#ifndef GUARD_BASE_LOCK_H
#define GUARD_BASE_LOCK_H

#include <stdbool.h>

#include "base/err.h"

/*
 * Opens (creates, mode 0600) name in dirfd and locks it. Returns the
 * descriptor; -EWOULDBLOCK when somebody else has it and wait is false.
 */
int lock_take(int dirfd, const char *name, bool exclusive, bool wait,
	      struct err *err);

#endif
