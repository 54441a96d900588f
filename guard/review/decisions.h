/*
 * The record of a review: what the user has decided on, kept in the run's
 * directory through quit, crash and kill, so that the next review of the run
 * continues. What is not decided on is not applied.
 *
 *	decisions_open()	loads the record, when the review begins
 *	decisions_replay()	onto the review of each root
 *	decisions_answer()...	change the review, and append a line
 *	decisions_free()	syncs
 *
 * An act names its item by the states of all its entries before and after the
 * run: an item with another state has no decision. The record lies outside of
 * everything that a run can see; the session's lock allows one writer.
 *
 * Every function takes NULL for a record that is not kept: then only the review
 * changes.
 */
#ifndef GUARD_REVIEW_DECISIONS_H
#define GUARD_REVIEW_DECISIONS_H

#include "guard/review/review_conflict.h"
#include "guard/review/review.h"

struct decisions;

/*
 * Loads runs/<id>/review; an empty record when the file is missing. dir_fd is
 * the run's directory. write: acts will be appended; the caller holds the
 * session's lock. A file that is damaged counts up to its last valid line.
 * -EPROTO: written by a newer guard.
 */
int decisions_open(int dir_fd, bool write, struct decisions **ret,
		   struct err *err);
/* Syncs and frees the record; *d becomes NULL. */
void decisions_free(struct decisions **d);

/*
 * Repeats the acts on the review of the root with this number (0: the project).
 * Returns the number of acts whose item has changed since: these are dropped.
 */
size_t decisions_replay(struct decisions *d, size_t root, struct review *r);

/* The first failure to write; 0: all acts are kept. A review continues without
 * its record. */
int decisions_failed(const struct decisions *d, struct err *err);

/* The acts between these two calls are one write(2): for an answer that decides
 * on many parts. */
void decisions_begin(struct decisions *d);
void decisions_end(struct decisions *d);

/* All parts of an item, as the argument `part`. */
#define DECISIONS_ALL ((size_t)-1)

/* review_answer_part(), kept; REVIEW_OPEN takes an answer back. */
void decisions_answer(struct decisions *d, size_t root, struct review *r,
		      struct review_item *item, size_t part,
		      enum review_answer answer);
/* review_split(), kept. */
void decisions_split(struct decisions *d, size_t root, struct review *r,
		     size_t item, size_t part);
/* Keeps the text of a hunk that hunks_edit() has just replaced. */
void decisions_edited(struct decisions *d, size_t root, struct review *r,
		      struct review_item *item, size_t part);
/* Marks an item as seen. */
void decisions_view(struct decisions *d, size_t root, struct review *r,
		    struct review_item *item, bool viewed);

/* Keeps the decision on a conflict. */
void decisions_conflict(struct decisions *d, struct store *store,
			const struct review_conflict *c);
/* The same for all of a list, as one write. */
void decisions_conflicts(struct decisions *d, struct store *store,
			 const struct review_conflicts *list);
/* Sets the choices that were kept for a conflict with the same three sides;
 * without them they stay as they are. */
void decisions_recall_conflict(const struct decisions *d, struct store *store,
			       struct review_conflict *c);

/* Removes the record. 0 also when there is none. */
int decisions_forget(int dir_fd, struct err *err);

#endif
