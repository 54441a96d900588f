/*
 * One name of a walk and its contents: what stat says of it, and its bytes,
 * read in batches or one by one. Small files go through the worker's reader
 * and are taken in later, by walk_read_collect() of the same worker.
 */
#ifndef GUARD_SNAPSHOT_WALK_WALK_READ_H
#define GUARD_SNAPSHOT_WALK_WALK_READ_H

#include "snapshot/walk/walk.h"

/*
 * meta_get() that also says whether something is mounted on the name: a bind
 * mount of the same file system has the same device.
 */
int walk_read_stat(int dirfd, const char *name, struct meta *ret,
		   bool *ret_mount);

/* Ends the walk: name in f could not be put into the store. */
void walk_read_failed(struct walk *w, struct walk_dir *f, const char *name,
		      struct err *err);

/* Reads the i-th name of f, no folder, or begins to. meta: what the look at
 * it said; old: what the stat cache has of it, or NULL. */
void walk_read_item(struct walk_worker *k, struct walk_dir *f, size_t i,
		    const struct meta *meta, const struct cache_entry *old);

/*
 * Takes its bytes for those that are known: they need not be read. Nor can
 * they have changed unseen since they were synced: the first store through a
 * mapping gives a clean page a new time.
 */
void walk_read_hint(struct walk *w, struct walk_dir *f, size_t i,
		    const struct meta *meta, const struct ingest_hint *hints);

/* Takes one finished read in; false when none is under way. */
bool walk_read_collect(struct walk_worker *k);

#endif
