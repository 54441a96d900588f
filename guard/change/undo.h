/*
 * The undo of actions (action.h), the newest first.
 *
 *	undo_find()	the project and its last action, or
 *	undo_load()	one of several actions that are undone one by one
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
	/* The number of actions in effect to undo; 0: the last action. */
	unsigned long count;
	char *path; /* the project */
	struct action last; /* the action to undo */
	unsigned long step; /* actions undone before this one */
	/* The change of the action's roots from the state after the action to
	 * the state before it. */
	struct changeset change;
	/* Dry run: the changes that the steps before would have made. */
	VEC(struct applied_ops) simulated;
};

/* Unlocks the roots and frees all that *u owns; the context stays. */
void undo_free(struct undo *u);

/* Loads the last action of the project here, or of the nearest directory above
 * that guard has changed. -ENOENT: there is none. */
int undo_find(struct undo *u, struct err *err);
/* Loads the newest action in effect, or the one `back` actions before it, in
 * place of u->last. -ENOENT: there are fewer. */
int undo_load(struct undo *u, size_t back, struct err *err);

/* "apply of run 3mk9zq-4t", "undo of the restore"; to free. */
char *undo_title(const struct action *a);

/* Stores the present state and plans each root. -ENODATA: the state after the
 * action was not stored; -EBUSY: another guard process has changed the project
 * since u->last was loaded, or works in it. */
int undo_plan(struct undo *u, struct err *err);
/* Executes the plans, records the undo as an action, sets the run's state and
 * reports it. A dry run finds the errors that are known before anything is
 * written; later steps are planned as if this one was executed. */
int undo_execute(struct undo *u, struct err *err);

/* undo_discard.c. Returns an exit status or a negative errno. */
int undo_discard(const struct undo *u, struct err *err);

#endif
