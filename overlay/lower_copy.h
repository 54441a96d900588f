/*
 * A copy of the project at the start of a run, used as the run's lower
 * (--frozen). The run does not see edits that the user makes during the run,
 * and a copy-up never reads a file that is being written. Copies are reflinks
 * where the file system supports them (btrfs, xfs); elsewhere they use disk
 * space.
 *
 * 	runs/<id>/lower/	exists: this run has a copy
 */
#ifndef GUARD_OVERLAY_LOWER_COPY_H
#define GUARD_OVERLAY_LOWER_COPY_H

#include "base/mem.h"
#include "overlay/session.h"

/*
 * Creates the copy. A file that changes during every attempt is skipped.
 * Unreadable entries are skipped too, and guard's own state; notes gets one
 * line with their number and the first one. 0 or a negative errno; a lack of
 * descriptors or memory is an error.
 */
int lower_copy_make(const struct session *s, int project_fd, struct buf *notes,
		    struct err *err);

/* Opens the lower of a run: the copy if one exists, else the project. Returns a
 * descriptor (O_RDONLY) or a negative errno. */
int lower_copy_open(const struct session *s, struct err *err);

/* The path of the copy, runs/<id>/lower, to free; NULL when the run has
 * none. */
char *lower_copy_path(const struct session *s, const char *session_path);

#endif
