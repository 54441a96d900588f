/* Paths whose content repair found to be lost for good; prune continues without
 * them. Stored in the file `lost` of the store, which may be missing. */
#ifndef GUARD_SNAPSHOT_STORE_KNOWN_MISSING_H
#define GUARD_SNAPSHOT_STORE_KNOWN_MISSING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "snapshot/store/store.h"

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
