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

/* Maps the first len bytes of the file; at_once reads them immediately. NULL
 * with errno. */
struct mapping *mapping_new(int fd, size_t len, bool at_once);
/* As mapping_new(), from an offset at a page border. */
struct mapping *mapping_new_at(int fd, uint64_t at, size_t len);
void mapping_free(struct mapping **m);
const unsigned char *mapping_data(const struct mapping *m);

/* Whether a page could not be read since the mapping was made. */
bool mapping_failed(const struct mapping *m);

#endif
