/*
 * How a run with a policy would see a path, and which mount decides: the same
 * order of mounts as in mounts.c, without mounting anything. What the user may
 * not read outside, the run may not either; that is not looked at.
 */
#ifndef GUARD_SANDBOX_EXPLAIN_H
#define GUARD_SANDBOX_EXPLAIN_H

#include <stdbool.h>

#include "guard/sandbox/sandbox.h"

enum visibility {
	VISIBILITY_READ_ONLY, /* the machine's own, or let in by --ro */
	VISIBILITY_READ_WRITE, /* the real one: --rw */
	VISIBILITY_LAYER, /* writes go to the run's layer */
	VISIBILITY_PRIVATE, /* the run's own folder: what is outside is not
			       there */
	VISIBILITY_HIDDEN, /* behind a mask: empty */
};

struct view {
	enum visibility visibility;
	bool exists; /* something is there at the run's beginning */
	bool granted; /* by an option */
	bool socket; /* hidden because somebody listens on it */
	bool redacted; /* read-only, a copy without the secrets in it */
	const char *place; /* where the mount is that decides; "/": the root */
	char *real; /* the path without links */
	char *owned_place;
};

void view_free(struct view *v);

/* layers: absolute paths, in the order of their mounts, NULL-terminated.
 * Errors: what sandbox_start() would say of the policy's paths; -ENOENT: not
 * even the folder of path is there. */
int sandbox_explain(const struct sandbox_policy *policy,
		    const char *const *layers, const char *path,
		    struct view *ret, struct err *err);

#endif
