/*
 * A layer over a directory with mounts below it, assembled from parts. In a
 * user namespace all inherited mounts are locked, and the kernel refuses a
 * directory with locked mounts as the lower of an overlay.
 *
 * The run sees the upper itself in place of the directory and of all
 * directories between it and a mount. Before the run guard copies their entries
 * into the upper: files and links as copies, other directories empty. Each of
 * these empty directories gets its own overlay, with the empty directory as its
 * upper. So after the run the upper looks like the upper of a single overlay,
 * with one exception: whiteouts for deleted copies are missing. The file
 * runs/<id>/placed-<name> lists the copied paths, and
 * submount_overlay_add_whiteouts() creates the whiteouts after the run.
 */
#ifndef GUARD_OVERLAY_SUBMOUNT_OVERLAY_H
#define GUARD_OVERLAY_SUBMOUNT_OVERLAY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"

struct submount_overlay {
	int session_fd, upper_fd, lower_fd;
	/* suffix of the list file: "upper", "home-upper", ... */
	const char *name;
	bool first; /* the run has not used this layer yet */
	/* Paths that other mounts or layers cover, relative;
	 * NULL-terminated. */
	char *const *points;
	/* Limits in bytes: a file above file_max, or beyond total_max for all
	 * files together, is skipped. */
	uint64_t file_max, total_max;

	/* result: directories that get an overlay each, relative */
	char **dirs;
	/* result: entries that the run does not see, relative */
	char **skipped;

	/* content of the list file: paths, each ended by NUL */
	struct buf copied;
	uint64_t total;
};

/* Frees the results in *p. */
void submount_overlay_done(struct submount_overlay *p);

/* Fills the upper before each mount of the layer; existing entries of the upper
 * stay. Writes the list file and sets the results in *p; free them with
 * submount_overlay_done(). */
int submount_overlay_fill(struct submount_overlay *p, struct err *err);

/* Creates the missing whiteouts after the run and removes the list file.
 * Without a list file it does nothing and returns 0. */
int submount_overlay_add_whiteouts(int session_fd, const char *name,
				   int upper_fd, struct err *err);

#endif
