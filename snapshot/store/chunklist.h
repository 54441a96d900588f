/*
 * The content of a long file: chunks and holes, in order.
 *
 *	chunklist = 1:var size:var count:var *run
 *	run       = length * 2 + 1                       ; a hole, all zeros
 *	          | length * 2:var hash:16 ordinal:var   ; a data object
 *
 * var is LEB128. Lengths are above 0 and add up to size; a chunk has at most 1
 * MiB. Holes are all runs of zeros of at least HOLE_MIN bytes between borders
 * of HOLE_ALIGN; the last hole may end at the end of the file. No other zeros
 * are holes, so equal bytes give equal lists, whatever the file system stores.
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
	struct oid id; /* name of a chunk */
};

struct chunklist {
	uint64_t size;
	struct chunk_run *runs;
	size_t count, capacity;
};

/* Frees the runs and empties the list. */
void chunklist_free(struct chunklist *list);

/* Appends a run and adds its length to the size. */
void chunklist_add(struct chunklist *list, const struct chunk_run *run);

/* Appends the bytes of the list to `to`. */
void chunklist_encode(const struct chunklist *list, struct buf *to);
/* -EBADMSG unless the bytes follow the grammar above. *ret must be freed with
 * chunklist_free(). */
int chunklist_decode(const void *data, size_t len, struct chunklist *ret,
		     struct err *err);
/* Reads the list with this name from the store. -ENOENT, -EBADMSG as
 * store_get(). */
int chunklist_load(struct store *s, const struct oid *id, struct chunklist *ret,
		   struct err *err);

/* --- holes of a file: those that its file system reports, and runs of zeros in
 * its bytes --- */

/* Finds the next range from pos on that may hold data, in whole blocks of
 * HOLE_ALIGN. False: only a hole is left, and *ret_start is the end of the
 * file. */
bool hole_next_data(int fd, uint64_t pos, uint64_t *ret_start,
		    uint64_t *ret_end);

/* Number of zero bytes at the start of data, in whole blocks of HOLE_ALIGN.
 * data begins at a block border; the last block may be short. */
size_t hole_zeros_len(const unsigned char *data, size_t len);
/* Number of bytes before the first block of zeros. */
size_t hole_data_len(const unsigned char *data, size_t len);

#endif
