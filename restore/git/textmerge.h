/*
 * Three versions of a text put together into one, by libgit2 from memory
 * alone, as textdiff.h compares two.
 */
#ifndef GUARD_RESTORE_GIT_TEXTMERGE_H
#define GUARD_RESTORE_GIT_TEXTMERGE_H

#include <stdbool.h>

#include "base/err.h"
#include "base/mem.h"

/* Above it a file is not merged: the time that a merge takes grows faster than
 * its texts, and the texts may come from a stranger. */
#define TEXTMERGE_MAX (4u << 20)

struct textmerge_sides {
	const struct buf *base; /* NULL: there was none */
	const struct buf *ours, *theirs;
	/* What conflict markers call the sides; one line, no control
	 * characters. */
	const char *our_label, *their_label;
};

/* Not above TEXTMERGE_MAX, and without a NUL. */
bool textmerge_is_text(const struct buf *text);

/*
 * 1: clean; 0: *ret has conflict markers. All sides are textmerge_is_text().
 * -ENOENT, -EIO: libgit2 cannot be had, or has failed.
 */
int textmerge(const struct textmerge_sides *sides, struct buf *ret,
	      struct err *err);

#endif
