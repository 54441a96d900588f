/*
 * Changes by git in a repository between an action that included a .git and its
 * undo: refs become packed, and reflogs grow.
 */
#ifndef GUARD_CHANGE_UNDO_GIT_H
#define GUARD_CHANGE_UNDO_GIT_H

#include "guard/change/changeset.h"

/*
 * Before the plan of an undo from root->base to root->want: a ref that git has
 * packed since, without moving it, becomes a loose ref with its earlier id, a
 * reflog with newer entries stays as it is, and so do added objects; an index
 * with other file times is the one after the action. -EBUSY: HEAD or a packed
 * ref moved since.
 */
int undo_git_adjust(struct store *store, struct changeset_root *root,
		    struct err *err);

#endif
