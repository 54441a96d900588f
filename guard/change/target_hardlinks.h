/*
 * Hard links between restored files and files that stay. A snapshot numbers the
 * groups of paths that are hard links of one file; the project as it is now has
 * other numbers.
 */
#ifndef GUARD_CHANGE_TARGET_HARDLINKS_H
#define GUARD_CHANGE_TARGET_HARDLINKS_H

#include "snapshot/tree/tree.h"

/*
 * stored: the root of the snapshot, which has `target` at `path`; now: the root
 * as it is. If a file of the target has a hard link outside of the target, and
 * that path still holds the same file, ed gets the group number: the restore
 * then creates a hard link and no file of its own.
 */
int target_hardlinks_add(struct store *store, const struct entry *now,
			 const struct entry *stored, const char *path,
			 const struct entry *target, struct tree_editor *ed,
			 struct err *err);

#endif
