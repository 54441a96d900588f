/*
 * rename(2) of a directory that the lower layer contains: overlayfs returns
 * EXDEV. The rename is done in three steps instead: a second tree beside the
 * target (copytree.h), its rename to the target's name, the removal of the
 * source. Before the second step nothing has changed; after it the target is
 * complete.
 *
 * Runs in a process with the permissions of the run. Paths are relative to open
 * directories, so that no other process can redirect them.
 */
#ifndef GUARD_SANDBOX_FILTER_RENAME_EXDEV_H
#define GUARD_SANDBOX_FILTER_RENAME_EXDEV_H

#include <stdbool.h>

#include "guard/sandbox/filter/copytree.h"

struct exdev_rename {
	int from_fd, to_fd; /* parent directories of the two names, O_PATH */
	const char *from, *to;
	const char *temporary; /* an unused name in to_fd */
	bool no_replace;
	struct copytree_options how; /* keep_on false: undo, -EINTR */
};

/* Tries a plain rename first. Returns 0 or the negative errno of rename(2);
 * -EXDEV if the three steps are impossible as well; -EINTR if keep_on returned
 * false. */
int rename_exdev(const struct exdev_rename *m);

#endif
