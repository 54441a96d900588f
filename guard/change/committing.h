/*
 * `apply --commit`: what was accepted of a run as one commit of the user's.
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

/* The objects, before anything is applied. want: what was accepted of it; only
 * the pick's paths. What is left out is said. dry: in memory alone. */
int committing_make(struct apply_plan *a, const struct committing_options *o,
		    bool dry, const struct entry *want, struct gitcommit **ret,
		    struct err *err);
/* The branch. What was applied before it stays: the error says so. */
int committing_point(const struct apply_plan *a, struct gitcommit *c,
		     bool applied, struct err *err);

#endif
