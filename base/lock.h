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
/* lock_take() of an exclusive lock that lock_is_held() answers about. */
int lock_take_visible(int dirfd, const char *name, bool wait, struct err *err);
/* Whether a process, this one included, has that lock: 1, 0 (also without the
 * file) or a negative errno. Takes nothing. */
int lock_is_held(int dirfd, const char *name, struct err *err);
/* Releases the lock and closes *fd (0 and -1: none). Not by close(2) alone: a
 * process that was forked a moment ago and has not run yet still has the
 * descriptor, and with it the lock. */
void lock_release(int *fd);

/*
 * Creates a file PREFIX-RANDOM.tmp in dirfd, with mode 0400, open for reading
 * and writing, and locks it until its descriptor is closed: a process that
 * clears the directory deletes the files there that it can lock. Returns the
 * descriptor, or a negative errno. prefix: at most 10 bytes. ret_lock, unless
 * NULL: a second descriptor, which has the lock in place of the first.
 */
#define LOCK_TEMP_LEN 32
int lock_create_temp(int dirfd, const char *prefix, char ret[LOCK_TEMP_LEN],
		     int *ret_lock, struct err *err);

/* The other processes that hold a lock on the file, from /proc/locks, for
 * people: "process 123 (guard review)"; "another guard process" if they are
 * unknown. To free. */
char *lock_holders(int fd);
char *lock_holders_at(int dirfd, const char *name);

#endif
