/*
 * `apply --commit`: the accepted changes of a run as one commit of the user's.
 */
#ifndef GUARD_CHANGE_COMMITTING_H
#define GUARD_CHANGE_COMMITTING_H

#include "guard/change/apply_plan.h"
#include "restore/git/gitcommit.h"

struct committing_options {
	bool on;
	/* NULL: HEAD's; else nothing but that branch is changed. */
	const char *branch;
	const char *message; /* NULL: the run and its command */
};

/* Creates the objects, before any change is applied. want: the tree with the
 * accepted changes; only the pick's paths are used. Skipped paths are reported.
 * dry: in memory only. */
int committing_make(struct apply_plan *a, const struct committing_options *o,
		    bool dry, const struct entry *want, struct gitcommit **ret,
		    struct err *err);
/* Moves the branch. Changes that were applied before this step stay, and the
 * error says so. */
int committing_point(const struct apply_plan *a, struct gitcommit *c,
		     bool applied, struct err *err);

#endif
