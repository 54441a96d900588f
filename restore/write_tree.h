/*
 * Changes a directory from one tree to another, name by name: without a
 * transaction, a plan or a sync, for the merged view of a run that is suspended
 * or has ended. The caller has stored both trees; after an error or a crash
 * some of the names are as in the new tree and the others as in the old one,
 * and a second call, from the state that is there then, completes it.
 *
 * A file or link is written under another name and renamed: processes that
 * have the old file open keep it. Hard links become files of their own.
 */
#ifndef GUARD_RESTORE_WRITE_TREE_H
#define GUARD_RESTORE_WRITE_TREE_H

#include "snapshot/tree/tree.h"

/*
 * Makes the directory as the second side of the differences, which are in the
 * order of tree_diff(), with the directories above each path. Appends to the
 * list *left, the caller's to free, the paths that stay as they are: sockets
 * and device nodes, which are not made again, and directories that hold entries
 * that no tree has.
 */
int write_tree(struct store *store, int root_fd, const struct differences *d,
	       char ***left, struct err *err);

#endif
