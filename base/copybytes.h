/*
 * The contents of one open file into another, empty one: shared where the
 * file system can do that, else copied, holes staying holes.
 */
#ifndef GUARD_BASE_COPYBYTES_H
#define GUARD_BASE_COPYBYTES_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

/*
 * size: how long it is. One that becomes shorter meanwhile is filled up with
 * zeros. should_continue (NULL: always) is asked before every 8 MiB; -EINTR: it
 * said no.
 */
int copybytes(int from, int to, off_t size, bool (*should_continue)(void *arg),
	      void *arg, struct err *err);

#endif
