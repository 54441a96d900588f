/*
 * Work of many parts that do not depend on each other, by two threads: the
 * caller's and one more. The parts are begun in order. The first failure ends
 * it; parts that were begun are ended first.
 *
 * What a part uses must bear two threads: the store does.
 */
#ifndef GUARD_BASE_PARALLEL_FOR_H
#define GUARD_BASE_PARALLEL_FOR_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/*
 * Calls part(arg, i) for every i below count; alone: by the caller's thread
 * only, in order. 0, or what the first part that failed said (negative).
 */
int parallel_for(size_t count, bool single_thread,
		 int (*part)(void *arg, size_t i, struct err *err), void *arg,
		 struct err *err);

#endif
