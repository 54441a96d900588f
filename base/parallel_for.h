/*
 * Runs independent parts of a task in two threads: the caller's and one more.
 * Part 0 runs in the caller's, for work that must belong to that thread; the
 * others start in order. After the first failure no new part starts; parts that
 * already run finish first.
 *
 * The data that parts share must be thread-safe, as the store is.
 */
#ifndef GUARD_BASE_PARALLEL_FOR_H
#define GUARD_BASE_PARALLEL_FOR_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/* Calls part(arg, i) for every i below count. single_thread: only the caller's
 * thread runs, in order. Returns 0, or the negative result of the first part
 * that failed. */
int parallel_for(size_t count, bool single_thread,
		 int (*part)(void *arg, size_t i, struct err *err), void *arg,
		 struct err *err);

#endif
