/*
 * Changes as lists for people: first all deletions, then moves
 * (changes_find_moves()), the others by kind, .git summarized, folds
 * (guard/review/fold.h), caches of the home and noise as a number.
 */
#ifndef GUARD_CLI_LISTING_H
#define GUARD_CLI_LISTING_H

#include "guard/change/changes.h"
#include "guard/cli/styled.h"
#include "guard/review/fold.h"

/* Every section that has something in it. views: one with folds for each root.
 */
void listing_print(struct changes *c, const struct view *views,
		   struct styled *to);
/* The same without risks and losses, which are not judged. */
void listing_print_plain(struct changes *c, struct styled *to);

/* The row of a directory and of the changes folded in it. */
void listing_fold(const struct view *v, const struct fold *fold,
		  struct styled *to);
/* The deletions of one root, and how many lines they are. to: NULL prints
 * nothing. */
size_t listing_deleted(const struct view *v, struct styled *to);

/* One line for each worktree with its files in the root. */
void listing_worktrees(const struct changes_root *g, bool title,
		       struct styled *to);

/* One line for each directory with entries outside of .git that keep their
 * owner and get another group (changes_group_alone()). prefix: before the
 * paths. Returns the number of the entries. to: NULL prints nothing. */
size_t listing_groups(const struct change_list *list, const char *prefix,
		      struct styled *to);

/* The moves; entries that moved with their directory are in its line. most: the
 * number of lines, followed by the number of the others; 0: all. Returns the
 * number of moved files and directories. to: NULL prints nothing. */
size_t listing_moved(const struct change_list *list, const char *prefix,
		     size_t most, struct styled *to);

/* Says so where more may have been moved than was found. */
void listing_more_moves(const struct change_list *list, struct styled *to);

#endif
