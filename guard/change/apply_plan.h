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
#include "guard/change/plan_summary.h"
#include "guard/resolve_run.h"

/* The home's part of it, when paths there were named. */
struct apply_home {
	char **only; /* what is looked at */
	struct project project;
	struct snapshot before; /* also the base */
	struct entry want;
	struct plan plan;
};

/* A folder beside the project. */
struct apply_extra {
	struct project project;
	struct snapshot base, before; /* as the project's own */
	struct entry want;
	struct plan plan;
	/* Part of want, chosen thing by thing, or NULL: see apply_plan_make().
	 */
	const struct entry *picked;
	bool git_picked;
};

struct apply_plan {
	struct context *c;
	struct resolved_run *p; /* its session is locked, or live */
	struct changes changes; /* against the real files */
	struct snapshot base; /* root: with what was applied before */
	struct snapshot before; /* the project at the last look */
	struct project project;
	struct entry want; /* as the run left it */
	struct plan plan;
	struct apply_home home;
	struct apply_extra *extras; /* of the session's; NULL: not loaded */
	struct plan_counts counts; /* of all plans */
	bool changed_since; /* the layer is not what the run left */
	bool result_is_stored; /* nobody has been at it since: it was not read
				  again */
	bool is_complete; /* the plan is of want as a whole */
	/* Of the project: plan_options.agreed; to free. */
	char **agreed;
	bool may_be_partial; /* nobody asks for more of the project than the
			      * plan
			      */
	char **only; /* all of it that is looked at; NULL: everything */
	struct differences differences; /* of base and want, when whole */
};

#define APPLY_PLAN_NONE                                                        \
	{                                                                      \
		.changes = CHANGES_NONE,                                       \
		.project = {.fd = -1, .workspace_fd = -1, .lock_fd = -1},      \
		.home =                                                        \
		{.project = {.fd = -1, .workspace_fd = -1, .lock_fd = -1} }    \
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

void apply_plan_unlock(struct apply_plan *a);
int apply_plan_refresh(struct apply_plan *a, struct err *err);

/* want: a->want, or a part of it; git_picked: it has those things of a .git,
 * and no others, that are wanted, each by itself. A plan that was made before
 * goes away. */
int apply_plan_make(struct apply_plan *a, const struct entry *want,
		    enum plan_resolve resolve, bool git_picked,
		    struct err *err);

/* For a dry run: the errors of apply_plan_execute() that can be told before. */
int apply_plan_check(struct apply_plan *a, struct err *err);

/* whole: the plan is of all that the run changed. *ret_after: the snapshot of
 * what it left. */
int apply_plan_execute(struct apply_plan *a, bool complete, bool git,
		       uint64_t *ret_after, struct err *err);

/* The plans of all folders, with their prefixes: the project's first, the
 * home's last. *ret: to free; how many. */
size_t apply_plan_list(struct apply_plan *a, struct plan ***ret);
/* Something is to be done in one of them. */
bool apply_plan_has_steps(struct apply_plan *a);

/* apply_extra.c: the folders beside the project. base: loaded already. */
int apply_extra_load_base(struct apply_plan *a, struct err *err);
int apply_extra_refresh(struct apply_plan *a, struct err *err);
int apply_extra_load_want(struct apply_plan *a, struct err *err);
int apply_extra_make_plans(struct apply_plan *a, enum plan_resolve resolve,
			   struct err *err);
int apply_extra_record(struct apply_plan *a, const struct action *action,
		       struct err *err);
void apply_extra_unlock(struct apply_plan *a);
void apply_extra_free(struct apply_plan *a);

/* The tree that the run left in a folder: from the store where nobody has been
 * at its layer since (1), else it is read (0), and where paths were named no
 * more of it than is about them. seq: of its stored result, or 0; paths: those
 * in that folder, NULL: none. */
int apply_plan_load_want(struct apply_plan *a, const struct entry *base,
			 int upper_fd, const struct change_list *list,
			 uint64_t seq, char **paths, struct entry *ret,
			 struct err *err);
/* Says what of it is not as the run left it; prefix of the paths. */
int apply_plan_compare(struct apply_plan *a, const struct entry *base,
		       const struct entry *want, uint64_t seq,
		       const char *prefix, struct err *err);

/* applying_some.c: whether some paths may be all that is looked at, told from
 * what is known before the layer is read; and which ones. */
bool apply_partial_is_possible(const struct apply_plan *a);
int apply_partial_choose_paths(struct apply_plan *a, struct err *err);

/* apply_home.c: nothing where no path in the home was named. */
int apply_home_load(struct apply_plan *a, struct err *err);
int apply_home_refresh(struct apply_plan *a, struct err *err);
int apply_home_make_plan(struct apply_plan *a, enum plan_resolve resolve,
			 struct err *err);
void apply_home_free(struct apply_home *h);
/* Changes of the home that were not named and are worth a word. */
size_t apply_home_count_left(const struct apply_plan *a);

/* applying_say.c, for people: what is changed; what was done and what is left;
 * the status to end with, since conflict markers must not be missed. */
const char *apply_report_where(const struct apply_plan *a);
void apply_report_done(const struct apply_plan *a);
int apply_report_markers(struct apply_plan *a, bool done);
void apply_report_git_left(const struct apply_plan *a);
size_t apply_report_home_left(const struct apply_plan *a);

#endif
