/*
 * The undo of a discard: restores a run from the trash, or paths of a run into
 * its layer. A discard that can no longer be undone is removed from the list of
 * actions, because it would block the undo of all actions before it.
 */
#ifndef GUARD_CHANGE_UNDO_DISCARD_H
#define GUARD_CHANGE_UNDO_DISCARD_H

#include "guard/change/action.h"
#include "guard/state/context.h"

struct undo_discard {
	struct context *c;
	const char *path; /* the project */
	const struct action *last; /* the action to undo: action_is_discard() */
	bool dry, yes;
	unsigned long step; /* actions undone before this one */
	bool more; /* actions follow that are to be undone as well */
};

/* Returns the exit status or a negative errno. */
int undo_discard(const struct undo_discard *u, struct err *err);

#endif
