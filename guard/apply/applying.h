/*
 * An apply from the run to the plan: what apply, its -p and review share.
 *
 *	applying_load()		the three sides; the project is locked
 *	applying_plan()		of want, or of what was picked of it
 *	applying_leave()	while somebody thinks about it: others may
 *				work in the project meanwhile
 *	applying_look()		locked again, as it is now
 *	applying_carry()	does what the plan says
 *
 * From applying_load() on nobody reads the run's layer any more: what is
 * shown, planned and done is the tree in the store.
 */
#ifndef GUARD_APPLY_APPLYING_H
#define GUARD_APPLY_APPLYING_H

#include "guard/changes.h"
#include "guard/context.h"
#include "guard/past/carry.h"
#include "guard/resolve_run.h"

/* The home's part of it, when paths there were named. */
struct applying_home {
	char **only; /* what is looked at */
	struct project project;
	struct snapshot before; /* also the base */
	struct entry want;
	struct plan plan;
};

/* A folder beside the project. */
struct applying_extra {
	struct project project;
	struct snapshot base, before; /* as the project's own */
	struct entry want;
	struct plan plan;
	/* Part of want, chosen thing by thing, or NULL: see applying_plan(). */
	const struct entry *picked;
	bool git_picked;
};

struct applying {
	struct context *c;
	struct resolved_run *p; /* its session is locked, or live */
	struct changes changes; /* against the real files */
	struct snapshot base; /* root: with what was applied before */
	struct snapshot before; /* the project at the last look */
	struct project project;
	struct entry want; /* as the run left it */
	struct plan plan;
	struct applying_home home;
	struct applying_extra *extras; /* of the session's; NULL: not loaded */
	struct carry_counts counts; /* of all plans */
	bool changed_since; /* the layer is not what the run left */
	bool as_stored; /* nobody has been at it since: it was not read again */
	bool of_all; /* the plan is of want as a whole */
	/* Of the project: plan_options.agreed; to free. */
	char **agreed;
	bool may_be_some; /* nobody asks for more of the project than the plan
			   */
	char **only; /* all of it that is looked at; NULL: everything */
	struct differences differences; /* of base and want, when whole */
};

#define APPLYING_NONE                                                          \
	{                                                                      \
		.changes = CHANGES_NONE,                                       \
		.project = {.fd = -1, .workspace_fd = -1, .lock_fd = -1},      \
		.home =                                                        \
		{.project = {.fd = -1, .workspace_fd = -1, .lock_fd = -1} }    \
	}

void applying_free(struct applying *a);

/* resolve_run_lock(), unless the run is still going: it is held still while its
 * layer is read (applying_load()), and what it had done by then is applied. */
int applying_lock(struct context *c, struct resolved_run *p, struct err *err);

/* -EALREADY: it is applied, and no paths were named; -ENOENT: discarded;
 * -ENODATA: what was before the run is not known; -EBUSY: another guard is at
 * work in the project. */
int applying_load(struct applying *a, struct err *err);

void applying_leave(struct applying *a);
int applying_look(struct applying *a, struct err *err);

/* want: a->want, or a part of it; git_picked: it has those things of a .git,
 * and no others, that are wanted, each by itself. A plan that was made before
 * goes away. */
int applying_plan(struct applying *a, const struct entry *want,
		  enum plan_resolve resolve, bool git_picked, struct err *err);

/* For a dry run: the errors of applying_carry() that can be told before. */
int applying_check(struct applying *a, struct err *err);

/* whole: the plan is of all that the run changed. *ret_after: the snapshot of
 * what it left. */
int applying_carry(struct applying *a, bool complete, bool git,
		   uint64_t *ret_after, struct err *err);

/* The plans of all folders, with their prefixes: the project's first, the
 * home's last. *ret: to free; how many. */
size_t applying_plans(struct applying *a, struct plan ***ret);
/* Something is to be done in one of them. */
bool applying_has_steps(struct applying *a);

/* applying_extra.c: the folders beside the project. base: loaded already. */
int applying_extra_base(struct applying *a, struct err *err);
int applying_extra_look(struct applying *a, struct err *err);
int applying_extra_want(struct applying *a, struct err *err);
int applying_extra_plan(struct applying *a, enum plan_resolve resolve,
			struct err *err);
int applying_extra_done(struct applying *a, const struct action *action,
			struct err *err);
void applying_extra_leave(struct applying *a);
void applying_extra_free(struct applying *a);

/* The tree that the run left in a folder: from the store where nobody has been
 * at its layer since (1), else it is read (0), and where paths were named no
 * more of it than is about them. seq: of its stored result, or 0; paths: those
 * in that folder, NULL: none. */
int applying_want(struct applying *a, const struct entry *base, int upper_fd,
		  const struct change_list *list, uint64_t seq, char **paths,
		  struct entry *ret, struct err *err);
/* Says what of it is not as the run left it; prefix of the paths. */
int applying_compare(struct applying *a, const struct entry *base,
		     const struct entry *want, uint64_t seq, const char *prefix,
		     struct err *err);

/* applying_some.c: whether some paths may be all that is looked at, told from
 * what is known before the layer is read; and which ones. */
bool applying_some_wanted(const struct applying *a);
int applying_some_choose(struct applying *a, struct err *err);

/* applying_home.c: nothing where no path in the home was named. */
int applying_home_load(struct applying *a, struct err *err);
int applying_home_look(struct applying *a, struct err *err);
int applying_home_plan(struct applying *a, enum plan_resolve resolve,
		       struct err *err);
void applying_home_free(struct applying_home *h);
/* Changes of the home that were not named and are worth a word. */
size_t applying_home_left(const struct applying *a);

/* applying_say.c, for people: what is changed; what was done and what is left;
 * the status to end with, since conflict markers must not be missed. */
const char *applying_where(const struct applying *a);
void applying_say_done(const struct applying *a);
int applying_say_marked(struct applying *a, bool done);
void applying_say_git_left(const struct applying *a);
size_t applying_say_home_left(const struct applying *a);

#endif
