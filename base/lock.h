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

/*
 * Whether anybody has this file (open for reading here, of this user's) open
 * for writing at the moment: a lease for reading is asked for, and given back
 * (fcntl(2)). false also where that cannot be told. SIGIO must be ignored:
 * whoever opens it just then makes the kernel send one.
 */
bool lock_has_writer(int fd);

#endif
