/*
 * The text part of `guard diff`: what changed within files, escaped.
 */
#ifndef GUARD_DIFFTEXT_H
#define GUARD_DIFFTEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "overlay/scan.h"

/* Files above this are named with their sizes only. */
#define DIFFTEXT_MAX (1u << 20)

/*
 * Prints the difference of one change on stdout: files as hunks, links as
 * their targets; nothing for folders, deletions and the like. What cannot be
 * shown (binary, too large, unreadable) is said in a line.
 */
void difftext_print(const struct change *c, int upper_fd, int lower_fd);

struct difftext_stat {
	size_t added, removed;
	bool text; /* false: no text, or not read */
};
/* The counted lines; for a deleted file its lines. */
void difftext_count(const struct change *c, int upper_fd, int lower_fd,
		    struct difftext_stat *ret);

#endif
