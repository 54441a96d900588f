/*
 * Comparison of two files .git/index without the file times that git caches.
 *
 * A plain `git status` rewrites the index because a file was touched or
 * restored, and no user made that change. Compared are path, mode, object,
 * stage and flags of every entry, and each extension that is not a cache.
 */
#ifndef GUARD_RESTORE_GIT_GITINDEX_H
#define GUARD_RESTORE_GIT_GITINDEX_H

#include "snapshot/tree/entry.h"

/* 1: equal; 0: different, or one of them is no index or not readable here. */
int gitindex_same(struct store *store, const struct entry *a,
		  const struct entry *b, struct err *err);

#endif
