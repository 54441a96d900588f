/*
 * Files that guard has just written, synced and stored. A file with the same
 * inode, size, mtime and ctime is not read again: a writer can reset mtime but
 * not ctime. ctime {0}: the file cannot be read, so its content is taken from
 * the hint without this check.
 */
#ifndef GUARD_SNAPSHOT_STORE_INGEST_HINT_H
#define GUARD_SNAPSHOT_STORE_INGEST_HINT_H

#include "base/meta.h"
#include "snapshot/store/store.h"

struct ingest_hint {
	uint64_t ino, size;
	struct timestamp mtime, ctime;
	struct oid content;
	bool no_attrs; /* the file had no attributes at this ctime */
};

/* Sorts a list for ingest_hint_find(). */
void ingest_hint_sort(struct ingest_hint *list, size_t count);
/* The hint for a file with this metadata, or NULL. */
const struct ingest_hint *ingest_hint_find(const struct ingest_hint *list,
					   size_t count, const struct meta *m);

#endif
