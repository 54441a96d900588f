/*
 * Entries that must be in an upper before it is mounted.
 *
 * The user namespace of a plain user maps one user and one group. A file or
 * directory of another of the user's groups can be read and deleted in a run.
 * Writing it, moving it or creating an entry in it fails with EOVERFLOW,
 * because overlayfs cannot copy it up. A process outside of the namespace can
 * create the entry with its group, so guard copies it into the layer before the
 * run. An entry of another user is copied when its group may write it; the copy
 * belongs to the user. The scan ignores unchanged copies.
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

/* Lists the user's groups, to free. False when only one group exists, or for
 * root: then no entry needs a copy. */
bool pre_copy_up_list_groups(gid_t **ret, int *ret_count);

/*
 * Copies directories and files of the user's other groups into the upper, up to
 * fixed limits; adds a line to notes for skipped entries. path is for the notes
 * only. Does nothing for root and for a user with one group.
 */
int pre_copy_up_groups(int upper_fd, int lower_fd, const char *path,
		       struct buf *notes, struct err *err);

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
