/*
 * The project before and after a run as trees in the store, for an ended run
 * whose lock is held (resolve_run_lock()).
 */
#ifndef GUARD_REVIEW_RUN_TREES_H
#define GUARD_REVIEW_RUN_TREES_H

#include "guard/change/changes.h"
#include "guard/state/context.h"
#include "guard/change/resolve_run.h"

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
 * Opens the store. -ENOTSUP: a path is in the home directory, and `what`
 * ("patches are") covers only the project; -ENOENT: a path does not exist;
 * -ENODATA: the files before the run were not stored.
 */
int run_trees_load(struct context *c, struct resolved_run *p, const char *what,
		   struct run_trees *ret, struct err *err);
void run_trees_free(struct run_trees *s);

#endif
