/* The result of a run as a tree: the base plus the changes of the upper layer,
 * with all content in the store. After this step the layer is not read again:
 * list, diff and apply use the tree. */
#ifndef GUARD_RESTORE_RESULT_H
#define GUARD_RESTORE_RESULT_H

#include "overlay/scan.h"
#include "snapshot/tree/catalog.h"

/* Hard-link groups of the upper and of the base are inode numbers of two file
 * systems. This bit marks those of the upper. */
#define RESULT_GROUP_OF_LAYER (UINT64_C(1) << 63)

/*
 * Builds the result tree in *ret_root. base: root of the pre-run snapshot.
 * upper_fd: the upper, not mounted, or with all its processes frozen. Times
 * come from the upper, except for a file with several hard links whose time
 * alone differs.
 *
 * only: entries that are neither at or below one of these paths nor on the way
 * to one keep the state of base and are not stored; NULL: all entries. Returns
 * 0 or a negative errno.
 */
int result_make(struct store *store, const struct entry *base, int upper_fd,
		const struct change_list *changes, const char *const *only,
		struct entry *ret_root, struct err *err);

/* Stores one entry of an upper, name in dir_fd; of a directory nothing below
 * it. An entry that the run made unreadable is opened for the time of the
 * read, or is incomplete. *ret is the caller's to free. */
int result_take_entry(struct store *store, int dir_fd, const char *name,
		      struct entry *ret, struct err *err);

#endif
