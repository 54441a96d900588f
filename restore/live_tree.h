/*
 * The state of a live run as a tree, read from its mounted upper layer. Used
 * for the versions that guard stores during the run; the final result comes
 * from scan_layer() and result_make() and is exact.
 *
 * Input is the tree of the last version and the upper layer alone. An upper
 * entry whose ctime is older than the last version is taken from that tree, so
 * a version costs one stat per name plus the new bytes. No process is stopped,
 * no mode is changed and the lower is not read. An entry that is unreadable or
 * changes during the read keeps its last version.
 */
#ifndef GUARD_RESTORE_LIVE_TREE_H
#define GUARD_RESTORE_LIVE_TREE_H

#include "snapshot/tree/entry.h"

struct live_tree {
	struct store *store;
	const struct entry *base; /* root of the pre-run snapshot */
	const struct entry *last; /* root of the last version; base at first */
	struct timestamp since; /* time of the last version; 0: there is none */
	int upper_fd;
	uint64_t file_max; /* bytes; a larger file is stored as incomplete */
	uint64_t read_budget; /* bytes to read at most; further files are
				 deferred to the next version */

	/* Result: */
	size_t deferred; /* files for the next version */
};

/* Builds the tree of the new version in *ret_root, and updates
 * r->read_budget and r->deferred. Returns 0 or a negative errno. */
int live_tree_make(struct live_tree *r, struct entry *ret_root,
		   struct err *err);

#endif
