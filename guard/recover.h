/*
 * An end to what was interrupted: a transaction, a discard, folders that were
 * opened for guard to look into, and the state of the run that it was about.
 */
#ifndef GUARD_RECOVER_H
#define GUARD_RECOVER_H

#include "guard/action.h"
#include "guard/context.h"

/*
 * What was interrupted in the middle there, for people ("apply of run x"), to
 * free; NULL: nothing, or all of it is done but for noting that, or a guard is
 * at work on it just now. *ret_back: it is being taken back, and will not be
 * finished.
 */
char *recover_unfinished(const struct context *c, const char *project,
			 bool *ret_back);

/*
 * If a transaction on that folder was interrupted: finishes it or takes it
 * back, says so on stderr, and brings the run's state in order. 1 finished,
 * 2 taken back, 0 when there was nothing; -EBUSY: another guard is at work
 * there just now.
 */
int recover_project(struct context *c, const char *project, struct err *err);

/*
 * The state a run has after an apply: applied when whole, or when nothing is
 * left in its layers outside of a .git and of the home's caches; else ended.
 */
int recover_set_run_state(struct context *c, struct session *s, bool complete,
			  struct err *err);
/* The same after an undo, or after one of an undo. */
int recover_set_undone_state(struct context *c, struct session *s,
			     const struct action *a, struct err *err);

#endif
