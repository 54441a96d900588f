/* Values that a user types or that a settings file holds: numbers and sizes.
 * The whole text must match: blanks, signs and trailing text are refused. */
#ifndef GUARD_BASE_PARSE_H
#define GUARD_BASE_PARSE_H

#include <stdbool.h>
#include <stdint.h>

/* Reads a decimal number of at most max. Returns 0 and sets *ret, or -1 and
 * leaves *ret unchanged. */
int parse_number(const char *text, unsigned long max, unsigned long *ret);

/* Reads a size in bytes: "500M", "20GB", "1.5T", with the powers of 1000 that
 * text_size() prints. 0: the text is no size, or above 1e18. */
uint64_t parse_size(const char *text);

/* Whether the text can be a word in a list separated by commas, such as a
 * snapshot's tags: not empty, no comma or blank, valid UTF-8. */
bool parse_is_word(const char *text);

/* The milliseconds of "90", "90s", "1.5m", "2h", "1d", as timeout(1) reads
 * them; -1: no such time, or not above 0. */
int64_t parse_milliseconds(const char *text);

#endif
