/*
 * Moves a branch of the user's on to a commit that was imported.
 */
#ifndef GUARD_RESTORE_GIT_GITFORWARD_H
#define GUARD_RESTORE_GIT_GITFORWARD_H

#include "base/err.h"

/*
 * repository: the work tree's root; id: 40 hex digits. Forward only, and only a
 * branch that no work tree has checked out; one that is not there is made. 1:
 * it is there already; -EEXIST: checked out; -EXDEV: it has commits of its own;
 * -EBUSY: it has moved meanwhile. Nothing else is written, and nothing run.
 */
int gitforward(const char *repository, const char *branch, const char *id,
	       struct err *err);

#endif
