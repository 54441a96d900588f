/*
 * How far something long has come, on one line of stderr that is written anew:
 * only on a terminal, only after a second, not when quiet.
 */
#ifndef GUARD_PROGRESS_H
#define GUARD_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
	const char *verb; /* "verify": what is going on */
	double start, last; /* seconds */
	bool shown;
};

void progress_start(struct progress *p, const char *verb);
/* done of total bytes; total 0: not known. Cheap; call it often. */
void progress_bytes(struct progress *p, uint64_t done, uint64_t total);
/* Clears the line, so that something else can be said. */
void progress_end(struct progress *p);

#endif
