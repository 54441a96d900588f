/*
 * The words in which two lines differ, for the marks in a text.
 */
#ifndef GUARD_REVIEW_WORDS_H
#define GUARD_REVIEW_WORDS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/vec.h"

struct words_range {
	size_t at, len; /* bytes */
};

struct words_ranges {
	struct words_range *items;
	size_t count, capacity;
};

/* Appends the ranges that only the old and only the new line has. Nothing is
 * appended when the lines have less than a third in common: marks all over a
 * line show nothing. A word is a sequence of letters, digits, '_' and bytes
 * above 127; any other byte is a word of its own. */
void words_compare(const char *old, size_t old_len, const char *now,
		   size_t now_len, struct words_ranges *ret_old,
		   struct words_ranges *ret_now);

#endif
