/*
 * Internals of plan_make(): the state that its parts share.
 *
 * Each part calls only parts below it in this list:
 *
 *	plan_make.c	sorts the steps into the order of execution
 *	plan_links.c	hard links of the steps' files
 *	plan_rows.c	visits the differences of base and want (one row each)
 *			and decides by the entry in now
 *	plan_unit.c	databases with sidecars
 *	plan_below.c	directories that want deletes
 *	plan_merge.c	merge of contents
 *	plan_meta.c	merge of mode, owner and xattrs
 *	plan_steps.c	adds the steps
 *	plan_status.c	files that a status command rewrites
 *	plan_git.c	everything in a .git
 *	planner.c	the state: decisions of the user, lists of the plan
 */
#ifndef GUARD_RESTORE_PLAN_PLAN_PRIVATE_H
#define GUARD_RESTORE_PLAN_PLAN_PRIVATE_H

#include "base/pathset.h"
#include "base/vec.h"
#include "restore/plan/lookup.h"
#include "restore/plan/plan.h"

/* One difference: the entry in base, want and now. Mode 0: no entry. */
struct row {
	const char *path;
	const struct entry *base, *want;
	struct entry now; /* owned */
};

struct git_root {
	char *path;
	bool conflict;
};

struct planner {
	struct store *store;
	const struct entry *base, *want, *now;
	const struct plan_options *options;
	struct pathset meant; /* options->paths */
	struct pathset except; /* options->except */
	struct plan *plan;
	struct lookup find_base, find_want, find_now;
	char *skip; /* decided with all paths below, or NULL */
	char *ready; /* the last directory known to accept new entries, or NULL
		      */
	VEC(char *) made; /* directories that the plan creates, by path */
	VEC(struct git_root) gits;
	/* Directories with equal times on both sides and different lists of
	 * entries. */
	VEC(struct step) times;
};

/* Frees the state; the plan stays. */
void planner_free(struct planner *pl);
/* Visits all differences of base and want, and fills pl->plan. */
int plan_rows(struct planner *pl, struct err *err);

/* Adds a conflict; with RESOLVE_OURS, a path that is kept. */
void planner_conflict(struct planner *pl, enum conflict_kind kind,
		      const char *path);
/* planner_conflict(), and skips all paths below. */
void planner_conflict_subtree(struct planner *pl, enum conflict_kind kind,
			      const char *path);
/* Adds CONFLICT_UNMERGED, whatever the user decided. */
void planner_unmerged(struct planner *pl, const char *path);
/* Marks the path and all paths below as decided. */
void planner_skip_below(struct planner *pl, const char *path);
/* Lists a path that keeps the user's version; a path where want replaces it. */
void planner_keep(struct planner *pl, enum conflict_kind kind,
		  const char *path);
void planner_overwrite(struct planner *pl, enum conflict_kind kind,
		       const char *path);
/* The user's choice for just this path, or NULL. */
const struct plan_choice *planner_choice(const struct planner *pl,
					 const char *path);
/* The choice for the path, or the decision for all paths. */
enum plan_resolve planner_resolve(const struct planner *pl, const char *path);
/* RESOLVE_THEIRS */
bool planner_takes_theirs(const struct planner *pl, const char *path);
/* Whether this very path is in options->paths. */
bool planner_is_named(const struct planner *pl, const char *path);
/* 1: the entry changed after the start of the run and before it was stored, so
 * that base tells nothing; 0: not; or a negative errno. */
int planner_moved(struct planner *pl, const struct row *row, struct err *err);
/* Sets the source of all steps from number `from` on. */
void planner_set_how(struct planner *pl, size_t from, enum step_how how);
/* 1: done by steps, or already equal; 0: cannot be merged; or a negative
 * errno, -ENOPKG: libgit2 is missing. */
int plan_merge_file(struct planner *pl, const struct row *row, struct err *err);
int plan_merge_dir(struct planner *pl, const struct row *row, struct err *err);
/* Merges mode, owner and xattrs of both sides into *to, which holds the present
 * entry: 1; 0: they conflict; or a negative errno. */
int plan_meta_merge(struct planner *pl, const struct row *row, struct entry *to,
		    struct err *err);

extern const struct entry planner_nothing;
/* Appends a step with copies of both entries. */
void step_push(struct planner *pl, enum step_kind kind, const char *path,
	       const struct entry *from, const struct entry *to);
/* Adds REPLACE or META for an existing entry, unless refused. */
int step_change(struct planner *pl, enum step_kind kind, const struct row *row,
		const struct entry *to, struct err *err);
/* Adds CREATE with the parents that it needs; CONFLICT_PARENT when they cannot
 * be created. */
int step_create(struct planner *pl, const struct row *row, struct err *err);
/* Adds CREATE without a check of the parent. */
void step_add_create(struct planner *pl, const char *path,
		     const struct entry *to);
/* Deletes the present entry and creates the wanted one, when one of the two is
 * a directory. */
int step_change_type(struct planner *pl, const struct row *row,
		     struct err *err);
/* Finds steps whose files have other hard links. Called when all steps are in
 * their final order. */
int plan_links(struct planner *pl, struct err *err);

/* 1: the path belongs to a unit (unit.h), which is decided; 0: it does not, or
 * the unit has no change; or a negative errno. */
int plan_unit(struct planner *pl, const char *path, struct err *err);
enum plan_below_verdict {
	PLAN_BELOW_KEPT, /* conflicts were added */
	PLAN_BELOW_DELETED, /* completely */
	PLAN_BELOW_GIT, /* holds a .git that is skipped */
	PLAN_BELOW_PARTIAL, /* some entries of the user stay */
};

/*
 * Decides about a directory that want deletes, and adds the conflicts below it.
 * With the last two verdicts the directory stays, and its entries are decided
 * one by one. whole: all or none, since another entry takes its place.
 * Negative: an errno.
 */
int plan_below_may_delete(struct planner *pl, const struct row *row, bool whole,
			  struct err *err);

enum plan_git_verdict {
	PLAN_GIT_NONE,
	PLAN_GIT_SKIPPED,
	PLAN_GIT_TAKEN,
	PLAN_GIT_REFUSED
};
/* Whether path belongs to a .git, and the decision for it. The conflict for a
 * .git that cannot be taken is added at its first path. Negative: an errno. */
int plan_git_decide(struct planner *pl, const char *path, struct err *err);
/* Whether a ref that want deletes stays with the packed-refs that are left out:
 * it may be packed in those of want. */
bool plan_git_ref_stays(const struct planner *pl, const char *path);
/* A status command rewrites the file, and the present version has no change of
 * the user: 1; PLAN_STATUS_REPLACED: its format is unknown
 * here, so that a change of the user may be lost with it; 0; or a negative
 * errno. */
#define PLAN_STATUS_REPLACED 2
int plan_status_same(struct planner *pl, const char *path,
		     const struct entry *now, const struct entry *other,
		     struct err *err);
/* Counts a change in a .git that is skipped. */
void plan_git_skip(struct planner *pl, const char *path);
/* Whether the path belongs to a .git that may not be deleted (keep_git). */
bool plan_git_is_kept(const struct planner *pl, const char *path);
/* Whether options->paths name the .git at path, or an entry in it. */
bool plan_git_is_named(const struct planner *pl, const char *path);
/* Whether this file or symbolic link tells git which program to run or where to
 * look. */
bool plan_git_obeys(const struct planner *pl, const char *path, uint32_t mode);

#endif
