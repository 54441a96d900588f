/*
 * Cuts a long file into chunks and holes while its bytes arrive in order, and
 * stores the chunks. Order of calls: new; any number of add, add_data,
 * add_zeros and reuse; end; free. Holes are decided by the bytes alone
 * (chunklist.h).
 */
#ifndef GUARD_SNAPSHOT_STORE_CHUNKER_H
#define GUARD_SNAPSHOT_STORE_CHUNKER_H

#include "snapshot/store/chunk_reuse.h"
#include "snapshot/store/store.h"

struct chunker;

/* chunk_reuse: may be NULL, must outlive the chunker. */
struct chunker *chunker_new(struct store *s,
			    const struct chunk_reuse *chunk_reuse);
void chunker_free(struct chunker **c);
/*
 * Adds the next bytes. All lengths but the last are multiples of HOLE_ALIGN.
 * Returns 0, a negative errno, or 1: a cut fell on the start of the reusable
 * run chunker_reusable_run(). The caller then continues with chunker_reuse();
 * bytes that were added behind the cut are dropped.
 */
int chunker_add(struct chunker *c, const unsigned char *data, size_t len,
		struct err *err);
/* Adds the next bytes, up to a border of HOLE_ALIGN, none of which is in a
 * hole. Result as in chunker_add(). */
int chunker_add_data(struct chunker *c, const unsigned char *data, size_t len,
		     struct err *err);
/* Takes over the reusable runs of the previous version from index i on. Returns
 * the index of the first run that is not reusable: the next bytes begin at the
 * offset of that run. */
size_t chunker_reuse(struct chunker *c, size_t i);
size_t chunker_reusable_run(const struct chunker *c);
/* Adds zeros; lengths as in chunker_add(). */
void chunker_add_zeros(struct chunker *c, uint64_t len);
/* Stores the rest and the list. *ret is the name of the list. */
int chunker_end(struct chunker *c, struct oid *ret, struct err *err);

/* After chunker_end(): a tag for each run of the list, for the caller to free;
 * NULL when a chunk has no tag. */
unsigned char *chunker_macs(struct chunker *c, size_t *ret_count);

#endif
