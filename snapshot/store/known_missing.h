/*
 * What repair has found to be lost for good: prune goes on without it. A file
 * of the store, `lost`, which may be missing.
 */
#ifndef GUARD_SNAPSHOT_STORE_KNOWN_MISSING_H
#define GUARD_SNAPSHOT_STORE_KNOWN_MISSING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "snapshot/store/store.h"

/* More are not noted: then prune stops at them. */
#define KNOWN_MISSING_MAX 10000

struct known_missing_item {
	uint64_t seq;
	char *path;
};

struct known_missing_list {
	struct known_missing_item *items; /* as they were added */
	size_t count, capacity;
};

void known_missing_list_free(struct known_missing_list *list);
void known_missing_add(struct known_missing_list *list, uint64_t seq,
		       const char *path);
bool known_missing_has(const struct known_missing_list *list, uint64_t seq,
		       const char *path);

/* Empty when there is none, or it cannot be read. */
void known_missing_load(struct store *s, struct known_missing_list *ret);
/* Under the commit lock; an empty list removes the file. */
int known_missing_save(struct store *s, const struct known_missing_list *list,
		       struct err *err);

#endif
