/*
 * The kinds of the hunks of a review, over all its roots, and answers to all
 * hunks of a kind. Modified texts only: deletions, additions, moves and items
 * with a critical risk have no kind.
 *
 * A split of an item moves the others: the kinds have to be made again.
 */
#ifndef GUARD_REVIEW_REVIEW_KINDS_H
#define GUARD_REVIEW_REVIEW_KINDS_H

#include "guard/review/decisions.h"
#include "guard/review/kinds.h"

/* Where an item of the kinds is: the number of the review, and of its item. */
struct review_kinds_item {
	size_t root, item;
};

struct review_kinds {
	struct kinds kinds;
	VEC(struct review_kinds_item) items;
	struct review **reviews; /* borrowed */
};

/* Frees all that *k owns. */
void review_kinds_free(struct review_kinds *k);

/* Opens the modified texts of `count` reviews, which must live as long as the
 * kinds; an item that cannot be read has none. */
void review_kinds_make(struct review **reviews, size_t count,
		       struct review_kinds *ret);

/* The review and the item of a place in the kinds. */
struct review *review_kinds_review(const struct review_kinds *k, size_t item);
struct review_item *review_kinds_item(const struct review_kinds *k,
				      size_t item);

/* The answer that all hunks of a kind have, REVIEW_OPEN where they differ.
 * *ret_mixed: some are decided on. */
enum review_answer review_kinds_answered(const struct review_kinds *k,
					 const struct kind *kind,
					 bool *ret_mixed);
/* decisions_answer() for all hunks of a kind, as one write. d: or NULL. */
void review_kinds_answer(struct review_kinds *k, struct decisions *d,
			 const struct kind *kind, enum review_answer answer);

#endif
