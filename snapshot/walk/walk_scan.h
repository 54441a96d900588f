/*
 * One folder of the walk: its names, and what they are.
 */
#ifndef GUARD_SNAPSHOT_WALK_WALK_SCAN_H
#define GUARD_SNAPSHOT_WALK_WALK_SCAN_H

#include "snapshot/walk/walk.h"

/* Reads the folder's names and what they are, pushes the folders among them
 * and lets reads go on. Ends its own part of `pending`. */
void walk_scan(struct walk_worker *k, struct walk_dir *f);

#endif
