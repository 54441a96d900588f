/*
 * The plan: the steps that change the user's files, and the conflicts that
 * prevent them.
 *
 * Input are three trees of the store: `base`, the project when the change
 * began; `want`, the wanted state; `now`, the present state. A path on which
 * base and want agree is not touched. Where they differ, one of these must
 * hold: now agrees with base; now agrees with want, so that no step is needed;
 * or both changes can be merged. Anything else is a conflict, and a plan with
 * conflicts is not executed.
 *
 *	apply:	 base = pre-run snapshot, want = the run's result
 *	restore: base = now, want = an older snapshot, additive
 *	undo:	 base = the state after the last action, want = the state before
 *
 * Planning is pure except for merged texts and attribute sets, which are put
 * into the store, where the transaction finds them like all other content. The
 * caller flushes the store before the transaction, because recovery compares
 * with them.
 */
#ifndef GUARD_RESTORE_PLAN_PLAN_H
#define GUARD_RESTORE_PLAN_PLAN_H

#include "base/vec.h"
#include "snapshot/tree/catalog.h"
#include "snapshot/tree/tree.h"

enum step_kind {
	STEP_DELETE, /* from -> none; a directory with all entries below it */
	STEP_REPLACE, /* another file, symbolic link or kind of entry */
	STEP_CREATE, /* none -> to; parents come first */
	STEP_META, /* mode, owner, xattrs, times; the bytes stay */
};

/* Source of a step's result, when it is not `want` alone. */
enum step_how {
	STEP_PLAIN,
	STEP_MERGED, /* changes of both sides, merged without a conflict */
	STEP_MARKED, /* changes of both sides, as text with conflict markers */
	STEP_OVER, /* want, over a change of the user */
};

/* Directories are single steps (CREATE, DELETE, META). A replacement of a
 * directory by another kind of entry, or the reverse, becomes several steps. */
struct step {
	enum step_kind kind;
	enum step_how how;
	char *path;
	struct entry from; /* present entry; mode 0: none */
	struct entry to; /* wanted entry; mode 0: none */
	/* For a file with several hard links, a path in the project that stays
	 * unchanged, or NULL. */
	char *hardlink_to;
	bool shared; /* other steps create hard links of the same file */
};

enum conflict_kind {
	CONFLICT_BOTH_CHANGED, /* modified on both sides */
	CONFLICT_BOTH_ADDED,
	CONFLICT_DELETED_NOW, /* the user deleted an entry that want changes */
	CONFLICT_CHANGED_NOW, /* the user changed an entry that want deletes */
	CONFLICT_ADDED_BELOW, /* new entry in a directory that want deletes */
	CONFLICT_DIRECTORY, /* additive: a directory where want has another kind
			     */
	CONFLICT_PARENT, /* the parent is missing or no directory */
	CONFLICT_MOVED, /* changed after the start of the run and before it was
			   stored: there is no merge base */
	CONFLICT_INCOMPLETE, /* a side could not be read */
	CONFLICT_GIT, /* a .git whose refs, HEAD or index changed */
	CONFLICT_SPECIAL, /* want has a device node or a socket; only in
			     plan.kept */
	CONFLICT_UNMERGED, /* a text to merge, and libgit2 is missing: no
			      decision for a side replaces the merge */
	CONFLICT_UNIT, /* a database with sidecars (unit.h) changed on both
			  sides */
};

struct conflict {
	enum conflict_kind kind;
	char *path;
};

struct conflict_list {
	struct conflict *items;
	size_t count, capacity;
};

enum refusal_kind {
	REFUSED_SETID, /* set-id bits or file capabilities */
	REFUSED_GIT, /* tells git which program to run or where to look */
	REFUSED_UNREADABLE, /* a directory that its owner could not read */
	REFUSED_COPY, /* loses the only copy of a file; the caller adds it */
	REFUSED_RISK, /* plan_options.consent asks for it */
};

struct refusal {
	enum refusal_kind kind;
	char *path;
	const char *rule; /* why, as a static id; NULL: by the kind alone */
	char *text; /* why, for people; NULL: by the kind alone */
};

enum plan_consent {
	CONSENT_GIVEN, /* or not necessary */
	CONSENT_ASK, /* refused for now */
	CONSENT_LEAVE, /* left out */
};

struct plan {
	VEC(struct step) steps; /* in the order of execution */
	struct conflict_list conflicts;
	VEC(struct refusal) refusals;
	/* Conflicts that the user decided: paths that keep the user's version,
	 * and paths where want replaces it. */
	struct conflict_list kept, over;
	/* Paths without a step of which nothing is left to decide either:
	 * directories that stay because of kept entries in them, and merges
	 * that give what the project has. */
	struct names settled;
	size_t already; /* differences that the project already has */
	size_t git_skipped; /* changes in a .git that were skipped */
	struct names gits_skipped; /* each such .git, once */
	size_t left; /* differences skipped by missing_only */
	struct names excepted; /* paths that the user leaves out */
	/* Printed before the plan's paths, e.g. "~/". Borrowed; plan_make()
	 * sets "". */
	const char *prefix;
	/* The group of a new entry in the root, whose set-group-ID bit may pass
	 * on its own group. */
	uint32_t group;
};

