/*
 * Recovery after a crash: ends an interrupted transaction or discard, closes
 * directories that guard has opened for itself, and corrects the state of the
 * run that it was about.
 */
#ifndef GUARD_CHANGE_RECOVER_H
#define GUARD_CHANGE_RECOVER_H

#include "guard/change/action.h"
#include "guard/state/context.h"

/*
 * The title of the action that was interrupted in a project ("apply of run x"),
 * to free. NULL: there is none, only its record is missing, or another guard
 * process is working on it. *ret_back: the action will be rolled back, not
 * finished.
 */
char *recover_unfinished(const struct context *c, const char *project,
			 bool *ret_back);

/*
 * If a transaction on the directory was interrupted: finishes it or rolls it
 * back, reports that, and corrects the run's state. An interrupted discard is
 * ended. Returns 1: finished, 2: rolled back, 3: a discard, 0: there was none.
 * -EBUSY: the directory is in use by another guard process.
 */
int recover_project(struct context *c, const char *project, struct err *err);

/*
 * Sets the state of a run after an apply: applied if complete, or if its layers
 * have no change left but in a .git and in caches of the home directory; else
 * ended. The state of a live run is left alone.
 */
int recover_set_run_state(struct context *c, struct session *s, bool complete,
			  struct err *err);
/* The same after an undo or a redo. */
int recover_set_undone_state(struct context *c, struct session *s,
			     const struct action *a, bool complete,
			     struct err *err);

#endif
