/*
 * Changes as lists for people, on a stream: deletions first and complete, what
 * was moved (changes_find_moves()), the rest by kind, .git summed up, the
 * home's caches folded to a number.
 */
#ifndef GUARD_CLI_LISTING_H
#define GUARD_CLI_LISTING_H

#include <stdio.h>

#include "guard/changes.h"

/* Every section that has something in it. */
void listing_print(struct changes *c, FILE *to);

/* The deletions, but that a folder that went with many files is one line. */
void listing_deleted(const struct change_list *list, FILE *to);

/* What was moved; what went with its folder is told by that in one line. most:
 * so many lines, then how many more there are; 0: all. How many files and
 * folders in all. to NULL: nothing is printed. */
size_t listing_moved(const struct change_list *list, size_t most, FILE *to);

/* Says so where more may have been moved than was found. */
void listing_more_moves(const struct change_list *list, FILE *to);

#endif
