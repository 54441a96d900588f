/*
 * Other names of files that a restore brings back. A snapshot knows by number
 * which of its paths are names of one file; what is in the project now goes by
 * other numbers.
 */
#ifndef GUARD_CHANGE_TARGET_HARDLINKS_H
#define GUARD_CHANGE_TARGET_HARDLINKS_H

#include "snapshot/tree/tree.h"

/*
 * stored: the root of the snapshot, `target` in it at `path`; now: the root as
 * it is. Where a file of the target had another name outside of it, and that
 * name still holds just that file, ed says so: the restore then makes one more
 * name of it and no file of its own.
 */
int target_hardlinks_add(struct store *store, const struct entry *now,
			 const struct entry *stored, const char *path,
			 const struct entry *target, struct tree_editor *ed,
			 struct err *err);

#endif
