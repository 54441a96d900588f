/*
 * The scan of one directory: its names and their types, metadata and contents.
 */
#ifndef GUARD_SNAPSHOT_WALK_WALK_SCAN_H
#define GUARD_SNAPSHOT_WALK_WALK_SCAN_H

#include "snapshot/walk/walk.h"

/* Scans f: lists its names, examines each, puts its subdirectories on the stack
 * and starts reads. Ends its own part of f->pending, so f may be freed on
 * return. */
void walk_scan(struct walk_worker *k, struct walk_dir *f);

#endif
