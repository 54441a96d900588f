/*
 * Ending a folder of the walk: its tree and its place in the new stat cache.
 */
#ifndef GUARD_SNAPSHOT_WALK_WALK_END_H
#define GUARD_SNAPSHOT_WALK_WALK_END_H

#include "snapshot/walk/walk.h"

/* One of the parts that f waits for ended; with the last one f itself does,
 * and is a part of its parent that ended. f may be gone afterwards. */
void walk_end_part(struct walk *w, struct walk_dir *f);

/* An ended folder is in all as in the cache: its parent need not change. */
bool walk_end_is_unchanged(const struct walk_dir *f);

#endif
