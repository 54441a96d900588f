/*
 * The walk of a snapshot as a whole: see walk.h. walk_run(), walk_run_root(),
 * walk_run_done().
 */
#ifndef GUARD_SNAPSHOT_WALK_WALK_RUN_H
#define GUARD_SNAPSHOT_WALK_WALK_RUN_H

#include "snapshot/walk/walk.h"

/* Walks the whole tree and returns when all reads have ended. 0, or the failure
 * of the store or of the root. */
int walk_run(struct walk *w, struct err *err);

/* The root's entry, to free; *ret_item for cache_builder_save(), with strings
 * that are valid until walk_run_done(); and whether the stat cache must be
 * written again. */
void walk_run_root(const struct walk *w, struct entry *ret_entry,
		   struct cache_item *ret_item, bool *ret_changed);

/* Frees all that the walk made, also after a failed walk_run(). */
void walk_run_done(struct walk *w);

#endif
