/*
 * Values that a user types or that a settings file holds: numbers and sizes.
 * Only the whole text counts: blanks, signs and anything behind the value are
 * refused.
 */
#ifndef GUARD_BASE_PARSE_H
#define GUARD_BASE_PARSE_H

#include <stdbool.h>
#include <stdint.h>

/* A decimal number of at most max: 0 and *ret, else -1 and *ret unchanged. */
int parse_number(const char *text, unsigned long max, unsigned long *ret);

/*
 * Bytes: "500M", "20GB", "1.5T", with powers of 1000 as text_size() prints
 * them. 0 when the text is no size, or one above 1e18.
 */
uint64_t parse_size(const char *text);

/* Whether the text can stand in a list of words with commas, as a snapshot's
 * tags are given: not empty, no comma or blank, valid UTF-8. */
bool parse_is_word(const char *text);

#endif
