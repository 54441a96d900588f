/*
 * The undo of a discard: a run comes back out of the trash, or paths come back
 * into a run's layer. What cannot come back any more is forgotten, so that it
 * does not stand for ever in the way of what was done before it.
 */
#ifndef GUARD_CHANGE_UNDO_DISCARD_H
#define GUARD_CHANGE_UNDO_DISCARD_H

#include "guard/action.h"
#include "guard/context.h"

struct undo_discard {
	struct context *c;
	const char *path; /* the project */
	const struct action *last; /* what is taken back: action_is_discard() */
	bool dry, yes;
	unsigned long step; /* how many were taken back before it */
	bool more; /* are to be, after it */
};

/* -> status. */
int undo_discard(const struct undo_discard *u, struct err *err);

#endif
