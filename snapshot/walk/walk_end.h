/*
 * The end of a directory in the walk: its tree and its place in the new stat
 * cache.
 */
#ifndef GUARD_SNAPSHOT_WALK_WALK_END_H
#define GUARD_SNAPSHOT_WALK_WALK_END_H

#include "snapshot/walk/walk.h"

/* Ends one part that f waits for (see walk_dir.pending). The last part ends f
 * itself, which is in turn a part of its parent. f may be freed on return. */
void walk_end_part(struct walk *w, struct walk_dir *f);

/* Whether an ended directory is the same as in the cache in all respects, so
 * that its parent need not change. */
bool walk_end_is_unchanged(const struct walk_dir *f);

#endif
