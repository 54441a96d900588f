/* Entries from one store to another, which names its objects by another secret.
 */
#ifndef GUARD_SNAPSHOT_TREE_TRANSFER_H
#define GUARD_SNAPSHOT_TREE_TRANSFER_H

#include "snapshot/store/store.h"
#include "snapshot/tree/entry.h"

/* An entry that cannot be read in its store, at its path, and why. */
typedef void transfer_lost(void *arg, const char *path, const char *why);

/* Stores an entry of another store, with all below it, in `to`, which may be
 * the same; *ret owns its memory. `to` is flushed by the caller. Entries whose
 * content or attributes are lost become incomplete ones without them, and are
 * reported, with their paths below `path`. */
int transfer_entry(struct store *from, struct store *to, const char *path,
		   const struct entry *e, transfer_lost *lost, void *arg,
		   struct entry *ret, struct err *err);

#endif
