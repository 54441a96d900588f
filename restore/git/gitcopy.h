/*
 * A run's git objects beside a bare repository of guard's own, for gitrun().
 * The object files come from the store; the repository gets guard's
 * configuration, and nothing of the run's: no hooks, info, alternates, refs,
 * indexes of packs.
 */
#ifndef GUARD_RESTORE_GIT_GITCOPY_H
#define GUARD_RESTORE_GIT_GITCOPY_H

#include "snapshot/tree/tree.h"

/*
 * Makes the directory name in dirfd and returns its descriptor. git: the user's
 * .git directory, absolute. base, result: the directory before and after the
 * run; object files that base has are skipped (NULL: none is). Only plain files
 * that have the name of an object or a pack are taken: *ret_bytes of them.
 * -E2BIG, -ENOSPC: too much; -EFBIG: more than `most` bytes, if it is not 0,
 * and nothing is copied.
 */
int gitcopy_make(struct store *store, const struct entry *base,
		 const struct entry *result, const char *git, int dirfd,
		 const char *name, uint64_t most, uint64_t *ret_bytes,
		 struct err *err);

/* Adds the directories in which git looks for objects of the user's repository:
 * its own and those of its alternates. */
void gitcopy_add_objects(const char *git, struct names *to);

#endif
