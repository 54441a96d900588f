/*
 * A walk that keeps only some paths (crawl.only), and the folders on the way
 * to them, which are flagged as incomplete: nobody may take what they lack for
 * deleted.
 */
#ifndef GUARD_SNAPSHOT_WALK_WALK_PARTIAL_H
#define GUARD_SNAPSHOT_WALK_WALK_PARTIAL_H

#include "snapshot/walk/walk.h"

/* Whether the folder of that name in f is but on the way to what is wanted. */
bool walk_partial_is_ancestor(const struct walk *w, const struct walk_dir *f,
			      const char *name);

/* Leaves of the names listed in f, which is on the way, what is wanted. */
void walk_partial_filter(const struct walk *w, struct walk_dir *f);

/* The names that are wanted of f, which is on the way and open, whether they
 * are there or not: nobody has to list it. False: it has to be listed, because
 * the file system may have one of them in another spelling. */
bool walk_partial_names(const struct walk *w, struct walk_dir *f);

#endif
