/*
 * Changes as lists for people, on a stream: first all deletions, then moves
 * (changes_find_moves()), the others by kind, .git summarized, folds
 * (guard/review/fold.h), caches of the home and noise as a number.
 */
#ifndef GUARD_CLI_LISTING_H
#define GUARD_CLI_LISTING_H

#include <stdio.h>

#include "guard/change/changes.h"
#include "guard/review/fold.h"

/* The folds of a section: those of a kind, and single entries of a kind. */
struct listing_section {
	enum fold_kind fold; /* FOLD_NONE: no fold */
	int entry; /* enum change_kind; -1: no entry */
	const char *title;
};

bool listing_in_section(const struct view *v, const struct fold *fold,
			const struct listing_section *section);

/* Every section that has something in it. views: one with folds for each root.
 */
void listing_print(struct changes *c, const struct view *views, FILE *to);
/* The same without risks and losses, which are not judged. */
void listing_print_plain(struct changes *c, bool full, FILE *to);

/* The deletions of one root, and how many lines they are. to: NULL prints
 * nothing. */
size_t listing_deleted(const struct view *v, FILE *to);

/* The moves; entries that moved with their directory are in its line. most: the
 * number of lines, followed by the number of the others; 0: all. Returns the
 * number of moved files and directories. to: NULL prints nothing. */
size_t listing_moved(const struct changes_root *g, size_t most, FILE *to);

/* Says so where more may have been moved than was found. */
void listing_more_moves(const struct change_list *list, FILE *to);

#endif
