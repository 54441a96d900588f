/*
 * What will be done to the user's files, and what stands in its way: pure.
 *
 * Three trees of the store: `base`, what the project was when the change
 * began; `want`, what it shall be; `now`, what it is. A path where base and
 * want agree is not touched. Where they differ the project must still be as
 * in base (or already as in want: then nothing is left to do), or what both
 * sides did can be put together; anything else is a conflict, and a plan with
 * conflicts is not carried out.
 *
 * Pure but for one thing: merged texts and sets of attributes are put into the
 * store, where the transaction finds them like all others. Flush the store
 * before that: a recovery compares with them.
 *
 *	apply:	 base = pre-run snapshot, want = the run's result
 *	restore: base = now, want = an older snapshot, additive
 *	undo:	 base = what the last action left, want = what was before it
 */
#ifndef GUARD_RESTORE_PLAN_PLAN_H
#define GUARD_RESTORE_PLAN_PLAN_H

#include "snapshot/tree/catalog.h"
#include "snapshot/tree/differences.h"

enum step_kind {
	STEP_DELETE, /* from -> nothing; a folder with all below it */
	STEP_REPLACE, /* another file, link or kind of thing */
	STEP_CREATE, /* nothing -> to; parents come before */
	STEP_META, /* mode, owner, xattrs, times; bytes stay */
};

/* Where a step's result comes from, when it is not what want has alone. */
enum step_how {
	STEP_PLAIN,
	STEP_MERGED, /* both sides' changes, put together without a conflict */
	STEP_MARKED, /* both sides, with conflict markers in the text */
	STEP_OVER, /* want's, over what the user changed meanwhile */
};

/* Folders are single steps (CREATE, DELETE, META) of their own; STEP_REPLACE
 * between a folder and something else is split into its parts. */
struct step {
	enum step_kind kind;
	enum step_how how;
	char *path;
	struct entry from; /* as it is now, mode 0: nothing */
	struct entry to; /* as it shall be, mode 0: nothing */
	/* Of a file with several names: another one, in the project, that
	 * stays as it is; or NULL. */
	char *hardlink_to;
	bool shared; /* other steps give names of the same file */
};

enum conflict_kind {
	CONFLICT_BOTH_CHANGED, /* modified on both sides */
	CONFLICT_BOTH_ADDED,
	CONFLICT_DELETED_NOW, /* the user deleted what is to be changed */
	CONFLICT_CHANGED_NOW, /* the user changed what is to be deleted */
	CONFLICT_ADDED_BELOW, /* something new in a folder to be deleted */
	CONFLICT_DIRECTORY, /* additive: a folder where something else shall be
			     */
	CONFLICT_PARENT, /* its folder is gone or is no folder */
	CONFLICT_MOVED, /* changed after the run's start, before it was
			   stored: there is no merge base */
	CONFLICT_INCOMPLETE, /* a side could not be read */
	CONFLICT_GIT, /* a .git whose refs, HEAD or index moved */
};

struct conflict {
	enum conflict_kind kind;
	char *path;
};

enum refusal_kind {
	REFUSED_SETID, /* set-id bits or file capabilities */
	REFUSED_NODE, /* device node, socket */
	REFUSED_GIT, /* tells git what to execute or where to look */
	REFUSED_UNREADABLE, /* a folder that its owner could not look into */
};

struct refusal {
	enum refusal_kind kind;
	char *path;
};

struct plan {
	struct step *steps; /* in the order in which they are done */
	size_t step_count, step_capacity;
	struct conflict *conflicts;
	size_t conflict_count, conflict_capacity;
	struct refusal *refusals;
	size_t refusal_count, refusal_capacity;
	/* What would be conflicts, had the user not decided: paths that stay
	 * as he has them, and paths where want goes over what he did. */
	struct conflict *kept, *over;
	size_t kept_count, kept_capacity, over_count, over_capacity;
	size_t already; /* differences that the project has already */
	size_t git_skipped; /* changes in a .git that were left out */
	size_t left; /* differences left as they are by missing_only */
	/* What people read before its paths, e.g. "~/"; NULL: nothing. Not of
	 * plan_make()'s making, and borrowed. */
	const char *prefix;
};

/*
 * What becomes of paths that both sides changed. Texts that can be put
 * together are, with all but RESOLVE_NOT; what is left over is a conflict,
 * unless the user has said whose version it shall be.
 */
enum plan_resolve {
	RESOLVE_NOT,
	RESOLVE_MERGE,
	RESOLVE_OURS, /* the project's; the path is named in kept */
	RESOLVE_THEIRS, /* want's; named in over. Never takes what could not be
			   stored, what was added in a folder that goes (unless
			   just that path is among paths), a folder that stands
			   where want has something else, or a .git */
	RESOLVE_MARKERS, /* texts get conflict markers */
};

struct plan_options {
	/* Only these paths and what is below ("" all); NULL-terminated or
	 * NULL. A named path brings its missing parent folders along. */
	const char *const *paths;
	/* The trees are of some paths only (take_options.only): a folder on the
	 * way to them is in order although it is incomplete, and of a name that
	 * base does not have nobody asks whether it was there. */
	bool partial;
	/* The same of now alone; what was there is known. */
	bool partial_now;
	bool additive; /* never delete, never turn a folder into a file */
	bool missing_only; /* what is there, stays as it is: counted in left */
	bool keep_git; /* never delete a .git unless a path names it */
	/*
	 * The contents of a .git are left out unless a path names it or
	 * something in it: then the .git is taken as a whole, and refused
	 * when HEAD, refs, packed-refs or index differ from base.
	 */
	bool git_apart;
	/* Set-id bits, file capabilities and nodes: from a run they are
	 * refused; from the user's own snapshots they come back. */
	bool refuse_special;
	/* With refuse_special: folders that shut their owner out are refused
	 * too. What is in one nobody but root can store or take back. */
	bool refuse_unreadable;
	/* ... but for these very paths, nodes apart; NULL-terminated or NULL.
	 * With both options what git obeys in a .git that is taken as a whole
	 * (config, hooks, info, the same of modules, alternates, commondir,
	 * any link) is refused as well, unless it is here or among paths. */
	const char *const *agreed;
	/* Notes of the base's snapshot (NOTE_MOVED, NOTE_INCOMPLETE) count as
	 * conflicts; NULL when there are none. */
	const struct snapshot *base_notes;
	/* Notes of the look at now: of what lies below a folder that could not
	 * be read nobody knows whether it is gone, and of a folder on the way
	 * (partial_now) its flag alone does not say so. NULL: none. */
	const struct snapshot *now_notes;
	enum plan_resolve resolve;
	/* What conflict markers call the two sides; for RESOLVE_MARKERS. */
	const char *our_label, *their_label;
	/* Of base and want, when they are known already, else NULL. */
	const struct differences *differences;
};

void plan_free(struct plan *p);

/* Whether the user has agreed to lose an edit of his at that path. */
bool plan_is_over(const struct plan *p, const char *path);

int plan_make(struct store *store, const struct entry *base,
	      const struct entry *want, const struct entry *now,
	      const struct plan_options *options, struct plan *ret,
	      struct err *err);

const char *conflict_text(enum conflict_kind kind); /* for people */
const char *refusal_text(enum refusal_kind kind);

#endif
