/*
 * Puts the chunks of one long file and keeps the list of them in order. When a
 * file turns out to be very long a thread of its own takes half of the work:
 * hashing, comparing and compressing, so that one huge file keeps two cores
 * busy. Order of calls: new; any number of put and hole; end; free.
 */
#ifndef GUARD_SNAPSHOT_STORE_CHUNK_WRITER_H
#define GUARD_SNAPSHOT_STORE_CHUNK_WRITER_H

#include "snapshot/store/chunk_reuse.h"

struct chunk_writer;

/* past: may be NULL; must live longer. Without one there are no marks. */
struct chunk_writer *chunk_writer_new(struct store *s,
				      const struct chunk_reuse *chunk_reuse);
void chunk_writer_free(struct chunk_writer **chunk_writer);
/* The next chunk, at most CHUNK_MAX; data is the caller's. A failure may be
 * told by a later call. */
int chunk_writer_add(struct chunk_writer *p, const void *data, size_t len,
		     struct err *err);
/* The next run as the past has it. */
void chunk_writer_add_reused(struct chunk_writer *p,
			     const struct chunk_run *run,
			     const unsigned char mark[CHUNK_MAC_LEN]);
/* The next bytes are a hole. */
void chunk_writer_add_hole(struct chunk_writer *p, uint64_t len);
/* Waits for all chunks. The list is the putter's. */
int chunk_writer_end(struct chunk_writer *p, const struct chunklist **ret,
		     struct err *err);
/* After that, see chunker_macs(). */
unsigned char *chunk_writer_macs(struct chunk_writer *p, size_t *ret_count);

#endif
