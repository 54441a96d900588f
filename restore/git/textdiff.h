/*
 * The difference of two texts, by libgit2 from memory alone: no repository,
 * configuration or attribute is read, and no program is run.
 *
 * libgit2 compares in the parsing worker (restore/parse/parse.h), which answers
 * with numbers of lines. The lines are taken from the texts themselves, and the
 * answer is checked: a line that the difference leaves out, or shows as
 * unchanged, is equal in both texts.
 */
#ifndef GUARD_RESTORE_GIT_TEXTDIFF_H
#define GUARD_RESTORE_GIT_TEXTDIFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct textdiff_line {
	char kind; /* ' ' context, '+', '-', '@' hunk header, '\\' no newline */
	/* With its newline, not terminated, not escaped. A line of a text
	 * points into it, an unchanged one into the old. */
	const char *text;
	size_t len;
	/* For a header: number of lines before the hunk in both texts. */
	size_t old_at, new_at;
};

/* Calls each() for every line; each NULL: only the counts (each may be NULL).
 * Returns 0, or 1: at least one side is not text, and each() is not called.
 * -ENOPKG: libgit2 is missing. -EPROTO: the worker failed; each() may have been
 * called for correct lines. */
int textdiff(const void *old, size_t old_len, const void *now, size_t now_len,
	     int context_lines,
	     int (*each)(void *arg, const struct textdiff_line *line),
	     void *arg, size_t *ret_added, size_t *ret_removed,
	     struct err *err);

/* A reader of a text, line by line. */
struct textdiff_reader {
	const char *at, *end;
	uint64_t line; /* number of lines read */
};

/* The reader at the start of a text, which may be NULL if it is empty. */
struct textdiff_reader textdiff_read(const void *data, size_t len);
/* The next line with its line feed, if any; false: there is none. */
bool textdiff_next(struct textdiff_reader *r, const char **ret,
		   size_t *ret_len);

/* 0; -ENOPKG: the text names libgit2's package; -EPROTO. */
int textdiff_available(struct err *err);

#endif
