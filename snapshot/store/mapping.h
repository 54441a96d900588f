/*
 * Files mapped for reading, which may fail under us: what is cut off behind
 * our back, or lies on a disk that cannot be read, kills a process by SIGBUS
 * when it is touched. Here such a page reads as zeros from then on, and the
 * mapping says that it failed. Whoever uses the bytes has checks that zeros
 * do not pass, or asks mapping_failed() before he relies on them.
 *
 * A handler for SIGBUS is installed with the first mapping; faults elsewhere
 * end the process as ever. Thread-safe.
 */
#ifndef GUARD_SNAPSHOT_STORE_MAPPING_H
#define GUARD_SNAPSHOT_STORE_MAPPING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mapping;

/* The first len bytes of the file; at_once: read it now. NULL with errno. */
struct mapping *mapping_new(int fd, size_t len, bool at_once);
/* The same from a byte on where a page begins. */
struct mapping *mapping_new_at(int fd, uint64_t at, size_t len);
void mapping_free(struct mapping **m);
const unsigned char *mapping_data(const struct mapping *m);
bool mapping_failed(const struct mapping *m);

#endif
