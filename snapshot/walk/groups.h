/*
 * The groups that a user's own files and folders in a tree have, and those of
 * others that their group may write, as a snapshot saw them. Most trees have
 * one; who has to know where another one is can leave out looking at every file
 * then.
 */
#ifndef GUARD_SNAPSHOT_CRAWL_GROUPS_H
#define GUARD_SNAPSHOT_CRAWL_GROUPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GROUPS_MAX 16

struct groups {
	uint32_t gids[GROUPS_MAX];
	size_t count;
	bool more; /* than there is room for */
};

void groups_add(struct groups *g, uint32_t gid);

#endif
