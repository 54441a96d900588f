/*
 * One name of the walk and its contents: stat, and the bytes, read in batches
 * or one by one. Small files go through the worker's reader; the same worker
 * takes their bytes later with walk_read_collect().
 */
#ifndef GUARD_SNAPSHOT_WALK_WALK_READ_H
#define GUARD_SNAPSHOT_WALK_WALK_READ_H

#include "snapshot/walk/walk.h"

/*
 * meta_get() that also reports whether the name is a mount point: a bind mount
 * of the same file system has the same device. 0, or -1 with errno.
 */
int walk_read_stat(int dirfd, const char *name, struct meta *ret,
		   bool *ret_mount);

/* Ends the walk because name in f could not be stored. */
void walk_read_failed(struct walk *w, struct walk_dir *f, const char *name,
		      struct err *err);

/* Reads the i-th name of f, which is no directory, or starts the read. meta:
 * its stat; old: its entry in the stat cache, or NULL. */
void walk_read_item(struct walk_worker *k, struct walk_dir *f, size_t i,
		    const struct meta *meta, const struct cache_entry *old);

/*
 * Stores the i-th name of f with the content of hints, without reading the
 * file. A change since the file was synced would show: the first store through
 * a mapping into a clean page changes the file's times.
 */
void walk_read_hint(struct walk *w, struct walk_dir *f, size_t i,
		    const struct meta *meta, const struct ingest_hint *hints);

/* Waits for one pending read and stores its result; false when none is
 * pending. */
bool walk_read_collect(struct walk_worker *k);

#endif
