/*
 * What a folder takes on disk: allocated bytes and entries. A file with
 * several names counts with its share at each. Nothing is opened up: what may
 * not be read, or lies deeper than 500 folders, is counted as unread.
 */
#ifndef GUARD_USAGE_H
#define GUARD_USAGE_H

#include <stdint.h>

struct usage {
	uint64_t bytes; /* allocated */
	uint64_t entries;
	uint64_t unread; /* folders that could not be read */
};

/* Adds what name in dirfd takes; nothing for what is not there. */
void usage_add(int dirfd, const char *name, struct usage *u);

#endif
