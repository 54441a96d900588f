/*
 * Two files .git/index: the same but for what git notes of the files' times.
 *
 * A plain `git status` writes the index anew because a file was touched or put
 * back; that is no change that anybody made. What counts is every entry's
 * path, mode, object, stage and flags, and each extension that is no cache.
 */
#ifndef GUARD_RESTORE_GIT_GITINDEX_H
#define GUARD_RESTORE_GIT_GITINDEX_H

#include "snapshot/tree/entry.h"

/* 1, or 0: they differ, one is no index, or one that this cannot read. */
int gitindex_same(struct store *store, const struct entry *a,
		  const struct entry *b, struct err *err);

#endif
