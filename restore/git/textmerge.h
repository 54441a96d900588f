/*
 * Three-way merge of texts, by libgit2 from memory alone, in the parsing worker
 * (restore/parse/parse.h). The answer is checked: it has only lines of the two
 * sides and conflict markers.
 */
#ifndef GUARD_RESTORE_GIT_TEXTMERGE_H
#define GUARD_RESTORE_GIT_TEXTMERGE_H

#include <stdbool.h>

#include "base/err.h"
#include "base/vec.h"

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

/* A piece of a merged text: lines without a conflict, in ours; or the lines of
 * all three sides that are in conflict. */
struct textmerge_part {
	bool conflict;
	struct buf base, ours, theirs;
};

struct textmerge_parts {
	struct textmerge_part *items;
	size_t count, capacity;
};

/* Frees the parts and leaves the list empty. */
void textmerge_parts_free(struct textmerge_parts *parts);
/*
 * The merge as parts, appended; the labels are not used. 1: without a conflict;
 * 0: with conflicts; errors as of textmerge(), and -EFBIG for a line that
 * begins with very many characters of a conflict marker.
 */
int textmerge_parts_make(const struct textmerge_sides *sides,
			 struct textmerge_parts *ret, struct err *err);

#endif
