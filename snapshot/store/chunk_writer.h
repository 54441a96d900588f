/*
 * Stores the chunks of one long file and collects their list in order. For a
 * very long file a second thread takes half of the work (hashing, comparing,
 * compressing), so that one huge file uses two cores. Order of calls: new; any
 * number of add, add_reused and add_hole; end; free.
 */
#ifndef GUARD_SNAPSHOT_STORE_CHUNK_WRITER_H
#define GUARD_SNAPSHOT_STORE_CHUNK_WRITER_H

#include "snapshot/store/chunk_reuse.h"

struct chunk_writer;

/* chunk_reuse: may be NULL, must outlive the writer. Without it no tags are
 * computed. */
struct chunk_writer *chunk_writer_new(struct store *s,
				      const struct chunk_reuse *chunk_reuse);
void chunk_writer_free(struct chunk_writer **chunk_writer);
/* Adds the next chunk of at most CHUNK_MAX bytes. data is borrowed until the
 * call returns. A failure may be reported by a later call. */
int chunk_writer_add(struct chunk_writer *p, const void *data, size_t len,
		     struct err *err);
/* Adds the next run as the previous version has it. */
void chunk_writer_add_reused(struct chunk_writer *p,
			     const struct chunk_run *run,
			     const unsigned char mark[CHUNK_MAC_LEN]);
/* Adds a hole of len bytes. */
void chunk_writer_add_hole(struct chunk_writer *p, uint64_t len);
/* Waits until all chunks are stored. The writer owns the list. */
int chunk_writer_end(struct chunk_writer *p, const struct chunklist **ret,
		     struct err *err);
/* After chunk_writer_end(), see chunker_macs(). */
unsigned char *chunk_writer_macs(struct chunk_writer *p, size_t *ret_count);

#endif
