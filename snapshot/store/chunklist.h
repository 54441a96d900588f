/*
 * Of what a long file consists: chunks and holes, in order.
 *
 *	chunklist = 1:var size:var count:var *run
 *	run       = length * 2 + 1                       ; a hole, all zeros
 *	          | length * 2:var hash:16 ordinal:var   ; a data object
 *
 * var is LEB128. Lengths are above 0 and add up to size; a chunk has at most
 * 1 MiB. Holes are runs of zeros of at least HOLE_MIN bytes on borders of
 * HOLE_ALIGN (the last one may end where the file ends), and no other zeros
 * are; so equal bytes give equal lists, however they lie on the disk.
 */
#ifndef GUARD_SNAPSHOT_STORE_CHUNKLIST_H
#define GUARD_SNAPSHOT_STORE_CHUNKLIST_H

#include <stdbool.h>

#include "snapshot/store/store.h"

#define HOLE_MIN ((uint64_t)64 << 10)
#define HOLE_ALIGN ((uint64_t)4096)

struct chunk_run {
	uint64_t len;
	bool hole;
	struct oid id; /* of a chunk */
};

struct chunklist {
	uint64_t size;
	struct chunk_run *runs;
	size_t count, capacity;
};

void chunklist_free(struct chunklist *list);
void chunklist_add(struct chunklist *list, const struct chunk_run *run);
void chunklist_encode(const struct chunklist *list, struct buf *to);
/* -EBADMSG unless all of it is as written above. */
int chunklist_decode(const void *data, size_t len, struct chunklist *ret,
		     struct err *err);
/* Out of the store. */
int chunklist_load(struct store *s, const struct oid *id, struct chunklist *ret,
		   struct err *err);

#endif
