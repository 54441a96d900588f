/*
 * Stores a long file: cuts its bytes into chunks and holes, stores the chunks
 * and their list. Holes are decided by the bytes alone (chunklist.h). For
 * content.c only.
 */
#ifndef GUARD_SNAPSHOT_STORE_LONGFILE_H
#define GUARD_SNAPSHOT_STORE_LONGFILE_H

#include "snapshot/store/chunk_mac_cache.h"
#include "snapshot/store/store.h"

/* Knowledge about a file before it is read. Both members may be NULL. */
struct longfile_hints {
	struct chunk_mac_cache
		*chunk_mac_cache; /* cache of the tags of long files */
	const struct oid *before; /* chunk list of the previous version */
};

/* As content_put(); size is that of fstat(2). */
int longfile_put(struct store *s, int fd, uint64_t size,
		 const struct longfile_hints *hints, struct oid *ret,
		 uint64_t *ret_size, struct err *err);

/* As content_put_bytes() for more than CONTENT_SINGLE_MAX bytes. */
int longfile_put_bytes(struct store *s, const void *data, size_t len,
		       struct oid *ret, struct err *err);

#endif
