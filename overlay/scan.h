/*
 * The changes of a run in a directory, from the upper layer and the real
 * directory; and discard and restore of single paths of a layer.
 *
 * Whiteouts, opaque xattrs and unchanged copies are interpreted: the list has
 * only differences to the current lower. Every path is listed, also below a
 * deleted or new directory. The xattrs of overlayfs are neither compared nor
 * reported. The module does not use snapshots.
 */
#ifndef GUARD_OVERLAY_SCAN_H
#define GUARD_OVERLAY_SCAN_H

#include "base/pathset.h"
#include "overlay/change_list.h"
#include "overlay/whiteout.h"

/*
 * Compares the layer upper_fd with lower_fd (both O_PATH or open). skip: paths
 * in the layer (NULL-terminated, or NULL) that are excluded with everything
 * below. Unreadable directories of the layer get the owner's bits while they
 * are read (temp_chmod.h). *ret must be freed with change_list_free().
 */
int scan_layer(int upper_fd, int lower_fd, const char *const *skip,
	       struct change_list *ret, struct err *err);

/* Opens the run's version of a regular file for reading, beneath upper_fd and
 * without following links. Returns a descriptor or a negative errno: -ENOENT;
 * -EISDIR for a directory; -EINVAL for another file type or an invalid path. */
int scan_open(int upper_fd, const char *path, struct err *err);

/*
 * Undoes the run's changes of path, and below, in the layer itself: the layer's
 * entry moves to trash_fd/<name>, and the run would see the real entry again.
 * path "" undoes all changes. The layer must be locked and not mounted.
 * trash_fd is on the layer's file system and has no entry `name`.
 *
 * 0 also when the layer has nothing at path. -ENOTDIR: a parent of path is not
 * a directory in this run; that change must be undone first.
 */
int upper_discard(int upper_fd, int lower_fd, const char *path, int trash_fd,
		  const char *name, struct err *err);

/*
 * Undoes upper_discard(): moves the entry `name` of the trash back into the
 * layer. Each move is one rename, so a call after a crash continues. dry_run:
 * only checks whether the move is possible. along: full paths in the layer that
 * were discarded after this one and are restored before it; path itself may be
 * among them.
 *
 * Returns 1: restored; 0: the trash has nothing under this name; -EEXIST: a
 * newer change of the run is in the way, and nothing was moved. The text names
 * its path.
 */
int upper_restore(int upper_fd, const char *path, const struct pathset *along,
		  int trash_fd, const char *name, bool dry_run,
		  struct err *err);

#endif
