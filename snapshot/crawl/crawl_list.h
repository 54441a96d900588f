/*
 * A folder of a walk: opening it, and the names in it that are wanted.
 */
#ifndef GUARD_SNAPSHOT_CRAWL_CRAWL_LIST_H
#define GUARD_SNAPSHOT_CRAWL_CRAWL_LIST_H

#include "snapshot/crawl/crawl.h"

/* Fills f->fd and f->meta. 0, or -1: there is nothing to scan, and it was said
 * why. */
int crawl_list_open(struct crawl *w, struct crawl_folder *f);

/* Lists the open folder until it is at rest meanwhile, without the names that
 * are to be left out. */
void crawl_list_names(struct crawl *w, struct crawl_folder *f);

#endif
