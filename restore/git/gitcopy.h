/*
 * A run's git objects as a bare repository of guard's own: its object files
 * come from the store, everything else (HEAD, config) is written anew. No
 * hooks, no info, no alternates, no refs, nothing of the run's configuration.
 */
#ifndef GUARD_RESTORE_GIT_GITCOPY_H
#define GUARD_RESTORE_GIT_GITCOPY_H

#include "snapshot/tree/tree.h"

/*
 * Makes the folder name in dirfd. base: the project's root before the run;
 * object files that were there already are left out (NULL: none is). Only
 * what has an object file's or a pack's name is taken, and only plain files:
 * *ret_bytes of them. -E2BIG, -ENOSPC: too much for it.
 */
int gitcopy_make(struct store *store, const struct entry *base,
		 const struct entry *result, int dirfd, const char *name,
		 uint64_t *ret_bytes, struct err *err);

#endif
