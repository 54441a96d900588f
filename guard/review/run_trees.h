/*
 * The two sides of a run as trees in the store: the project before it, and
 * what it left. Of an ended run, whose lock is held (resolve_run_lock()).
 */
#ifndef GUARD_REVIEW_RUN_TREES_H
#define GUARD_REVIEW_RUN_TREES_H

#include "guard/changes.h"
#include "guard/context.h"
#include "guard/resolve_run.h"

struct run_trees {
	struct changes changes;
	struct snapshot base;
	struct entry result;
};

#define RUN_TREES_NONE                                                         \
	{                                                                      \
		.changes = CHANGES_NONE                                        \
	}

/*
 * Opens the store for it. -ENOTSUP: a path lies in the home folder, and what
 * ("patches are") is of the project only; -ENOENT: a path is nothing;
 * -ENODATA: the files before the run were not stored.
 */
int run_trees_load(struct context *c, struct resolved_run *p, const char *what,
		   struct run_trees *ret, struct err *err);
void run_trees_free(struct run_trees *s);

#endif
