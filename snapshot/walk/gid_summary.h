/*
 * The groups that a user's own files and folders in a tree have, and those of
 * others that their group may write, as a snapshot saw them. Most trees have
 * one; who has to know where another one is can leave out looking at every file
 * then.
 */
#ifndef GUARD_SNAPSHOT_WALK_GID_SUMMARY_H
#define GUARD_SNAPSHOT_WALK_GID_SUMMARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GID_SUMMARY_MAX 16

struct gid_summary {
	uint32_t gids[GID_SUMMARY_MAX];
	size_t count;
	bool more; /* than there is room for */
};

void gid_summary_add(struct gid_summary *g, uint32_t gid);

#endif
