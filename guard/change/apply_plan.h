/*
 * The apply of a run, shared by apply, apply -p and review.
 *
 *	apply_plan_lock()	the run
 *	apply_plan_load()	the base, wanted and present trees of each root;
 *				the roots are locked
 *	apply_plan_make()	the plans: of the wanted trees, or of the parts
 *				that were accepted
 *	changeset_unlock()	while the user reviews: other guard processes
 *				may work in the project
 *	apply_plan_refresh()	locks the roots again and stores them as they
 *				are now; plan again after it
 *	apply_plan_execute()
 *	apply_plan_free()
 *
 * After apply_plan_load() the run's layers are not read again, so that the
 * trees that are shown, planned and applied are the same.
 */
#ifndef GUARD_CHANGE_APPLY_PLAN_H
#define GUARD_CHANGE_APPLY_PLAN_H

#include "guard/change/changes.h"
#include "guard/state/context.h"
#include "guard/change/changeset.h"
#include "guard/change/consent.h"
#include "guard/change/resolve_run.h"

struct apply_plan {
	struct context *c;
	struct resolved_run *p; /* the session is locked, or live */
	struct changes changes; /* the base and the result of each root */
	/*
	 * In the order of changes.roots, the home directory last; empty until
	 * apply_plan_load(). base: the root when the run began, with later
	 * applies of the run in it. The home directory is not stored at the
	 * begin of a run: its present state takes the place of the base, and
	 * only named paths of it are applied.
	 */
	struct changeset change;
	struct consent consent; /* to critical changes and refusals */
	/* With the run's commits, see apply_commits.h: also of an applied run,
	 * and the plan contains the project's .git. */
	bool commits;
	/* A part was left out and named, because its directory is gone, or
	 * another file system. */
	bool left;
	bool worktrees_left; /* the run stays pending with them */
	/* The caller reads no more of the project than the plan does. */
	bool may_be_partial;
	struct differences
		differences; /* between the project's base and want */
};

#define APPLY_PLAN_NONE                                                        \
	{                                                                      \
		.changes = CHANGES_NONE                                        \
	}

/* Unlocks the roots and frees all that *a owns; p and c stay. */
void apply_plan_free(struct apply_plan *a);

/* Locks the run as resolve_run_lock() does. A run that is still running is not
 * locked and no error: apply_plan_load() suspends it while it reads the layer,
 * and the changes until then are applied. The user's own edits are shown to
 * it. */
int apply_plan_lock(struct context *c, struct resolved_run *p, struct err *err);

/* -EALREADY: the run is applied, and no paths were named; -ENOENT: it was
 * discarded; -ENODATA: the files before the run were not stored; -EBUSY: the
 * project is in use by another guard process. */
int apply_plan_load(struct apply_plan *a, struct err *err);

/* The absolute path of a root, numbered as in changes.roots. */
const char *apply_plan_root_path(const struct apply_plan *a, size_t index);
/* Adds the root to an error, unless that is about the project's. */
int apply_plan_name_root(const struct apply_plan *a, size_t index,
			 struct err *err);
/* Whether the user leaves out changes that the plans would make. */
bool apply_plan_has_exceptions(const struct apply_plan *a);

/* Locks and stores the roots that are not open. */
int apply_plan_refresh(struct apply_plan *a, struct err *err);

/* Plans every root: its wanted tree, or the accepted part. Earlier plans are
 * freed. */
int apply_plan_make(struct apply_plan *a, enum plan_resolve resolve,
		    struct err *err);

/* Leaves out the other half of each move with a half that the plans leave out,
 * unless the user wants single halves. true: plan again. */
bool apply_plan_leave_halves(struct apply_plan *a);
/* -EXDEV, unless the user wants single halves: the plans make one end of a move
 * from one root to another, and leave the other end pending, because no path of
 * the home directory was named or the end was not accepted in a review. The
 * text names the command that takes both. */
int apply_plan_check_halves(struct apply_plan *a, struct err *err);
/* Whether the plans make this end of a move (from: the old path) and leave the
 * other one pending. */
bool apply_plan_is_half(const struct apply_plan *a,
			const struct changes_across *m, bool from);

/* Executes the plans, records them in the run's apply log and sets its state.
 * complete: the plans are of all that the run changed. git: paths in a .git
 * were named. *ret_after: the sequence number of the project's snapshot
 * afterwards. */
int apply_plan_execute(struct apply_plan *a, bool complete, bool git,
		       uint64_t *ret_after, struct err *err);

/* The number of changes of the home directory that were not named and are not
 * in a cache. */
size_t apply_plan_home_left(const struct apply_plan *a);

#endif
