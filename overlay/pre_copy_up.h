/*
 * What must lie in an upper before its mount.
 *
 * A plain user's namespace knows one user and one group. Whatever in the
 * project has another one of his groups could be read and deleted in a run,
 * but not written, moved or, a folder, filled: copying it up fails with
 * EOVERFLOW. Outside of the namespace such an entry can be made with its
 * group, so it is put in the layer beforehand, his own where it is somebody
 * else's and the group may write it. Unchanged, the scan sees through it.
 *
 * A folder whose set-group bit hands its group on has the user's first one in
 * the layer, and so has what is made in it: overlayfs could not open a new
 * file of mode 0444 for writing otherwise. It is the group of the real folder
 * again in what is listed, kept and applied.
 */
#ifndef GUARD_OVERLAY_PRE_COPY_UP_H
#define GUARD_OVERLAY_PRE_COPY_UP_H

#include "base/err.h"
#include "base/mem.h"
#include "base/meta.h"

/* Gives the upper's root mode, owner, xattrs and times of the lower's: what
 * a merged folder shows are the upper's. */
int pre_copy_up_root(int upper_fd, int lower_fd, struct err *err);

/*
 * Puts folders and files of the user's other groups in the upper, within a
 * budget; says in notes what was left out. path is for the notes.
 */
int pre_copy_up_groups(int upper_fd, int lower_fd, const char *path,
		       struct buf *notes, struct err *err);

/* Owner, as far as this user may give it, xattrs, mode, times: of the file or
 * folder behind from, which m is of. */
int pre_copy_up_meta(int from, int to, const struct meta *m, struct err *err);

/* name of lower in dir, whole or not at all. -EAGAIN: it changed meanwhile. */
int pre_copy_up_file(int dir, int lower, const char *name, const struct meta *m,
		     struct err *err);
/* The same of a link; its owner is the user. */
int pre_copy_up_link(int dir, int lower, const char *name, const struct meta *m,
		     struct err *err);

#endif
