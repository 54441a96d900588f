/*
 * Entries of an upper layer: whiteouts, opaque xattrs, and opening entries that
 * a run made unreadable.
 *
 * A run may leave files and directories that their owner cannot read. guard of
 * a plain user adds the owner's bits while it reads them (temp_chmod.h):
 * through a descriptor, never by name, and restores the mode afterwards.
 */
#ifndef GUARD_OVERLAY_WHITEOUT_H
#define GUARD_OVERLAY_WHITEOUT_H

#include <stdbool.h>

#include "base/meta.h"
#include "overlay/temp_chmod.h"

/*
 * Prefix of xattrs that never leave a layer: those of overlayfs, and those that
 * the run itself set (stored as user.overlay.overlay.X). In the project, the
 * layers of later runs would obey them and hide files.
 */
#define LAYER_XATTR_PREFIX "user.overlay."

/* Whether m is a whiteout: a character device 0/0. */
bool whiteout_is(const struct meta *m);
/* Creates a whiteout; a plain user needs Linux 5.8. */
int whiteout_create(int dirfd, const char *name, struct err *err);

/* Whether an open directory has the opaque xattr, which hides the lower
 * directory: 1, 0 or a negative errno. */
int opaque_is_set(int dir_fd, struct err *err);
/* Sets the opaque xattr of an open directory, or removes it. 0 or a negative
 * errno. */
int opaque_set(int dir_fd, bool on, struct err *err);

/*
 * Opens name in dirfd ("" is dirfd itself): a directory (O_DIRECTORY in flags)
 * or a regular file; -EINVAL for other types. Where permissions are missing,
 * adds the mode bits `want`, e.g. 0500, and fills *ret, else *ret is none. Free
 * *ret with temp_chmod_free(): for a directory after its last use, for a file
 * at once if convenient. Returns a descriptor or a negative errno.
 */
int upper_open(int dirfd, const char *name, int flags, uint32_t want,
	       struct temp_chmod *ret, struct err *err);

#endif
