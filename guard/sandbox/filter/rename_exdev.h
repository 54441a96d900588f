/*
 * rename(2) of a folder that the lower layer has: overlayfs says EXDEV. Here
 * it is done nevertheless, in three steps: a second tree beside the target
 * (copytree), its rename into place, the removal of the first. Until the
 * second step nothing has happened, from then on the target is whole.
 *
 * Runs in a process with the run's own rights; paths are below open folders,
 * so that nobody can lead it elsewhere.
 */
#ifndef GUARD_SANDBOX_FILTER_RENAME_EXDEV_H
#define GUARD_SANDBOX_FILTER_RENAME_EXDEV_H

#include <stdbool.h>

#include "guard/sandbox/filter/copytree.h"

struct exdev_rename {
	int from_fd, to_fd; /* the folders that hold the two names, O_PATH */
	const char *from, *to;
	const char *temporary; /* a name that is free in to_fd */
	bool no_replace;
	struct copytree_options how; /* keep_on says false: undo, -EINTR */
};

/*
 * Tries the plain rename first. 0 or what rename(2) would give as a negative
 * errno; -EXDEV also for whatever cannot be mended. -EINTR: keep_on said no.
 */
int rename_exdev(const struct exdev_rename *m);

#endif
