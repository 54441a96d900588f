/*
 * The walk of a partial snapshot (walk.only). The directories above the wanted
 * paths are flagged as incomplete, so that no reader takes their missing
 * entries for deleted.
 */
#ifndef GUARD_SNAPSHOT_WALK_WALK_PARTIAL_H
#define GUARD_SNAPSHOT_WALK_WALK_PARTIAL_H

#include "snapshot/walk/walk.h"

/* Whether the directory `name` in f is above a wanted path, and not wanted
 * itself. */
bool walk_partial_is_ancestor(const struct walk *w, const struct walk_dir *f,
			      const char *name);

/* Removes all names from f's list that are not wanted; f is above a wanted
 * path. */
void walk_partial_filter(const struct walk *w, struct walk_dir *f);

/*
 * Fills the list of f, which is open and above a wanted path, with the wanted
 * names, without reading the directory: a name in the list need not exist.
 * False: the directory has to be read, because its file system may ignore case
 * and have a name in another spelling.
 */
bool walk_partial_names(const struct walk *w, struct walk_dir *f);

#endif
