/*
 * A folder of a walk: opening it, and the names in it that are wanted.
 */
#ifndef GUARD_SNAPSHOT_WALK_WALK_LIST_H
#define GUARD_SNAPSHOT_WALK_WALK_LIST_H

#include "snapshot/walk/walk.h"

/* Fills f->fd and f->meta. 0, or -1: there is nothing to scan, and it was said
 * why. */
int walk_list_open(struct walk *w, struct walk_dir *f);

/* Lists the open folder until it is at rest meanwhile, without the names that
 * are to be left out. */
void walk_list_names(struct walk *w, struct walk_dir *f);

#endif
