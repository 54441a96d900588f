/* The file of the index over many packs: when a process writes it. midx.h has
 * the format. */
#ifndef GUARD_SNAPSHOT_STORE_STORE_INDEX_H
#define GUARD_SNAPSHOT_STORE_STORE_INDEX_H

#include <stddef.h>

struct store_dir;

/*
 * Recreate the index when it pays; failures are ignored, because they only cost
 * time later. The calling process must hold `lock`, at least shared.
 *
 * store_index_grown(), after a flush: when enough packs are not in the index.
 * store_index_tidy(): when any pack is missing in the index, or a pack in it
 * was removed. With few packs the index is deleted instead.
 */
void store_index_grown(const struct store_dir *f, size_t loose);
void store_index_tidy(const struct store_dir *f);

#endif
