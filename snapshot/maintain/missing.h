/*
 * Two records of the store: snapshots that guard removed, and paths that are
 * lost for good.
 *
 * Tombstones are sequence numbers whose snapshots prune or repair removed. With
 * them guard notices a snapshot file that was deleted by other means: a number
 * up to the highest ever given (catalog_highest_seq()) that is neither in
 * snaps/ nor here.
 *
 * Stored in the file `gone`. Without that file nothing was removed if FORMAT
 * has the optional feature of that name; else (an older store) nothing is
 * known, and every number that is missing when the file is first written counts
 * as removed.
 *
 * Known missing paths are those whose content repair found to be lost; prune
 * continues without them. Stored in the file `lost`, which may be missing.
 */
#ifndef GUARD_SNAPSHOT_MAINTAIN_MISSING_H
#define GUARD_SNAPSHOT_MAINTAIN_MISSING_H

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

/* Frees all that *g owns. */
void tombstones_free(struct tombstones *g);
/* Loads the tombstones: 0, also when nothing is known; -EBADMSG: the file is
 * damaged, and nothing is known. */
int tombstones_load(struct store *s, struct tombstones *ret, struct err *err);

/* Adds (there) or removes numbers, durably; the caller holds the commit lock.
 * To be called before snapshots are removed, and after they were restored. */
int tombstones_set(struct store *s, const uint64_t *seqs, size_t count,
		   bool there, struct err *err);

/* Calls each() for every range of missing numbers; for none when nothing is
 * known. */
int tombstones_each_missing(struct store *s,
			    int (*each)(void *arg, uint64_t first,
					uint64_t last, struct err *err),
			    void *arg, struct err *err);

/* Further paths are not recorded, and prune stops at them. */
#define KNOWN_MISSING_MAX 10000

struct known_missing_item {
	uint64_t seq;
	char *path;
};

struct known_missing_list {
	struct known_missing_item *items; /* in the order of the calls */
	size_t count, capacity;
};

/* Frees the items and empties the list. */
void known_missing_list_free(struct known_missing_list *list);

/* Appends a path of the snapshot with this sequence number. */
void known_missing_add(struct known_missing_list *list, uint64_t seq,
		       const char *path);

/* Whether the list has this path of this snapshot. */
bool known_missing_has(const struct known_missing_list *list, uint64_t seq,
		       const char *path);

/* Loads the list. A missing or unreadable file gives the empty list. */
void known_missing_load(struct store *s, struct known_missing_list *ret);
/* Saves the list, under the commit lock. An empty list removes the file. */
int known_missing_save(struct store *s, const struct known_missing_list *list,
		       struct err *err);

#endif
