/*
 * Worktrees of git among the changes of a run. A worktree is two directories
 * that name each other: its files, with a .git that is a file, and a directory
 * below worktrees/ of the repository. Lists have one line for both, and an
 * apply takes both or neither.
 *
 * A directory is a worktree only if both sides are exactly what `git worktree
 * add` writes, after the run or before it, and the repository is in a root of
 * the run. All other directories are judged and listed file by file.
 *
 *	changes_load()		finds them, and sets CHANGES_WORKTREE
 *	worktrees_count()	fills in the numbers, and sets CHANGES_CHECKOUT
 *	worktrees_show()	lists their files after all
 */
#ifndef GUARD_CHANGE_WORKTREES_H
#define GUARD_CHANGE_WORKTREES_H

#include "guard/change/changes.h"

/* Fills in the lists of all roots. */
void worktrees_find(const struct session *s, struct changes *c);
void worktrees_count(const struct changes_root *root);
/* The files were there before the run, at the same path. */
bool worktrees_is_old(const struct worktree *w);
/* Whether the path is left to a worktree that no path names. */
bool worktrees_leave(const struct changes_root *root, const char *path);
/* The path by whose name a file of a worktree is judged, to free; NULL: its
 * own. */
char *worktrees_judged_path(const struct changes_root *root, const char *path);
/* Whether one of the paths is the worktree's, or in it. */
bool worktrees_named(const struct worktree *w, char *const *paths);
/* Lists the changes of all worktrees by themselves. */
void worktrees_show(struct changes *c);
/* Appends "branch x, 3 commits, 12 files". */
void worktrees_text(const struct worktree *w, struct buf *to);

#endif
