/*
 * What repair has found to be lost for good: prune goes on without it. A file
 * of the store, `lost`, which may be missing.
 */
#ifndef GUARD_SNAPSHOT_STORE_LOST_H
#define GUARD_SNAPSHOT_STORE_LOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "snapshot/store/store.h"

/* More are not noted: then prune stops at them. */
#define LOST_MAX 10000

struct lost_item {
	uint64_t seq;
	char *path;
};

struct lost_list {
	struct lost_item *items; /* as they were added */
	size_t count, capacity;
};

void lost_list_free(struct lost_list *list);
void lost_add(struct lost_list *list, uint64_t seq, const char *path);
bool lost_has(const struct lost_list *list, uint64_t seq, const char *path);

/* Empty when there is none, or it cannot be read. */
void lost_load(struct store *s, struct lost_list *ret);
/* Under the commit lock; an empty list removes the file. */
int lost_save(struct store *s, const struct lost_list *list, struct err *err);

#endif
