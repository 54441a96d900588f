/*
 * A walk that keeps only some paths (crawl.only), and the folders on the way
 * to them, which are flagged as incomplete: nobody may take what they lack for
 * deleted.
 */
#ifndef GUARD_SNAPSHOT_CRAWL_CRAWL_ONLY_H
#define GUARD_SNAPSHOT_CRAWL_CRAWL_ONLY_H

#include "snapshot/crawl/crawl.h"

/* Whether the folder of that name in f is but on the way to what is wanted. */
bool crawl_only_way(const struct crawl *w, const struct crawl_folder *f,
		    const char *name);

/* Leaves of the names listed in f, which is on the way, what is wanted. */
void crawl_only_keep(const struct crawl *w, struct crawl_folder *f);

/* The names that are wanted of f, which is on the way and open, whether they
 * are there or not: nobody has to list it. False: it has to be listed, because
 * the file system may have one of them in another spelling. */
bool crawl_only_names(const struct crawl *w, struct crawl_folder *f);

#endif
