/*
 * The caches of runs, of all projects together: caches/ in guard's state (for
 * --shared-cache) and in each workspace, laid out as kept.h says.
 */
#ifndef GUARD_AGENT_CACHES_H
#define GUARD_AGENT_CACHES_H

#include <stddef.h>

#include "guard/state.h"
#include "guard/usage.h"

#define CACHES_DIR "caches"

struct caches {
	struct usage usage;
	size_t count, busy; /* directories; those that a run uses */
};

/* Disk usage of the caches. */
void caches_measure(const struct state *state, struct caches *ret);

/* Removes all caches that no run uses; ret describes the removed ones. */
int caches_clear(const struct state *state, struct caches *ret,
		 struct err *err);

#endif
