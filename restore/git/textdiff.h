/* The difference of two texts, by libgit2 from memory alone: no repository,
 * configuration or attribute is read, and no program is run. */
#ifndef GUARD_RESTORE_GIT_TEXTDIFF_H
#define GUARD_RESTORE_GIT_TEXTDIFF_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct textdiff_line {
	char kind; /* ' ' context, '+', '-', '@' hunk header, '\\' no newline */
	const char *text; /* with its newline, not terminated, not escaped */
	size_t len;
	/* For a header: number of lines before the hunk in both texts. */
	size_t old_at, new_at;
};

/* Calls each() for every line; each NULL: only the counts (each may be NULL).
 * Returns 0, or 1: at least one side is not text, and each() is not called.
 * -ENOPKG: libgit2 is missing. */
int textdiff(const void *old, size_t old_len, const void *now, size_t now_len,
	     int context_lines,
	     int (*each)(void *arg, const struct textdiff_line *line),
	     void *arg, size_t *ret_added, size_t *ret_removed,
	     struct err *err);

/* 0, or -ENOPKG and the text that names libgit2's package. */
int textdiff_available(struct err *err);

#endif
