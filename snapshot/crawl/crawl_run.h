/*
 * The walk of a snapshot as a whole: see crawl.h.
 */
#ifndef GUARD_SNAPSHOT_CRAWL_CRAWL_RUN_H
#define GUARD_SNAPSHOT_CRAWL_CRAWL_RUN_H

#include "snapshot/crawl/crawl.h"

/* The walk itself. What it returns is the store's failure, or the root's. */
int crawl_run(struct crawl *w, struct err *err);

/* The root's entry as found, and whether the stat cache must be written anew.
 * item is what cache_builder_save() wants; its strings live until
 * crawl_run_done(). */
void crawl_run_root(const struct crawl *w, struct entry *ret_entry,
		    struct cache_item *ret_item, bool *ret_changed);

void crawl_run_done(struct crawl *w);

#endif
