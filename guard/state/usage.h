/*
 * Disk usage of a directory: allocated bytes and entries. Each hard link of a
 * file counts with its share; other file systems mounted below do not count. No
 * permission is changed: an unreadable directory, or one deeper than 500
 * levels, is counted as unread.
 */
#ifndef GUARD_STATE_USAGE_H
#define GUARD_STATE_USAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/timestamp.h"

struct usage {
	uint64_t bytes; /* allocated */
	uint64_t entries;
	uint64_t unread; /* directories that could not be read */
	/* Unless 0: the count ends above one of these. */
	uint64_t most_bytes, most_entries;
	/* Unless NULL: the count ends at an entry whose ctime is not older. */
	const struct timestamp *since;
	bool changed; /* there was one */
};

/* Whether the count ended early. */
bool usage_is_above(const struct usage *u);

/* Adds the usage of `name` in dirfd; nothing when it does not exist. */
void usage_add(int dirfd, const char *name, struct usage *u);

#endif
