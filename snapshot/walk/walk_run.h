/*
 * The walk of a snapshot as a whole: see crawl.h.
 */
#ifndef GUARD_SNAPSHOT_WALK_WALK_RUN_H
#define GUARD_SNAPSHOT_WALK_WALK_RUN_H

#include "snapshot/walk/walk.h"

/* The walk itself. What it returns is the store's failure, or the root's. */
int walk_run(struct walk *w, struct err *err);

/* The root's entry as found, and whether the stat cache must be written anew.
 * item is what cache_builder_save() wants; its strings live until
 * walk_run_done(). */
void walk_run_root(const struct walk *w, struct entry *ret_entry,
		   struct cache_item *ret_item, bool *ret_changed);

void walk_run_done(struct walk *w);

#endif
