/*
 * Files mapped for reading whose pages may fail. Reading a mapped page of a
 * file that was truncated, or of a disk with read errors, kills a process with
 * SIGBUS. Here such a page reads as zeros, and the mapping records the failure.
 * Callers have checks that zeros do not pass, or ask mapping_failed() before
 * they trust the bytes.
 *
 * The first mapping installs a handler for SIGBUS; a fault at any other address
 * ends the process as before. Thread-safe.
 */
#ifndef GUARD_SNAPSHOT_STORE_MAPPING_H
#define GUARD_SNAPSHOT_STORE_MAPPING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mapping;

/* Maps len bytes of the file from an offset at a page border. NULL with errno.
 */
struct mapping *mapping_new(int fd, uint64_t at, size_t len);
/* Opens name in dirfd, a regular file of min to max bytes, and maps it. NULL
 * with errno: EINVAL for another kind or size of file. */
struct mapping *mapping_open(int dirfd, const char *name, size_t min,
			     size_t max, size_t *ret_len);
void mapping_free(struct mapping **m);
const unsigned char *mapping_data(const struct mapping *m);

/* Whether a page could not be read since the mapping was made. */
bool mapping_failed(const struct mapping *m);

#endif
