/*
 * Entries that must be in an upper before it is mounted.
 *
 * The user namespace of a plain user maps one user and one group. An entry of
 * another user or group can be read and deleted in a run. Writing it, moving it
 * or creating an entry in it fails with EOVERFLOW, because overlayfs cannot
 * copy it up. A process outside of the namespace can create the entry, so guard
 * copies into the layer, before the run, the entries that the user may write:
 * the user's own, and those of other users whose mode or ACL allows it. The
 * copy belongs to the user and keeps its group where the user is in that group;
 * else it gets the user's first group. The scan ignores unchanged copies.
 *
 * A setgid directory gets the user's primary group in the layer, and new
 * entries inherit that group: overlayfs could not open a new file of mode 0444
 * for writing otherwise. Change lists, snapshots and apply use the group of the
 * real directory.
 */
#ifndef GUARD_OVERLAY_PRE_COPY_UP_H
#define GUARD_OVERLAY_PRE_COPY_UP_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/meta.h"

/* Copies mode, owner, xattrs and times of the lower's root to the upper's root:
 * a merged directory has the metadata of the upper. */
int pre_copy_up_root(int upper_fd, int lower_fd, struct err *err);

/*
 * Copies these entries into the upper, up to fixed limits; adds a line to notes
 * for skipped entries. path is for the notes only. Does nothing for root.
 */
int pre_copy_up_foreign(int upper_fd, int lower_fd, const char *path,
			struct buf *notes, struct err *err);

/* The number of entries in the user's directory, open for reading, whose copy
 * cannot keep its group; 0 for root. */
uint64_t pre_copy_up_count(int lower_fd);

/* Copies owner (as far as this user may set it), xattrs, mode and times to
 * `to`. m is the metadata of the file or directory `from`. 0 or a negative
 * errno. */
int pre_copy_up_meta(int from, int to, const struct meta *m, struct err *err);

/* Copies the file `name` from the directory lower to dir, completely or not at
 * all. -EAGAIN: the file changed during the copy. */
int pre_copy_up_file(int dir, int lower, const char *name, const struct meta *m,
		     struct err *err);
/* As pre_copy_up_file(), for a symbolic link; the copy belongs to the user. */
int pre_copy_up_link(int dir, int lower, const char *name, const struct meta *m,
		     struct err *err);

#endif
