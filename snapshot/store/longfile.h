/*
 * A long file on its way into the store: read, cut by its content, its chunks
 * and their list put. For content.c alone.
 */
#ifndef GUARD_SNAPSHOT_STORE_LONGFILE_H
#define GUARD_SNAPSHOT_STORE_LONGFILE_H

#include "snapshot/store/chunk_mac_cache.h"
#include "snapshot/store/store.h"

/* What is known of a file before it is read; both may be NULL. */
struct longfile_hints {
	struct chunk_mac_cache
		*chunk_mac_cache; /* where those of long files are kept */
	const struct oid *before; /* its version before */
};

/* See content_put(); size is what stat says. */
int longfile_put(struct store *s, int fd, uint64_t size,
		 const struct longfile_hints *hints, struct oid *ret,
		 uint64_t *ret_size, struct err *err);

/* --- for tests only --- */

/* From now on files of this length and more have marks. */
void longfile_set_mac_len(uint64_t len);

#endif
