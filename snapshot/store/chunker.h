/*
 * Cuts a long file into chunks and holes while its bytes come in, in order,
 * and puts the chunks into the store: new, any number of add and skip, end,
 * free. What is a hole is decided by the bytes alone (chunklist.h).
 */
#ifndef GUARD_SNAPSHOT_STORE_CHUNKER_H
#define GUARD_SNAPSHOT_STORE_CHUNKER_H

#include "snapshot/store/chunk_reuse.h"
#include "snapshot/store/store.h"

struct chunker;

/* past: may be NULL; must live longer. */
struct chunker *chunker_new(struct store *s,
			    const struct chunk_reuse *chunk_reuse);
void chunker_free(struct chunker **c);
/*
 * The next bytes. All lengths but the last are multiples of HOLE_ALIGN. 1: a
 * cut was made where a kept chunk of the past begins, chunker_reusable_run():
 * go on with chunker_reuse(); what was added behind that place is forgotten.
 */
int chunker_add(struct chunker *c, const unsigned char *data, size_t len,
		struct err *err);
/* The next bytes, up to a border of HOLE_ALIGN, of which none is in a hole. As
 * chunker_add(). */
int chunker_add_data(struct chunker *c, const unsigned char *data, size_t len,
		     struct err *err);
/* Takes over the runs of the past from i on that are kept. Returns the first
 * one that is not: what comes next begins where that one began. */
size_t chunker_reuse(struct chunker *c, size_t i);
size_t chunker_reusable_run(const struct chunker *c);
/* The next bytes are zeros; len as above. */
void chunker_add_zeros(struct chunker *c, uint64_t len);
/* Puts what is left and the list of all; gives the list's name. */
int chunker_end(struct chunker *c, struct oid *ret, struct err *err);

/* After that: a mark for each run of the list, to free; NULL when some chunk
 * has none. */
unsigned char *chunker_macs(struct chunker *c, size_t *ret_count);

#endif
