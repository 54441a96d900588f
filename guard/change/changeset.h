/*
 * A change of the user's files by apply, restore or undo: plans over one or
 * several roots that one transaction executes and one action records.
 *
 *	changeset_init()
 *	changeset_open_root(), changeset_inspect_root(), changeset_plan_root()
 *				for each root, the project's first
 *	changeset_check()		in a dry run, or
 *	changeset_execute()	which leaves the action announced: bring the
 *				state of the run that it was about in order,
 *				then call action_close()
 *	changeset_free()
 *
 * The roots are locked from changeset_open_root() to changeset_unlock() or
 * changeset_free(). Nothing is printed here but the progress of the transaction
 * and warnings about records that could not be written after it.
 */
#ifndef GUARD_CHANGE_CHANGESET_H
#define GUARD_CHANGE_CHANGESET_H

#include "guard/change/action.h"
#include "guard/state/context.h"
#include "restore/transaction.h"

struct changeset_root {
	char *prefix; /* printed before its paths; NULL: none */
	char **only; /* the only paths that are read and stored; NULL: all */
	char **gits; /* --commits: "" and the .git that are planned, too */
	struct project project; /* path NULL: not open */
	/* The state that the change starts from and the state that it leads to,
	 * which the caller fills in, and the present state, stored by
	 * changeset_inspect_root(). */
	struct snapshot base, want, now;
	/* Review: the part of want that was accepted, borrowed; NULL: all of
	 * it. git_picked: it has the accepted entries of a .git, each by
	 * itself. */
	const struct entry *picked;
	bool git_picked;
	/* Decisions on conflicts, by path; borrowed. Those with RESOLVE_NOT are
	 * left out. */
	const struct plan_choice *choices;
	size_t choice_count;
	struct plan plan;
	const struct transaction_layer *layer; /* or NULL; borrowed */
	bool restores_all; /* want is a complete state, not some paths of it */
	bool excluded; /* no part of the transaction and of the action */
	uint64_t after; /* the snapshot after the action; 0: none */
};

struct changeset {
	struct context *c;
	/* The project whose workspace records the action is the first one. Not
	 * moved while a project is open (struct project). */
	struct changeset_root *roots;
	size_t root_count;
	/* 1: behind them is a root of the transaction that is none of the run's
	 * (apply_commits.h). It stays locked until changeset_free(). */
	size_t hidden;
};

/*
 * Partial snapshots: before and after a change of a few paths in a large
 * project only these paths are read and stored (only), because reading all
 * files twice takes longer than the change. A partial snapshot tells nothing
 * about the other paths.
 *
 * Returns the greatest number of paths for a partial snapshot of the project,
 * of which s is a complete snapshot; 0: the project is small, or s is not
 * complete.
 */
uint64_t changeset_partial_max(const struct snapshot *s);

/* Makes root_count roots that are not open, and a hidden one, which is not
 * counted yet. */
void changeset_init(struct changeset *set, struct context *c,
		    size_t root_count);
/* Unlocks the roots and frees all that *set owns. */
void changeset_free(struct changeset *set);

/* Locks a root, after anything that was interrupted in it has been recovered;
 * the caller has done that for the first one. -EBUSY: in use by another guard
 * process. A root that is open stays as it is. */
int changeset_open_root(struct changeset *set, size_t index, const char *path,
			struct err *err);
/* Stores the root as it is now; `only` and members of project may be set
 * before. */
int changeset_inspect_root(struct changeset *set, size_t index,
			   const char *reason, const char *run_id,
			   struct err *err);
/* Plans the steps from base, or from the present state (NULL), to want. An
 * earlier plan is freed. */
int changeset_plan_root(struct changeset *set, size_t index,
			const struct entry *base,
			const struct plan_options *options, struct err *err);
bool changeset_has_steps(const struct changeset *set);
/* Whether anything is to be recorded: steps, or decisions of the user. */
bool changeset_has_effect(const struct changeset *set);
void changeset_unlock(struct changeset *set);

/* For a dry run: the errors of changeset_execute() that are known before
 * anything is written. */
int changeset_check(struct changeset *set, struct err *err);

/* Waits for runs that are starting in one of the roots, before anything is
 * recorded that an impatient user would leave behind. */
void changeset_wait_starting_runs(const struct changeset *set);

/*
 * Stores the snapshots before, announces the action (its roots are filled in)
 * in the workspace of the first root, runs the transaction, stores the
 * snapshots after it and records the action. SIGINT, SIGTERM and SIGHUP are
 * blocked until the end. Errors are those of transaction_run(); the text of an
 * error mentions a journal that is left.
 */
int changeset_execute(struct changeset *set, struct action *a, struct err *err);
/* The transaction alone, for files that are no project: no snapshot is stored,
 * no action recorded. */
int changeset_execute_unrecorded(struct changeset *set, const char *kind,
				 struct err *err);

#endif
