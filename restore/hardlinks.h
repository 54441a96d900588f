/* The first path of each hard-link group. In an archive the later paths become
 * links to the first one. */
#ifndef GUARD_RESTORE_HARDLINKS_H
#define GUARD_RESTORE_HARDLINKS_H

#include <stdint.h>

struct hardlinks {
	void *root; /* a tsearch(3) tree; NULL when empty */
};

/* Returns the first path of the group, or NULL when `path` is the first: it is
 * remembered then. The result is valid until hardlinks_free(). */
const char *hardlinks_first(struct hardlinks *f, uint64_t group,
			    const char *path);
/* Forgets all groups. */
void hardlinks_free(struct hardlinks *f);

#endif
