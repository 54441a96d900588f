/*
 * The index over many packs of a store as a file: when it is made.
 */
#ifndef GUARD_SNAPSHOT_STORE_STORE_INDEX_H
#define GUARD_SNAPSHOT_STORE_STORE_INDEX_H

#include <stddef.h>

struct store_dir;

/*
 * Make the index over all packs anew: grown: after a flush, when so many packs
 * are not in it that it pays; tidy: when one is not, or one that is in it is
 * gone, and where there are few packs, take it away. What goes wrong only
 * costs time later. By a process that has `lock`, shared at least.
 */
void store_index_grown(const struct store_dir *f, size_t loose);
void store_index_tidy(const struct store_dir *f);

/* For tests: from so many packs on there is one. */
void store_index_after(unsigned int packs);

#endif
