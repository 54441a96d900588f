/*
 * Ending a folder of the walk: its tree and its place in the new stat cache.
 */
#ifndef GUARD_SNAPSHOT_CRAWL_CRAWL_END_H
#define GUARD_SNAPSHOT_CRAWL_CRAWL_END_H

#include "snapshot/crawl/crawl.h"

/* One of the parts that f waits for ended; with the last one f itself does,
 * and is a part of its parent that ended. f may be gone afterwards. */
void crawl_end(struct crawl *w, struct crawl_folder *f);

/* An ended folder is in all as in the cache: its parent need not change. */
bool crawl_end_unchanged(const struct crawl_folder *f);

#endif
