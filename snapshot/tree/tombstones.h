/*
 * Which numbers have no snapshot any more because prune or repair took it
 * away, so that one whose file somebody deleted is noticed: a number up to the
 * highest ever given (catalog_highest_seq()) that is neither in snaps/ nor
 * here.
 *
 * A file of the store, `gone`; without one nothing is gone if FORMAT has the
 * optional feature of that name, else it is not known (an older store), and
 * what is missing when it is first written counts as gone.
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
/* 0, known or not; -EBADMSG: the file is damaged, and nothing is known. */
int tombstones_load(struct store *s, struct tombstones *ret, struct err *err);

/* Under the commit lock, durable: before they are taken away; after they were
 * brought back. */
int tombstones_add(struct store *s, const uint64_t *seqs, size_t count,
		   struct err *err);
int tombstones_remove(struct store *s, const uint64_t *seqs, size_t count,
		      struct err *err);

/* Calls each() for every run of numbers that is missing; not known: none. */
int tombstones_each_missing(struct store *s,
			    int (*each)(void *arg, uint64_t first,
					uint64_t last, struct err *err),
			    void *arg, struct err *err);

#endif
