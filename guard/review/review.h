/*
 * The decisions on a run's changes: the items, and the answers. Made from two
 * trees of the store, so that the displayed content is, to the byte, the
 * content that can be applied later.
 *
 * Related changes are one item: a deleted directory with all its entries, a new
 * directory full of files, generated files. An item has one part or, for a
 * text, one part a hunk; a part is open until it is decided on. Pure: no
 * function prints or asks.
 */
#ifndef GUARD_REVIEW_REVIEW_H
#define GUARD_REVIEW_REVIEW_H

#include "guard/change/changes.h"
#include "guard/rules/risk.h"
#include "restore/git/hunks.h"
#include "restore/plan/plan.h"

/* In the order in which they are shown. */
enum review_section {
	REVIEW_DELETED,
	REVIEW_RISKY, /* dangerous, or executed later */
	REVIEW_MOVED,
	REVIEW_TYPE, /* of another type */
	REVIEW_MODIFIED,
	REVIEW_RIGHTS,
	REVIEW_ADDED,
	REVIEW_GENERATED,
};

enum review_answer { REVIEW_OPEN, REVIEW_YES, REVIEW_NO };

/* One path that differs. */
struct review_entry {
	char *path;
	struct entry old, now; /* mode 0: nothing */
	struct change change; /* the same, for lists; the path is borrowed */
	struct risks risks;
	bool special; /* refused without a yes of its own: set-id bits... */
	bool here; /* changed in the project meanwhile, too */
	bool conflict; /* in a way that cannot be merged */
	bool accepted; /* by the last review_make_accepted() */
	unsigned int loss; /* enum loss of view.h, which the caller fills in */

	/* The other end of a move, its number + 1; 0: of none. */
	size_t peer;
	unsigned int percent; /* how much alike they are */
	bool with_dir; /* moved unchanged, with its directory */
	bool claimed; /* an item of a move has it */
};

struct review_item {
	char *path; /* of the entry, or of the directory above all entries; of a
		       move the new path */
	/* Indexes of its entries, of one place in sequence. Of a move the new
	 * and the old path in turn, pair by pair. */
	size_t *list;
	size_t count;
	bool move;
	bool incomplete; /* a directory without the entries that were moved out
			    of or into it */
	enum review_section section;
	bool here; /* something of it was changed in the project meanwhile */
	bool viewed; /* the user has marked it as seen */
	enum risk_level worst;

	/* After review_open(): a part for rights that change beside the
	 * bytes, then one a hunk; at least one. */
	bool uncompared; /* libgit2 is missing, or failed */
	bool opened, rights;
	bool divided; /* a hunk was split */
	struct buf old, now; /* texts */
	struct hunks hunks;
	enum review_answer *answers;
	size_t parts;

	/* For lists: the lines of its text, which review_close() keeps. */
	bool counted;
	size_t added, removed;
};

/* A path that an apply of all changes cannot merge with the project as it was
 * when the review began. */
struct review_clash {
	struct conflict conflict;
	size_t entry; /* the number of the entry at the path, or above it */
};

struct review {
	struct store *store;
	const struct entry *base, *want;
	struct review_entry *entries; /* by path */
	size_t entry_count, entry_capacity;
	struct review_item *items; /* in the order in which they are shown */
	size_t count, capacity;
	VEC(struct review_clash) clashes;
	size_t git; /* changes in a .git that are no items */
	size_t already; /* changes that the project already has */
	bool part; /* paths were named */
	bool may_agree; /* a yes to a special one counts, if it is alone */
	const char *prefix; /* printed before its paths */
};

struct view;

struct review_options {
	const char *const *paths; /* NULL-terminated, or NULL */
	/* Has the risks of the paths, which are judged where they are not yet,
	 * and the moves. NULL: a view of `changes`, of the same trees; if that
	 * is NULL as well, no path has a risk. */
	struct view *view;
	const struct changes_root *changes;
	const struct entry *here; /* the project's root as it is now */
	const struct plan *plan; /* has the refusals of all changes */
};

/* Frees all that *r owns. */
void review_free(struct review *r);
/* Frees all that *e owns. */
void review_entry_free(struct review_entry *e);
/* base and want must live as long. Of a .git that was there, only what git
 * executes or is told to is an item: its configuration, hooks and the like. */
