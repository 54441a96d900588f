/*
 * Changes as lists for people, on a stream: first all deletions, then moves
 * (changes_find_moves()), the others by kind, .git summarized, caches of the
 * home as a number.
 */
#ifndef GUARD_CLI_LISTING_H
#define GUARD_CLI_LISTING_H

#include <stdio.h>

#include "guard/change/changes.h"

/* Every section that has something in it. */
void listing_print(struct changes *c, FILE *to);

/* The deletions; a directory that was deleted with many files is one line. */
void listing_deleted(const struct changes_root *g, FILE *to);

/* The moves; entries that moved with their directory are in its line. most: the
 * number of lines, followed by the number of the others; 0: all. Returns the
 * number of moved files and directories. to: NULL prints nothing. */
size_t listing_moved(const struct changes_root *g, size_t most, FILE *to);

/* Says so where more may have been moved than was found. */
void listing_more_moves(const struct change_list *list, FILE *to);

#endif
