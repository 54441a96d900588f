/*
 * Sequence numbers whose snapshots prune or repair removed. With them guard
 * notices a snapshot file that was deleted by other means: a number up to the
 * highest ever given (catalog_highest_seq()) that is neither in snaps/ nor
 * here.
 *
 * Stored in the file `gone`. Without that file nothing was removed if FORMAT
 * has the optional feature of that name; else (an older store) nothing is
 * known, and every number that is missing when the file is first written counts
 * as removed.
 */
#ifndef GUARD_SNAPSHOT_TREE_TOMBSTONES_H
#define GUARD_SNAPSHOT_TREE_TOMBSTONES_H

#include "snapshot/store/store.h"

struct tombstone_range {
	uint64_t first, count;
};

struct tombstones {
	bool known;
	struct tombstone_range
		*items; /* ascending, with numbers between them */
	size_t count, capacity;
};

void tombstones_free(struct tombstones *g);
/* Loads the tombstones: 0, also when nothing is known; -EBADMSG: the file is
 * damaged, and nothing is known. */
int tombstones_load(struct store *s, struct tombstones *ret, struct err *err);

/* Adds or removes numbers, durably; the caller holds the commit lock. To be
 * called before snapshots are removed, and after they were restored. */
int tombstones_add(struct store *s, const uint64_t *seqs, size_t count,
		   struct err *err);
int tombstones_remove(struct store *s, const uint64_t *seqs, size_t count,
		      struct err *err);

/* Calls each() for every range of missing numbers; for none when nothing is
 * known. */
int tombstones_each_missing(struct store *s,
			    int (*each)(void *arg, uint64_t first,
					uint64_t last, struct err *err),
			    void *arg, struct err *err);

#endif