/* The group that a new entry gets when e is wanted. */
uint32_t step_group(const struct plan *plan, const struct entry *e);

/* The decision for paths that both sides changed. All modes except RESOLVE_NOT
 * merge texts where possible; the rest is a conflict, unless the user selected
 * a side. */
enum plan_resolve {
	RESOLVE_NOT,
	RESOLVE_MERGE,
	RESOLVE_OURS, /* the project's version; the path is listed in kept */
	RESOLVE_THEIRS, /* the version of want; the path is listed in over.
			   Still a conflict: an incomplete entry, an entry added
			   in a deleted directory (unless just that path is in
			   paths), a directory where want has another kind, a
			   .git */
	RESOLVE_MARKERS, /* texts get conflict markers */
};

/* The decision for one path that differs from plan_options.resolve. */
struct plan_choice {
	const char *path;
	enum plan_resolve resolve;
	/* The bytes of the merged file, or NULL; resolve is RESOLVE_MERGE.
	 * marked: conflict markers are in it. */
	const struct buf *text;
	bool marked;
};

struct plan_options {
	/* Only these paths and all entries below them ("": all),
	 * NULL-terminated or NULL. The missing parents of a named path are
	 * created. */
	const char *const *paths;
	/* The trees hold some paths only (take_options.only). An incomplete
	 * directory on the way to them is no conflict, and a name that base
	 * does not have is not searched in the notes. */
	bool partial;
	/* The same for now alone; base and want are complete. */
	bool partial_now;
	bool additive; /* never delete, never replace a directory by a file */
	bool missing_only; /* existing entries stay unchanged and are counted in
			      left */
	/* Entries that the user added to a directory that is to be deleted stay
	 * there, with the directory, and are no conflict. Sockets always do. */
	bool keep_added;
	bool keep_git; /* never delete a .git unless a path names it */
	/* The content of a .git is skipped unless a path names the .git or an
	 * entry in it. A named .git is taken completely, and refused when HEAD,
	 * refs, packed-refs or index differ from base. */
	bool git_apart;
	const char *git_dir; /* the project's repository has this path in place
				of .git; NULL: it has not */
	/* Set-id bits and file capabilities: refused from a run, restored from
	 * the user's own snapshots. Device nodes and sockets: left out, the
	 * present entry stays. */
	bool refuse_special;
	/* With refuse_special: directories without r or x for their owner are
	 * refused too, because only root can store or restore their content. */
	bool refuse_unreadable;
	/*
	 * Exceptions from both options, NULL-terminated or NULL. With both
	 * options, entries that git obeys in a
	 * completely taken .git (config, hooks, info, the same of modules,
	 * alternates, commondir, any symbolic link) are refused as well, unless
	 * listed here or in paths.
	 */
	const char *const *agreed;
	/* Paths to leave out with all entries below them, NULL-terminated or
	 * NULL. A directory above one of them is not deleted, either. */
	const char *const *except;
	/*
	 * With refuse_special: decides on each refusal without an exception,
	 * and (kind REFUSED_RISK) on each other entry that a step would create
	 * or change. Sets rule and text of a REFUSED_RISK. NULL: a refusal
	 * stays, and no other entry needs a consent.
	 */
	enum plan_consent (*consent)(void *arg, const struct entry *from,
				     const struct entry *to,
				     struct refusal *refusal);
	void *consent_arg;
	/* Notes of the base snapshot (NOTE_MOVED, NOTE_INCOMPLETE), which count
	 * as conflicts; NULL: none. */
	const struct snapshot *base_notes;
	/* Notes of the present snapshot. Below an unreadable directory the
	 * deletion of an entry is unknown; of a directory on the way
	 * (partial_now) the flag alone does not tell. NULL: none. */
	const struct snapshot *now_notes;
	enum plan_resolve resolve;
	const struct plan_choice *choices; /* by path */
	size_t choice_count;
	/* Labels of the two sides in conflict markers, for RESOLVE_MARKERS. */
	const char *our_label, *their_label;
	/* The differences of base and want when the caller has them, else
	 * NULL. */
	const struct differences *differences;
};

/* Frees the lists of a plan and leaves it empty. */
void plan_free(struct plan *p);
/* The user's files are of no interest. */
void plan_drop_conflicts(struct plan *p);
/* Whether it changes files, or what is left to decide. */
bool plan_has_effect(const struct plan *p);

/* Frees all that *s owns. */
void plan_step_free(struct step *s);
/* Whether the step changes only the mtime. */
bool plan_step_is_time(const struct step *s);
/* Whether no step changes more; true without steps. */
bool plan_is_times(const struct plan *p);
/* Whether the user agreed to lose a change at this path. */
bool plan_is_over(const struct plan *p, const char *path);

/* Makes a plan in *ret; plan_free() frees it. Conflicts and refusals are not
 * errors. Returns 0 or a negative errno of the store. */
int plan_make(struct store *store, const struct entry *base,
	      const struct entry *want, const struct entry *now,
	      const struct plan_options *options, struct plan *ret,
	      struct err *err);

/* A static text for people. */
const char *conflict_text(enum conflict_kind kind);
/* The same for a refusal: its own text, valid as long as the refusal, or that
 * of its kind. */
const char *refusal_reason(const struct refusal *refusal);

#endif
