/*
 * An apply from the run to the plan: what apply, its -p and review share.
 *
 *	apply_plan_load()		the three sides; the project is locked
 *	apply_plan_make()		of want, or of what was picked of it
 *	apply_plan_unlock()	while somebody thinks about it: others may
 *				work in the project meanwhile
 *	apply_plan_refresh()		locked again, as it is now
 *	apply_plan_execute()	does what the plan says
 *
 * From apply_plan_load() on nobody reads the run's layer any more: what is
 * shown, planned and done is the tree in the store.
 */
#ifndef GUARD_CHANGE_APPLY_PLAN_H
#define GUARD_CHANGE_APPLY_PLAN_H

#include "guard/changes.h"
#include "guard/context.h"
#include "guard/change/changeset.h"
#include "guard/resolve_run.h"

/* One directory of the run: the project, one of --cow, or the home directory,
 * of which only named paths are applied. */
struct apply_root {
	/* As it was when the run began, with what was applied since; of the
	 * home directory nothing was stored then: `before` stands for it. */
	struct snapshot base;
	struct entry want; /* as the run left it */
	/* The part of want that was accepted in a review; NULL: all of it. */
	const struct entry *picked;
	/* picked has the accepted entries of a .git, each by itself. */
	bool git_picked;
	/* The only paths that are read; NULL: all. */
	char **only;
};

struct apply_plan {
	struct context *c;
	struct resolved_run *p; /* its session is locked, or live */
	struct changes changes; /* against the real files */
	/* Both in the order of changes.roots; empty until apply_plan_load(). */
	struct changeset change;
	struct apply_root *roots;
	bool changed_since; /* the layer is not what the run left */
	/* The project's result is in the store, and its layer unchanged since.
	 */
	bool result_is_stored;
	/* Of the project: plan_options.agreed; to free. */
	char **agreed;
	/* The caller reads no more of the project than the plan does. */
	bool may_be_partial;
	struct differences differences; /* of the project's base and want */
};

#define APPLY_PLAN_NONE                                                        \
	{                                                                      \
		.changes = CHANGES_NONE                                        \
	}

void apply_plan_free(struct apply_plan *a);

/* resolve_run_lock(), unless the run is still going: it is held still while its
 * layer is read (apply_plan_load()), and what it had done by then is applied.
 */
int apply_plan_lock(struct context *c, struct resolved_run *p, struct err *err);

/* -EALREADY: it is applied, and no paths were named; -ENOENT: discarded;
 * -ENODATA: what was before the run is not known; -EBUSY: another guard is at
 * work in the project. */
int apply_plan_load(struct apply_plan *a, struct err *err);

int apply_plan_refresh(struct apply_plan *a, struct err *err);

/* Plans every root: want, or what was picked of it. A plan that was made before
 * is freed. */
int apply_plan_make(struct apply_plan *a, enum plan_resolve resolve,
		    struct err *err);

/* whole: the plan is of all that the run changed. *ret_after: the snapshot of
 * what it left. */
int apply_plan_execute(struct apply_plan *a, bool complete, bool git,
		       uint64_t *ret_after, struct err *err);

/* apply_partial.c: whether some paths of the project may be all that is read,
 * as far as is known before the layer is; and which ones. */
bool apply_partial_is_possible(const struct apply_plan *a);
int apply_partial_choose_paths(struct apply_plan *a, struct err *err);

/* apply_home.c: the changes of the home directory that were named, as a list
 * whose items are to be freed and whose strings are the changes' own; and the
 * paths of the real home directory that they are about. */
struct change_list apply_home_named_changes(const struct apply_plan *a);
char **apply_home_paths_to_read(const struct change_list *named);
/* How many others there are that are no caches. */
size_t apply_home_count_left(const struct apply_plan *a);

/* apply_report.c, for people: what is changed; what was done and what is left;
 * the status to end with, since conflict markers must not be missed. */
const char *apply_report_where(const struct apply_plan *a);
void apply_report_done(const struct apply_plan *a);
int apply_report_markers(struct apply_plan *a, bool done);
void apply_report_git_left(const struct apply_plan *a);
size_t apply_report_home_left(const struct apply_plan *a);

#endif
