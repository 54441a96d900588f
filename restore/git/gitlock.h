/* The locks of git: a process that changes the file NAME of a repository
 * creates NAME.lock first, and renames that file to NAME when it is written. */
#ifndef GUARD_RESTORE_GIT_GITLOCK_H
#define GUARD_RESTORE_GIT_GITLOCK_H

#include "base/err.h"

/* Whether the file of the git directory can be changed now, as far as known
 * without a lock. 0; -EBUSY: it is locked; another errno: the user cannot
 * create the lock. */
int gitlock_check(const char *git_dir, const char *name, struct err *err);

#endif
