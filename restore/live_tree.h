/*
 * What a run has made so far, as a tree: of a layer that is mounted and in
 * use. For the versions that are kept while it runs; what it leaves in the end
 * is told by scan_layer() and result_make(), to the byte.
 *
 * From the tree of the last time and the layer alone. What is in the layer and
 * has a ctime older than that time is taken over from that tree, so that a
 * version costs a look at each name and the bytes that are new. Nothing is
 * stopped, opened up or compared with the real files: what cannot be read, or
 * changes while it is read, stays as it was the last time.
 */
#ifndef GUARD_RESTORE_LIVE_TREE_H
#define GUARD_RESTORE_LIVE_TREE_H

#include "snapshot/tree/entry.h"

struct live_tree {
	struct store *store;
	const struct entry *base; /* root of the pre-run snapshot */
	const struct entry *last; /* of the last time; base at first */
	struct timestamp since; /* of the last time; 0: never */
	int upper_fd;
	uint64_t file_max; /* larger files are entered as incomplete */
	uint64_t read_budget; /* bytes to read at most; the rest waits */

	/* Filled. */
	size_t deferred; /* files that wait for the next time */
};

int live_tree_make(struct live_tree *r, struct entry *ret_root,
		   struct err *err);

#endif
