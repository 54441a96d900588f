/* Locks that end with their holder: flock(2) on a file made for the lock. The
 * descriptor is the lock; closing it releases the lock. The descriptor must not
 * leak into a run. */
#ifndef GUARD_BASE_LOCK_H
#define GUARD_BASE_LOCK_H

#include <stdbool.h>

#include "base/err.h"

/* Opens name in dirfd (created with mode 0600) and locks it. Returns the
 * descriptor. -EWOULDBLOCK: another process holds the lock and wait is false.
 */
int lock_take(int dirfd, const char *name, bool exclusive, bool wait,
	      struct err *err);

/*
 * Whether a process has this file open for writing. The file must be open for
 * reading here and belong to this user: fcntl(2) grants and returns a read
 * lease. False also where the state is unknown. SIGIO must be ignored: the
 * kernel sends it when another process opens the file during the lease.
 */
bool lock_has_writer(int fd);

#endif
