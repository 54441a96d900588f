/*
 * The current part of a review, and the ways to the next one: in order, to the
 * next open part, and by a search. review_open() opens each part that it
 * reaches.
 */
#ifndef GUARD_CLI_REVIEW_CURSOR_H
#define GUARD_CLI_REVIEW_CURSOR_H

#include "guard/review/review.h"

struct review_cursor {
	struct review *r; /* with at least one item */
	size_t item, part;
	bool show; /* newly come to: the part itself is to be shown */
};

/* An item that cannot be read is warned of, and has one part. */
void review_cursor_open(struct review_cursor *at, size_t item);
void review_cursor_set(struct review_cursor *at, size_t item, size_t part);

/* The next part, or the next that is open; false: there is none. */
bool review_cursor_move(struct review_cursor *at, bool back, bool open_only);
bool review_cursor_has_more(struct review_cursor *at, bool back,
			    bool open_only);
/* After an answer: moves to the next open part, else to the first skipped one.
 */
bool review_cursor_next_open(struct review_cursor *at);

/* The next part that matches, once round; says so if none does. */
void review_cursor_search(struct review_cursor *at, const char *text);

#endif
