/*
 * Files whose bytes somebody has just written, synced and put into the store.
 * One of that number, size and both times is it, and is not read again: whoever
 * writes to it may set mtime back, but not ctime. ctime {0}: nobody may read
 * it, so there is nothing better to go by.
 */
#ifndef GUARD_SNAPSHOT_STORE_INGEST_HINT_H
#define GUARD_SNAPSHOT_STORE_INGEST_HINT_H

#include "base/meta.h"
#include "snapshot/store/store.h"

struct ingest_hint {
	uint64_t ino, size;
	struct timestamp mtime, ctime;
	struct oid content;
	bool no_attrs; /* as it was at ctime, it has no attributes */
};

/* A list is sorted before it is looked through. */
void ingest_hint_sort(struct ingest_hint *list, size_t count);
/* NULL: it is none of them. */
const struct ingest_hint *ingest_hint_find(const struct ingest_hint *list,
					   size_t count, const struct meta *m);

#endif
