/*
 * From a snapshot's root to everything that it refers to: trees, files, lists
 * of chunks, attributes. Every name is looked at once, however many snapshots
 * share it; what is lost taints all that leads to it.
 */
#ifndef GUARD_SNAPSHOT_MAINTAIN_REACH_H
#define GUARD_SNAPSHOT_MAINTAIN_REACH_H

#include "snapshot/store/inventory.h"
#include "snapshot/tree/catalog.h"

/*
 * Marks all that is below root COPY_REACHED, and COPY_TAINTED what is lost
 * (no copy that is not known to be bad; trees and lists of chunks are read)
 * or refers to something lost. 0: all is there; 1: something is lost.
 */
int reach_mark(struct inventory *inv, const struct entry *root);

/*
 * Calls each() for every path below root that is lost or not whole, with what
 * is wrong; a folder whose tree is lost stands for all in it. Needs
 * reach_mark() before. A negative answer ends it and is returned.
 */
int reach_each_lost(struct inventory *inv, const struct entry *root,
		    int (*each)(void *arg, const char *path,
				const struct entry *e, const char *why,
				struct err *err),
		    void *arg, struct err *err);

#endif
