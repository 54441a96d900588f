/*
 * One item of a review as lines for the full screen: notes, risks, and its
 * hunks or entries, escaped and cut into rows of the screen.
 */
#ifndef GUARD_CLI_SCREEN_TEXT_H
#define GUARD_CLI_SCREEN_TEXT_H

#include "base/vec.h"
#include "guard/review/review.h"

struct screen_span {
	size_t at, len; /* in chars */
	bool word; /* a changed word */
};

struct screen_line {
	/* '+', '-', ' ': of a text; '@': head of a part; '#': a note; '!': a
	 * critical or high risk. */
	char sign;
	bool wrapped; /* the rest of the line above it */
	size_t part;
	size_t first, count; /* spans */
};

struct screen_text {
	struct buf chars; /* escaped */
	VEC(struct screen_span) spans;
	VEC(struct screen_line) lines;
};

/* Fills *t, which is empty or of another item, with the item's text in rows of
 * so many columns. Opens the item. words: marks changed words. */
void screen_text_make(struct screen_text *t, struct review *r,
		      struct review_item *item, size_t columns, bool words);
/* The rows of another text, with a sign in front of each of its lines. */
void screen_text_add(struct screen_text *t, char sign, const char *text,
		     size_t len, size_t columns);
/* The same of one line that is escaped already. */
void screen_text_add_escaped(struct screen_text *t, char sign, const char *text,
			     size_t columns);
/* Appends the text of one row. */
void screen_text_row(const struct screen_text *t, size_t row, struct buf *to);
void screen_text_clear(struct screen_text *t);
void screen_text_free(struct screen_text *t);

/* The line where a part begins. */
size_t screen_text_find_part(const struct screen_text *t, size_t part);

#endif
