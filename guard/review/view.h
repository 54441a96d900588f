/*
 * The changes of one root as entries for displays: the change, its risks, and
 * the loss that it would be. Folds, verdicts, JSON and reports read only that,
 * wherever the changes come from: a live layer, a plan, or a review of two
 * trees of the store.
 *
 *	view_of_changes() or view_of_plan()
 *	loss_judge()		fills in the losses (loss.h)
 *	view_judge()		fills in the risks of one entry
 *	view_free()
 *
 * Entries are in the order of path_compare(). A view borrows its source, which
 * must live as long and keep its order; a view of a plan or review is not
 *moved.
 */
#ifndef GUARD_REVIEW_VIEW_H
#define GUARD_REVIEW_VIEW_H

#include "guard/change/changes.h"
#include "guard/rules/risk.h"
#include "guard/rules/twins.h"
#include "restore/plan/plan.h"

/* What a change costs. In the order of that cost: from LOSS_WORK on, something
 * is gone that no other place outside of guard's store has. */
enum loss {
	LOSS_NONE, /* nothing is lost, or the entry was not judged */
	LOSS_COPIED, /* the same bytes are elsewhere in the result */
	LOSS_IN_GIT, /* they are in the index or in HEAD */
	LOSS_IN_HISTORY, /* they are in the object database */
	LOSS_GENERATED, /* tools make such files again */
	LOSS_UNKNOWN, /* no repository to compare with, or not examined */
	LOSS_HOME, /* deleted from the home directory, which has no git */
	LOSS_WORK, /* lines or bytes that were never committed */
	LOSS_NO_COPY, /* the only copy is deleted, emptied, replaced,
			 overwritten in part, left out */
};

/* Flags of a change in the view of a plan. SHOWN: a step that is never folded
 * away, since it merges, replaces an edit of the user, or sets an owner. */
#define VIEW_SHOWN 0x1000u
#define VIEW_MERGED 0x2000u
#define VIEW_MARKED 0x4000u /* with conflict markers */
#define VIEW_OVER 0x8000u /* replaces an edit */
#define VIEW_DELETES_EDIT 0x10000u

struct view_entry {
	const struct change *change; /* path, kind, flags, both sides */
	struct risks risks;
	bool judged; /* risks are complete */
	bool late; /* judged while the texts were printed */
	bool moved_across; /* unchanged, to another root of the run */
	bool in_git; /* LOSS_NO_COPY: the run has a copy in a .git alone */
	bool partly; /* LOSS_NO_COPY: only a part of it is overwritten */
	enum loss loss;
};

enum fold_kind {
	FOLD_NONE, /* one entry by itself */
	FOLD_DELETED,
	FOLD_GENERATED,
	FOLD_ADDED,
};

struct fold {
	enum fold_kind kind;
	size_t entry; /* the first one, in the view */
	size_t entries; /* directories, too */
	char *dir; /* NULL: FOLD_NONE */
	bool complete; /* the directory itself is deleted or new */
	bool edited; /* an entry has CHANGES_EDITED */
	size_t added, modified, deleted; /* files and links */
	uint64_t bytes;
	size_t in_git, lost, packages;
};

/* Reasons that repeat, with the numbers of files that are listed for each, and
 * that are only counted. */
struct fold_repeats {
	struct fold_repeat {
		const struct risk *risk; /* borrowed */
		size_t shown, more;
	} * items;
	size_t count, capacity;
};

struct folds {
	VEC(struct fold) list; /* in the order of the paths */
	struct fold_repeats repeats;
	/* For each entry of the view the index of its fold + 1; 0: it is in
	 * none of the list. */
	uint32_t *of_entry;
	size_t noise, caches; /* entries that are only counted */
};

struct view {
	struct view_entry *items;
	size_t count, capacity;
	const struct change_list *list; /* the changes, with their moves */
	const char *prefix, *where; /* as in struct changes_root */
	bool home;
	const struct changes_root *root; /* of a live layer, or NULL */
	struct change_list own; /* the list of a plan or review */
	struct store *store; /* of a plan */
	struct twins twins;
	bool twins_known;
	struct folds folds; /* of fold_make() */
};

void view_free(struct view *v);
void view_clear_folds(struct view *v);

/* The changes of a live layer, in the order of the scan or sorted otherwise:
 * the list itself stays as it is. Entries in a .git are included. */
void view_of_changes(const struct changes_root *root, struct view *ret);
/* The paths that a plan changes, a deleted directory with its entries, with the
 * owner that a new file will have. Steps that only set a time are left out.
 * moves: the list has the moves, too; deletions of the user's edits and merged
 * files are none. */
int view_of_plan(struct store *store, const struct plan *plan, bool moves,
		 struct view *ret, struct err *err);

/* The entry of a path, or NULL. */
struct view_entry *view_find(const struct view *v, const char *path);
/* Copies risks and losses from another view of the same run, by path. */
void view_copy_judgement(struct view *to, const struct view *from);

/* Fills in the risks once, which reads the file. Caches of a home directory
 * have none. */
void view_judge(struct view *v, struct view_entry *e);
/* The same with the bytes of regular files, which the caller has read. */
void view_judge_bytes(struct view *v, struct view_entry *e,
		      const struct buf *old, const struct buf *now);
/* The entry is worth an early view_judge(): by its name, type, mode or place it
 * may be high or critical. Reads nothing. */
bool view_is_suspect(struct view *v, const struct view_entry *e);
/* The worst level of the risks and of the loss: the loss of an only copy is
 * critical, that of other work high. */
enum risk_level view_level(const struct view_entry *e);
/* A loss that is displayed by name, wherever the entry is. */
bool view_is_lost(const struct view_entry *e);
/* The file has new bytes, more than the rules read: they judge its name. */
bool view_is_unread(const struct view_entry *e);

#endif
