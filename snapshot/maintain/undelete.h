/*
 * Out of the trash again.
 */
#ifndef GUARD_SNAPSHOT_MAINTAIN_UNDELETE_H
#define GUARD_SNAPSHOT_MAINTAIN_UNDELETE_H

#include "snapshot/store/store.h"

/*
 * Brings snapshots back with all they need. Nothing is done unless each of
 * them can be had whole: -ENOENT: not in the trash; -EBADMSG: parts are lost;
 * -EEXIST: objects would clash with others; -EBUSY as above.
 */
int undelete_snapshots(struct store *s, const uint64_t *seqs, size_t count,
		       struct err *err);

#endif
