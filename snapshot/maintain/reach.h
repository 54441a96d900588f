/*
 * Traverses all objects that a snapshot's root refers to: trees, files, chunk
 * lists, attributes. Every object is visited once, however many snapshots share
 * it. A lost object taints all objects that lead to it.
 */
#ifndef GUARD_SNAPSHOT_MAINTAIN_REACH_H
#define GUARD_SNAPSHOT_MAINTAIN_REACH_H

#include "snapshot/store/inventory.h"
#include "snapshot/tree/catalog.h"

typedef int reach_lost_visit(void *arg, const char *path, const struct entry *e,
			     const char *why, struct err *err);

/*
 * Marks all objects below root with COPY_REACHED. Objects that are lost, or
 * that refer to a lost object, get COPY_TAINTED. An object is lost when every
 * copy is known to be bad; trees and chunk lists are also read. Then calls
 * each() for every path below root that is lost or incomplete in the store,
 * with the reason. A directory whose tree is lost stands for all its entries. A
 * negative result of each() ends the loop and is returned, else 0.
 */
int reach_check(struct inventory *inv, const struct entry *root,
		reach_lost_visit *each, void *arg, struct err *err);

#endif
