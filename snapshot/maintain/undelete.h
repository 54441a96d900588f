/*
 * Brings snapshots back from the trash.
 */
#ifndef GUARD_SNAPSHOT_MAINTAIN_UNDELETE_H
#define GUARD_SNAPSHOT_MAINTAIN_UNDELETE_H

#include "snapshot/store/store.h"

/*
 * Brings snapshots back with all packs that they need, durably. No file is
 * moved unless all of them can be restored completely. -ENOENT: a snapshot is
 * not in the trash; -EBADMSG: an object is lost; -EEXIST: objects collide with
 * others in the store; -EBUSY: see trash_open().
 */
int undelete_snapshots(struct store *s, const uint64_t *seqs, size_t count,
		       struct err *err);

#endif
