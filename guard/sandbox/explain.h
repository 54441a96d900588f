/* Explains how a run with a policy would see a path, and which mount decides.
 * It follows the order of mounts in mounts.c without any mount. Permissions of
 * the user are not checked: they are the same in the run. */
#ifndef GUARD_SANDBOX_EXPLAIN_H
#define GUARD_SANDBOX_EXPLAIN_H

#include <stdbool.h>

#include "guard/sandbox/sandbox.h"

enum visibility {
	VISIBILITY_READ_ONLY, /* the machine's, or granted by --ro */
	VISIBILITY_READ_WRITE, /* granted by --rw */
	VISIBILITY_LAYER, /* writes go to the run's layer */
	/* the run's own directory, without the machine's files */
	VISIBILITY_PRIVATE,
	VISIBILITY_HIDDEN, /* masked */
};

struct path_view {
	enum visibility visibility;
	bool exists; /* exists at the start of the run */
	bool granted; /* by an option */
	bool socket; /* masked because a program listens on it */
	bool redacted; /* read-only, a copy without its secrets */
	const char *place; /* the path of the deciding mount; "/": the root */
	char *real; /* the path with symbolic links resolved */
	char *owned_place;
};

/* Frees the texts and empties v. */
void path_view_free(struct path_view *v);

/* Fills ret, to be freed with path_view_free(). layers: absolute paths in the
 * order of their mounts, NULL-terminated. Errors: as sandbox_start() for the
 * paths of the policy; -ENOENT if even the parent directory of path is missing.
 */
int sandbox_explain(const struct sandbox_policy *policy,
		    const char *const *layers, const char *path,
		    struct path_view *ret, struct err *err);

#endif
