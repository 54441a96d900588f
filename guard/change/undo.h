/*
 * The undo of actions (action.h), the newest first, and the redo of undone
 * ones, which is the undo of their undo.
 *
 *	undo_find()	the project
 *	undo_load()	the next action
 *	undo_plan()	the plans from the present state to that before the
 *			action; the roots are locked
 *	undo_execute()
 *	undo_free()
 *
 * An action that discarded a run or paths of one (action_is_discard()) has no
 * plan: undo_discard() does all of it. It moves a run back from the trash, or
 * paths of a run into its layer. A discard that can no longer be undone is
 * removed from the list of actions, because it would block the undo of all
 * actions before it.
 */
#ifndef GUARD_CHANGE_UNDO_H
#define GUARD_CHANGE_UNDO_H

#include "base/vec.h"
#include "guard/change/action.h"
#include "guard/change/changeset.h"
#include "restore/applied_ops.h"

struct undo {
	struct context *c;
	bool dry, yes;
	bool redo;
	bool by_run; /* the user names a run, not a number of actions */
	unsigned long count; /* actions to undo, or to redo */
	char *path; /* the project */
	/* The action to undo, or the undo to reverse. */
	struct action last;
	unsigned long step; /* actions undone before this one */
	/* The change of the action's roots from the state after the action to
	 * the state before it. */
	struct changeset change;
	/* Dry run: the changes that the steps before would have made. */
	VEC(struct applied_ops) simulated;
};

/* Unlocks the roots and frees all that *u owns; the context stays. */
void undo_free(struct undo *u);

/* Finds the directory whose actions to undo: the project, or the nearest
 * directory above it whose newest action changed a file of the project (by_run:
 * that has any action). -ENOENT: there is none; -EPERM: the actions above
 * changed nothing in the project. */
int undo_find(struct undo *u, struct err *err);
/* Loads the newest action in effect, or (redo) undone, or the one `back`
 * actions before it, in place of u->last. -ENOENT: there are fewer; -EPERM: the
 * action changed nothing in the project. */
int undo_load(struct undo *u, size_t back, struct err *err);
/* Whether redo could repeat an action; loads it, to free. */
bool undo_can_redo(const struct undo *u, struct action *ret);
/* Sets u->count so that all actions in effect of the run, an id or a name, are
 * undone; 0: all of its actions are undone already. -ENOENT: the run has no
 * action in the project; -EBUSY: actions in effect of other runs are newer. */
int undo_count_run(struct undo *u, const char *run, struct err *err);

/* -EBUSY: u->last is no longer the newest action: another guard process did
 * something while the user was asked, or the project waited for. */
int undo_check_last(const struct undo *u, int workspace_fd, struct err *err);
/* "apply of run fix-login", also for an undo of it; to free. */
char *undo_title(const struct action *a);

/* Stores the present state and plans each root. -ENODATA: the state after the
 * action was not stored; -EBUSY: another guard process has changed the project
 * since u->last was loaded, or works in it. */
int undo_plan(struct undo *u, struct err *err);
/* Executes the plans, records the undo as an action, sets the run's state and
 * reports it. A dry run finds the errors that are known before anything is
 * written; later steps are planned as if this one was executed. */
int undo_execute(struct undo *u, struct err *err);

/* ", guard undo goes one step further back", or "" where it cannot; to free. */
char *undo_further(const struct undo *u);
/* Names the commands that go back and forth, after the last step. */
void undo_hint(const struct undo *u);

/* The project's actions: workspace_open(). */
int undo_open_workspace(const struct undo *u, struct err *err);

/* undo_discard.c. Undoes a discard. Returns an exit status or a negative errno.
 */
int undo_discard(const struct undo *u, struct err *err);

#endif
