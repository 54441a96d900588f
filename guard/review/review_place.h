/*
 * Where a review stands: at a part of an item. Moving about in it, by order,
 * by what is still open, and by a search. What it comes to is opened
 * (review_open()).
 */
#ifndef GUARD_REVIEW_REVIEW_PLACE_H
#define GUARD_REVIEW_REVIEW_PLACE_H

#include "guard/review/review.h"

struct review_place {
	struct review *r; /* with at least one item */
	size_t item, part;
	bool show; /* newly come to: the part itself is to be shown */
};

/* An item that cannot be read is warned of, and has one part. */
void review_place_open(struct review_place *at, size_t item);
void review_place_go(struct review_place *at, size_t item, size_t part);

/* The next part, or the next that is open; false: there is none. */
bool review_place_move(struct review_place *at, bool back, bool open_only);
bool review_place_has_more(struct review_place *at, bool back, bool open_only);
/* After an answer: what is open behind it, else what was passed over. */
bool review_place_next_open(struct review_place *at);

/* The next part that matches, once round; says so if none does. */
void review_place_search(struct review_place *at, const char *text);

#endif
