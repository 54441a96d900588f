/* A part of a layer's scan: the paths from `from` up to, and without, `until`
 * in the order of path_compare(). scan_layer() scans several in two threads. */
#ifndef GUARD_OVERLAY_SCAN_RANGE_H
#define GUARD_OVERLAY_SCAN_RANGE_H

#include "overlay/change_list.h"

/* The longest path, in bytes, below the root of a layer. */
#define SCAN_LEN_MAX 16384

struct scan_range {
	int upper_fd, lower_fd;
	const char *const *skip; /* see scan_layer() */
	/* NULL: from the first path, to the last one. Every directory of the
	 * layer above these two paths must be readable as it is. */
	const char *from, *until;
};

/* As scan_layer(), for one range. */
int scan_range(const struct scan_range *range, struct change_list *ret,
	       struct err *err);

#endif
