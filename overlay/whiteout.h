/*
 * Entries of an upper layer: overlayfs's marks on them, and reading what a
 * run made unreadable.
 *
 * A run may leave folders and files behind that their owner cannot read. A
 * plain user opens them up for the moment: through a descriptor, never by
 * name, and the mode goes back afterwards.
 */
#ifndef GUARD_OVERLAY_WHITEOUT_H
#define GUARD_OVERLAY_WHITEOUT_H

#include <stdbool.h>

#include "base/meta.h"
#include "overlay/temp_chmod.h"

/* A whiteout: character device 0/0. */
bool whiteout_is(const struct meta *m);
/* Makes one; needs Linux 5.8 for a plain user. */
int whiteout_create(int dirfd, const char *name, struct err *err);

/* Whether an open folder hides the lower one: 1, 0 or negative. */
int opaque_is_set(int dir_fd, struct err *err);
int opaque_set(int dir_fd, bool on, struct err *err);

/*
 * Opens name in dirfd ("" is dirfd itself), which is a folder (O_DIRECTORY in
 * flags) or a plain file, -EINVAL when it is neither. Where permission is
 * missing it is opened up: then *ret is filled and stays to be freed after the
 * last use of a folder; a file's may be freed at once. mode bits that are
 * needed: want, e.g. 0500.
 */
int upper_open(int dirfd, const char *name, int flags, uint32_t want,
	       struct temp_chmod *ret, struct err *err);

#endif
