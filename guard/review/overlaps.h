/*
 * Paths that two runs have changed, both of which wait for a decision: when
 * one is applied, the other finds them changed.
 */
#ifndef GUARD_REVIEW_OVERLAPS_H
#define GUARD_REVIEW_OVERLAPS_H

#include "overlay/scan.h"

struct overlap {
	size_t count;
	/* The first of them, borrowed from the lists. */
	const char *paths[3];
};

/*
 * Both lists are sorted, of layers over one directory. A path that both deleted
 * or made a directory is no overlap, and neither is one in a .git, where every
 * git command leaves a trace.
 */
void overlaps_find(const struct change_list *a, const struct change_list *b,
		   struct overlap *ret);

#endif
