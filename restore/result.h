/*
 * The run's result as a tree: base with the changes of its layer, contents
 * kept in the store. From then on nobody reads the layer any more: what is
 * shown, compared and applied is this tree.
 */
#ifndef GUARD_RESTORE_RESULT_H
#define GUARD_RESTORE_RESULT_H

#include "overlay/scan.h"
#include "snapshot/tree/catalog.h"

/* Link groups of the layer and of the base are inode numbers of two file
 * systems: they are kept apart. */
#define RESULT_GROUP_OF_LAYER (UINT64_C(1) << 63)

/*
 * base: root entry of the pre-run snapshot. upper_fd: the layer, not mounted,
 * or its processes frozen. Times are those of the layer, but for a
 * file of several names of which nothing else changed. only: what does not lie
 * at or below one of these paths, or on the way there, stays as in base and
 * takes no room; NULL: all.
 */
int result_make(struct store *store, const struct entry *base, int upper_fd,
		const struct change_list *changes, const char *const *only,
		struct entry *ret_root, struct err *err);

#endif
