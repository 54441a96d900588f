/* Copies the content of one open file into another, empty one: as a reflink
 * where the file system supports it, else byte by byte, with holes kept. */
#ifndef GUARD_BASE_COPYBYTES_H
#define GUARD_BASE_COPYBYTES_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

/* Copies the first `size` bytes. A source that gets shorter during the copy is
 * filled up with zeros. should_continue (may be NULL) is called before every 8
 * MiB; its false ends the copy with -EINTR. */
int copybytes(int from, int to, off_t size, bool (*should_continue)(void *arg),
	      void *arg, struct err *err);

#endif
