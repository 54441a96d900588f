/*
 * Inside of plan_make(): what its parts share while a plan is made.
 *
 * planner.c goes through the differences of base and want one by one (a row
 * each) and decides by what the project holds now; plan_below.c answers for
 * folders that are to go, plan_git.c for every .git, plan_resolve.c for what
 * the user has decided about conflicts, plan_merge.c and plan_meta.c put both
 * sides together, plan_steps.c adds the steps, plan_links.c finds the other
 * names of their files, planmake.c holds the result and puts the steps into
 * order.
 */
#ifndef GUARD_RESTORE_PLAN_PLANNER_H
#define GUARD_RESTORE_PLAN_PLANNER_H

#include "base/pathset.h"
#include "restore/plan/lookup.h"
#include "restore/plan/plan.h"

/* One difference: what was, what shall be, what is. Mode 0: nothing. */
struct row {
	const char *path;
	const struct entry *base, *want;
	struct entry now; /* owned */
};

struct git_root {
	char *path;
	bool conflict;
};

/* A folder whose times are the same on both sides, but whose list is not. */
struct same_time {
	char *path;
	struct entry from, to;
};

struct planner {
	struct store *store;
	const struct entry *base, *want, *now;
	const struct plan_options *options;
	struct pathset meant; /* of the options' paths */
	struct plan *plan;
	struct lookup find_base, find_want, find_now;
	char *skip; /* settled with all below, or NULL */
	char *ready; /* the last folder found ready for new things, or NULL */
	char **made; /* folders that the plan makes, in path order */
	size_t made_count, made_capacity;
	struct git_root *gits;
	size_t git_count, git_capacity;
	struct same_time *times;
	size_t time_count, time_capacity;
};

void planner_free(struct planner *pl);
int planner_run(struct planner *pl, struct err *err);

/* Same kind, bytes, mode, owner, attributes; both may be nothing. */
bool planner_same(const struct entry *a, const struct entry *b);
/* A conflict, or with RESOLVE_OURS a path that is kept. */
void planner_conflict(struct planner *pl, enum conflict_kind kind,
		      const char *path);
/* The same, and nothing below it is looked at any more. */
void planner_conflict_subtree(struct planner *pl, enum conflict_kind kind,
			      const char *path);
void planner_skip_below(struct planner *pl, const char *path);
/* It stays as the user has it; it goes for want's version. */
void planner_keep(struct planner *pl, enum conflict_kind kind,
		  const char *path);
void planner_overwrite(struct planner *pl, enum conflict_kind kind,
		       const char *path);
bool planner_takes_theirs(const struct planner *pl); /* RESOLVE_THEIRS */
/* Just this path is among the options' paths. */
bool planner_is_named(const struct planner *pl, const char *path);
/* Says of all steps from that number on where their results come from. */
void planner_set_how(struct planner *pl, size_t from, enum step_how how);
/*
 * Both sides did something to the row's path that do not go together: merges
 * them, or goes by the options, or adds the conflict. kind: BOTH_CHANGED,
 * BOTH_ADDED or DELETED_NOW.
 */
int plan_resolve(struct planner *pl, enum conflict_kind kind,
		 const struct row *row, struct err *err);
/* 1: settled by steps (or there already); 0: cannot be merged; negative. */
int plan_merge_file(struct planner *pl, const struct row *row, struct err *err);
int plan_merge_dir(struct planner *pl, const struct row *row, struct err *err);
/* Mode, owner and attributes of both, into *to, which holds what is there now:
 * 1; 0: they do not go together; negative. */
int plan_meta_merge(struct planner *pl, const struct row *row, struct entry *to,
		    struct err *err);

extern const struct entry planner_nothing;
void step_push(struct planner *pl, enum step_kind kind, const char *path,
	       const struct entry *from, const struct entry *to);
/* REPLACE or META of what is there now, unless that is refused. */
int step_change(struct planner *pl, enum step_kind kind, const struct row *row,
		struct err *err);
/* META of a folder that is there, unless that is refused. */
int step_dir_meta(struct planner *pl, const struct row *row,
		  const struct entry *to, struct err *err);
/* CREATE, with the folders it needs; CONFLICT_PARENT when they cannot be. */
int step_create(struct planner *pl, const struct row *row, struct err *err);
/* CREATE without a look at the folder. */
void step_add_create(struct planner *pl, const char *path,
		     const struct entry *to);
/* A folder where something else is, or something else where a folder is: that
 * is deleted, want is made. */
int step_change_type(struct planner *pl, const struct row *row,
		     struct err *err);
/* Which steps give names of files that others have; when all are there, in
 * their order. */
int plan_links(struct planner *pl, struct err *err);
/* 1: the options refuse such a thing, and the plan says so now. */
int step_refused(struct planner *pl, const char *path, const struct entry *from,
		 const struct entry *to, struct err *err);

enum plan_below_verdict {
	PLAN_BELOW_KEPT, /* conflicts were added */
	PLAN_BELOW_DELETED, /* as a whole */
	PLAN_BELOW_GIT, /* a .git that is left out is in it */
	PLAN_BELOW_PARTIAL, /* something of the user's stays in it */
};

/*
 * A folder that shall go. Adds the conflicts that are below it. With the last
 * two answers it stays, and what is in it is to be decided on one by one;
 * whole: that is no way, there must be nothing left of it. Negative: error.
 */
int plan_below_may_delete(struct planner *pl, const struct row *row, bool whole,
			  struct err *err);

enum plan_git_verdict {
	PLAN_GIT_NONE,
	PLAN_GIT_SKIPPED,
	PLAN_GIT_TAKEN,
	PLAN_GIT_REFUSED
};
/* Whether path belongs to a .git and what becomes of it; a conflict is added
 * when one is first met that cannot be taken. Negative: error. */
int plan_git_decide(struct planner *pl, const char *path, struct err *err);
/* 1: the path is the index of a .git, and the two are the same but for what
 * git notes of the files' times, and for their own bytes. */
int plan_git_same_index(struct planner *pl, const char *path,
			const struct entry *a, const struct entry *b,
			struct err *err);
/* It belongs to a .git that may not be deleted (keep_git). */
bool plan_git_is_kept(const struct planner *pl, const char *path);
/* A path of the options names the .git at path, or something in it. */
bool plan_git_is_named(const struct planner *pl, const char *path);
/* A file or a link by which git is told what to execute, or where to find
 * what. */
bool plan_git_obeys(const char *path, uint32_t mode);

#endif
