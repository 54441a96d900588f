/*
 * Styled lines in rows of the full screen: the medium (styled.h) that cuts them
 * and keeps them, and the text of one item of a review.
 */
#ifndef GUARD_CLI_SCREEN_TEXT_H
#define GUARD_CLI_SCREEN_TEXT_H

#include "base/vec.h"
#include "guard/cli/styled.h"
#include "guard/review/review.h"

struct screen_line {
	char sign; /* sign of the styled line; '!': a critical or high risk */
	bool wrapped; /* the rest of the line above it */
	size_t part; /* styled.part */
	size_t at, len; /* in chars */
};

struct screen_text {
	struct styled styled; /* the columns of a row are its width */
	struct buf chars; /* escaped, with styles; a row begins in its own */
	VEC(struct screen_line) lines;
};

/* Empties the text, and makes it a medium for rows of so many columns. */
void screen_text_begin(struct screen_text *t, size_t columns);
void screen_text_free(struct screen_text *t);
/* The text of an item: notes, risks, and its hunks or entries. Opens the item.
 * words: marks changed words. */
void screen_text_make(struct screen_text *t, struct review *r,
		      struct review_item *item, size_t columns, bool words);
/* Appends the text of one row, without styles. */
void screen_text_row(const struct screen_text *t, size_t row, struct buf *to);
/* The line where a part begins. */
size_t screen_text_find_part(const struct screen_text *t, size_t part);

#endif
