/*
 * An applied change is no change of its run any more: an apply moves the run's
 * base, path by path, to the run's version of the applied paths. The moved base
 * is a snapshot (APPLIED_BASE), whose number the run's directory holds
 * (session_root.applied). The changes of the run are the delta of this base and
 * its result.
 *
 * The base gets the run's version also where a merge with edits of the user was
 * written: their lines are no change of the run. The base stays where conflict
 * markers were written. It moves where the user kept the own version.
 *
 * An undo moves the base back, and a redo forth, for the paths that the action
 * moved. The record of the action names the snapshots (action.bases).
 *
 * Where a late base is taken after an apply (the home directory, a directory
 * that was not stored), snapshots of the applied paths alone tell guard's own
 * changes from those of the user.
 */
#ifndef GUARD_CHANGE_APPLIED_BASE_H
#define GUARD_CHANGE_APPLIED_BASE_H

#include "guard/change/action.h"
#include "guard/state/context.h"
#include "overlay/session.h"
#include "restore/plan/lookup.h"
#include "restore/plan/plan.h"
#include "snapshot/tree/catalog.h"

/* The number of the base that a root's result is compared with. */
uint64_t applied_base_seq(const struct session *s, size_t root);

/* Stores the base as it is after the plan, and adds it to a->bases. base: the
 * present one; wanted: the tree that the plan leads to. */
int applied_base_move(struct store *store, const struct session *s, size_t root,
		      const struct snapshot *base, const struct plan *plan,
		      const struct entry *wanted, struct action *a,
		      struct err *err);
/* The same for a root without a base of its own: what guard leaves there (now:
 * in place of which state). */
int applied_base_move_left(struct store *store, const struct session *s,
			   size_t root, const struct snapshot *now,
			   const struct plan *plan, const struct entry *wanted,
			   struct action *a, struct err *err);
/* Stores a base of the root. like: a snapshot of the same directory. */
int applied_base_add(struct store *store, const struct session *s, size_t root,
		     const struct entry *tree, const struct snapshot *like,
		     uint64_t *ret, struct err *err);
/* Makes the missing directories above the path, as the tree has them. Returns
 * 0; or the length of the path up to an entry that is no directory there. */
int applied_base_dirs_above(struct tree_editor *editor, struct lookup *tree,
			    const char *path, struct err *err);
/* Sets the path to the tree's entry; of a directory without its entries. The
 * directories above it are made if they are missing. */
int applied_base_copy(struct tree_editor *editor, struct lookup *tree,
		      const char *path, struct err *err);
/* In *to, sets all paths in which two trees differ to the entries of the first
 * one. */
int applied_base_copy_different(struct store *store, const struct entry *from,
				const struct entry *other, struct entry *to,
				struct err *err);
/* For the undo or redo of an action: stores the bases with the paths that the
 * action moved as before it, and adds them to a->bases. */
int applied_base_move_back(struct store *store, const struct session *s,
			   const struct action *undone, struct action *a,
			   struct err *err);
/* Writes the bases that the action leads to into the run's directory, if there
 * is one. *run: the run, opened here, to free when the set is published. to: as
 * of session_put_applied(). */
int applied_base_put(const struct state *state, const struct action *a,
		     struct session *run, struct atomic_set *to,
		     struct err *err);

/* Removes the notes NOTE_MOVED of paths that are as guard left them. */
int applied_base_filter_notes(struct store *store, const struct session *s,
			      size_t root, struct snapshot *now,
			      struct err *err);

#endif
