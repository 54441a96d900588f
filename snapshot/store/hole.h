/*
 * Where a file has holes: as its file system says, and in its bytes.
 */
#ifndef GUARD_SNAPSHOT_STORE_HOLE_H
#define GUARD_SNAPSHOT_STORE_HOLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The next stretch of the file that is not known to be a hole, from pos on,
 * in whole blocks of HOLE_ALIGN. False: nothing but a hole is left, and
 * *ret_start is where the file ends.
 */
bool hole_next_data(int fd, uint64_t pos, uint64_t *ret_start,
		    uint64_t *ret_end);

/* How many bytes at the start of data are zeros, in whole blocks of
 * HOLE_ALIGN: data begins on a border of one, the last may be short. */
size_t hole_zeros_len(const unsigned char *data, size_t len);
/* How many bytes are before the first such block. */
size_t hole_data_len(const unsigned char *data, size_t len);

#endif
