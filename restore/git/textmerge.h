/*
 * Three-way merge of texts, by libgit2 from memory alone, in the parsing worker
 * (restore/parse/parse.h). The answer is checked: it has only lines of the two
 * sides and conflict markers.
 */
#ifndef GUARD_RESTORE_GIT_TEXTMERGE_H
#define GUARD_RESTORE_GIT_TEXTMERGE_H

#include <stdbool.h>

#include "base/err.h"
#include "base/mem.h"

/* Larger files are not merged: the time of a merge grows faster than its texts,
 * and the texts may be untrusted. */
#define TEXTMERGE_MAX (4u << 20)

struct textmerge_sides {
	const struct buf *base; /* NULL: none */
	const struct buf *ours, *theirs;
	/* Labels of the sides in conflict markers; one line without control
	 * characters. */
	const char *our_label, *their_label;
};

/* Whether the text is at most TEXTMERGE_MAX long and has no NUL. */
bool textmerge_is_text(const struct buf *text);

/* 1: merged; 0: *ret has conflict markers. All sides pass textmerge_is_text().
 * -ENOPKG, -EIO: libgit2 is missing or failed; -EPROTO: the worker did. */
int textmerge(const struct textmerge_sides *sides, struct buf *ret,
	      struct err *err);

#endif
