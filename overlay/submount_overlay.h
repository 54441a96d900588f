/*
 * A folder with mounts below it, put together of its parts: the kernel takes
 * no such folder for the lower of one overlay where mounts are locked, as they
 * are in every user namespace.
 *
 * The upper itself is what the run sees of the folder and of those on the way
 * to a mount. What lies in them is put there beforehand: files and links as
 * copies, folders empty, each to get an overlay of its own whose upper is that
 * very folder. So the upper looks in the end as that of one overlay would.
 * One thing is missing in it: the mark of what the run deleted of the copies.
 * A list says what was there (runs/<id>/placed-<name>);
 * submount_overlay_add_whiteouts() sets the marks after the run.
 */
#ifndef GUARD_OVERLAY_SUBMOUNT_OVERLAY_H
#define GUARD_OVERLAY_SUBMOUNT_OVERLAY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"

struct submount_overlay {
	int session_fd, upper_fd, lower_fd;
	const char *name; /* of the list: "upper", "home-upper", ... */
	bool first; /* the run has not seen the folder yet */
	/* What is covered otherwise, relative paths; NULL-terminated. */
	char *const *points;
	/* A file above it, and what exceeds them all, is left out. */
	uint64_t file_max, total_max;

	char **dirs; /* that get an overlay each, relative */
	char **skipped; /* that are not seen in the run, relative */

	struct buf copied; /* the list: each ended by NUL */
	uint64_t total;
};

void submount_overlay_done(struct submount_overlay *p);

/* Before each mount of the layer; what lies in the upper already stays. */
int submount_overlay_fill(struct submount_overlay *p, struct err *err);

/* After the run; nothing where the list is gone. */
int submount_overlay_add_whiteouts(int session_fd, const char *name,
				   int upper_fd, struct err *err);

#endif
