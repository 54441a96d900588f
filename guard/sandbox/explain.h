/* Explains how a run with a policy would see a path, and which entry of the
 * list of mounts decides (mount_list.h). Nothing is mounted. Permissions of the
 * user are not checked: they are the same in the run. */
#ifndef GUARD_SANDBOX_EXPLAIN_H
#define GUARD_SANDBOX_EXPLAIN_H

#include <stdbool.h>

#include "guard/sandbox/sandbox.h"

struct path_view {
	enum visibility visibility;
	bool exists; /* exists at the start of the run */
	bool granted; /* by an option */
	bool socket; /* masked because a program listens on it */
	bool redacted; /* read-only, a copy without its secrets */
	char *place; /* the path of the deciding mount; "/": the root */
	char *real; /* the path with symbolic links resolved */
};

/* Frees the texts and empties v. */
void path_view_free(struct path_view *v);

/* Fills ret, to be freed with path_view_free(). Errors: as sandbox_start() for
 * the paths of the policy; -ENOENT if even the parent directory of path is
 * missing. */
int sandbox_explain(const struct sandbox_policy *policy, const char *path,
		    struct path_view *ret, struct err *err);

#endif
