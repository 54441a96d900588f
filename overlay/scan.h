/*
 * What a run did to a folder, told from the upper layer and the real one.
 *
 * Whiteouts, opaque marks and copies without a change are seen through: the
 * list holds only what differs from the lower as it is now. Every path is
 * listed, also those below a deleted or new folder. The layer's private
 * xattrs are never compared nor reported. Knows nothing of snapshots.
 */
#ifndef GUARD_OVERLAY_SCAN_H
#define GUARD_OVERLAY_SCAN_H

#include "base/pathset.h"
#include "overlay/change_list.h"

/*
 * upper_fd, lower_fd: the folders (O_PATH or open). skip: paths in the layer
 * (NULL-terminated, or NULL) that are left out with all below. A layer whose
 * owner took away his own right to read it is opened up as needed.
 */
int scan_layer(int upper_fd, int lower_fd, const char *const *skip,
	       struct change_list *ret, struct err *err);

/* Opens the run's bytes of a path for reading: O_NOFOLLOW, beneath. Plain
 * files only: -EISDIR, -EINVAL for the rest; -ENOENT. */
int scan_open(int upper_fd, const char *path, struct err *err);

/*
 * What begins so never leaves a layer: its own marks, and those that the run
 * made itself (stored as user.overlay.overlay.X). In the project they would be
 * obeyed by the layers of later runs, which would miss files then.
 */
#define LAYER_XATTR_PREFIX "user.overlay."

/*
 * Takes the run's changes of path (and below) back in the layer itself: what
 * it holds moves to trash_fd/<name>, and the run would see the real folder's
 * state again. Only for a layer that is locked and not mounted. trash_fd is
 * on the layer's file system and has nothing called name. "" takes all back.
 *
 * -ENOTDIR: a folder above path is no folder in this run; that has to be
 * taken back first. 0 when the layer holds nothing of path.
 */
int upper_discard(int upper_fd, int lower_fd, const char *path, int trash_fd,
		  const char *name, struct err *err);

/*
 * The way back: what lies in the trash under that name is in the layer again.
 * Each as a whole, so that whoever is ended in between does it once more. look:
 * only whether it can be done. along: paths that were taken out after it, and
 * are put back before it; whole paths of the layer, its own may be among them.
 *
 * 1: it is there; 0: nothing of it is in the trash. -EEXIST: what the run did
 * since is in the way, the text says where; nothing is done then.
 */
int upper_restore(int upper_fd, const char *path, const struct pathset *along,
		  int trash_fd, const char *name, bool dry_run,
		  struct err *err);

#endif
