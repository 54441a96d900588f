/*
 * The groups of files and directories in a tree that the user may write: of the
 * user's own entries, and of other users' entries that are writable for their
 * group, as a snapshot saw them. Most trees have one group. With this list a
 * caller that looks for entries of another group need not stat every file.
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
	bool more; /* the tree has further groups */
};

/* Adds a group unless it is in the list; a full list sets `more`. */
void gid_summary_add(struct gid_summary *g, uint32_t gid);

#endif
