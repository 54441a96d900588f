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
	size_t count, busy; /* folders; those that a run has just now */
};

/* What they take. */
void caches_measure(const struct state *state, struct caches *ret);

/* Takes them all away but those that a run has; in ret what went. */
int caches_clear(const struct state *state, struct caches *ret,
		 struct err *err);

#endif