int review_make(struct store *store, const struct entry *base,
		const struct entry *want, const struct review_options *options,
		struct review *ret, struct err *err);

/* Adds the conflicts of a plan of all changes. */
void review_add_clashes(struct review *r, const struct conflict_list *list);
bool review_has_clash(const struct review *r, const struct review_item *item);

/* The items of entries [first, end), all below dir ("" the root), appended. */
void review_add_items(struct review *r, size_t first, size_t end,
		      const char *dir);
/* One item of so many numbers, which become its own. */
void review_add_item(struct review *r, const char *path, size_t *list,
		     size_t count, bool move);

/* The first, or the i-th. Of a move the first is where it went. */
const struct review_entry *review_entry(const struct review *r,
					const struct review_item *item);
struct review_entry *review_entry_at(const struct review *r,
				     const struct review_item *item, size_t i);
/* The path is a directory, or was one if it is deleted. */
bool review_is_dir(const struct review_entry *e);
/* A directory with its entries. */
bool review_is_group(const struct review_item *item);
/* The worst loss of its entries (enum loss of view.h). */
unsigned int review_worst_loss(const struct review *r,
			       const struct review_item *item);
/* Whether an entry of it is critical, or refused without a consent: a yes for
 * several items at once is none for it. */
bool review_needs_consent(const struct review *r,
			  const struct review_item *item);
/* Whether an entry of it is refused without a confirmation of its own. */
bool review_is_refused(const struct review *r, const struct review_item *item);
/* Appends the accepted special and critical entries, NULL-terminated: each was
 * answered alone. */
void review_list_agreed(const struct review *r, char ***to);

/* The old side of an item that is no group: of a moved file, at its old name.
 */
const struct entry *review_old(const struct review *r,
			       const struct review_item *item);
/* Reads its texts and takes them apart; done once. An item that is not read
 * (binary, large, a link) has one part. An answer that the item had before is
 * that of all its parts. */
int review_open(struct review *r, struct review_item *item, struct err *err);
/* Frees the texts of an item whose parts all have the same answer, and keeps
 * that: review_open() reads them again. Other items stay as they are. */
void review_close(struct review *r, struct review_item *item);
/* Appends the content of one side; nothing for an entry that is no regular
 * file. */
int review_read(const struct review *r, const struct entry *e, struct buf *to,
		struct err *err);
/* The hunk of a part, or NULL. */
struct hunk *review_hunk(const struct review_item *item, size_t part);

/* Whether review_split() can split a part. */
bool review_can_split(const struct review *r, const struct review_item *item,
		      size_t part);
/* Splits a part: a hunk into smaller hunks, or a directory into its entries.
 * After the split of a directory items have moved: the first part is at the
 * same index. */
void review_split(struct review *r, size_t item, size_t part);

/*
 * review_moves.c: takes the moves of a list of changes, and makes items of
 * them: a directory with the entries that moved unchanged with it, or a file.
 * One yes accepts both ends; split, each can be accepted alone. Entries in
 * generated directories, changes of type and refused entries are never moves.
 */
void review_moves_find(struct review *r, const struct change_list *list);
void review_moves_add_items(struct review *r);
/* The old path: the other end of the i-th entry's pair. */
const struct review_entry *review_moved_from(const struct review *r,
					     const struct review_item *item,
					     size_t pair);

/* Records the answer for a part. A yes to a refused item, as of
 * review_is_refused(), becomes a no. */
void review_answer_part(struct review *r, struct review_item *item, size_t part,
			enum review_answer answer);

/* The answers of an item's parts. */
struct review_tally {
	size_t yes, no, open;
};

struct review_tally review_tally(const struct review_item *item);

struct review_counts {
	size_t items, yes, no, partly, open;
	size_t open_first; /* deleted or risky ones not decided on */
};
/* Adds the items of r to the counts. */
void review_count(const struct review *r, struct review_counts *to);
/* A part of the item is accepted. */
bool review_is_accepted(const struct review_item *item);

/*
 * base with the accepted changes. *ret_complete: all changes are accepted, and
 * the result is want itself; *ret_git: an accepted path is in a .git.
 */
int review_make_accepted(struct review *r, struct entry *ret_root,
			 bool *ret_complete, bool *ret_git, struct err *err);

#endif
