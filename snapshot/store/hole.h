/* Holes of a file: those that its file system reports, and runs of zeros in its
 * bytes. */
#ifndef GUARD_SNAPSHOT_STORE_HOLE_H
#define GUARD_SNAPSHOT_STORE_HOLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
