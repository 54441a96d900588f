/*
 * Which of the names of one file came first, by the group of its names: the
 * later ones are links to it.
 */
#ifndef GUARD_RESTORE_HARDLINKS_H
#define GUARD_RESTORE_HARDLINKS_H

#include <stdint.h>

struct hardlinks {
	void *root; /* all zero at first */
};

/* NULL: path is the first of the group. Valid until it is freed. */
const char *hardlinks_first(struct hardlinks *f, uint64_t group,
			    const char *path);
void hardlinks_free(struct hardlinks *f);

#endif
