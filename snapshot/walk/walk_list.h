/*
 * Opens a directory of the walk and lists the names to store.
 */
#ifndef GUARD_SNAPSHOT_WALK_WALK_LIST_H
#define GUARD_SNAPSHOT_WALK_WALK_LIST_H

#include "snapshot/walk/walk.h"

/* Opens f and fills f->fd and f->meta. 0, or -1: nothing to scan, and a note or
 * failure was recorded. */
int walk_list_open(struct walk *w, struct walk_dir *f);

/* Lists the open directory, again when it changed during the call. Names to
 * leave out are not in the list. */
void walk_list_names(struct walk *w, struct walk_dir *f);

#endif
