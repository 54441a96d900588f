/*
 * A copy of the project as it is now, to be a run's lower in its place: what
 * the user edits meanwhile is not seen in the run, nor torn while the kernel
 * copies it. Contents are shared with the originals where the file system can
 * do that (btrfs, xfs), else they take their room.
 *
 *	runs/<id>/lower/	there: this run has one
 */
#ifndef GUARD_OVERLAY_LOWER_COPY_H
#define GUARD_OVERLAY_LOWER_COPY_H

#include "base/mem.h"
#include "overlay/session.h"

/*
 * Makes it. Files that keep changing are copied as they are in the end. What
 * cannot be read is left out and said in notes. The state is left out.
 */
int lower_copy_make(const struct session *s, int project_fd, struct buf *notes,
		    struct err *err);

/* The lower of a run: its copy, else the project. -> fd (O_RDONLY) */
int lower_copy_open(const struct session *s, struct err *err);

/* runs/<id>/lower when there is one, to free; else NULL. */
char *lower_copy_path(const struct session *s, const char *session_path);

#endif
