/*
 * The parts in which two texts differ, each of which can be accepted or
 * rejected.
 *
 * Lines point into the two texts, which must outlive the hunks. Only text
 * edited by the user is owned here.
 */
#ifndef GUARD_RESTORE_GIT_HUNKS_H
#define GUARD_RESTORE_GIT_HUNKS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/vec.h"

struct hunk_line {
	char kind; /* ' ', '-' or '+' */
	const char *text; /* with its line feed, if any */
	size_t len;
};

struct hunk {
	/* Lines of the old and the new text before the hunk, and in it. */
	size_t old_at, old_count, new_at, new_count;
	VEC(struct hunk_line) lines;
	bool accepted;
	char *edited; /* text that its lines point into instead, or NULL */
};

struct hunks {
	struct hunk *items;
	size_t count, capacity;
	size_t added, removed; /* lines */
};

/* Frees the hunks, not the two texts. */
void hunks_free(struct hunks *h);

/* 0, or 1: at least one side is not text (*ret stays empty). -ENOPKG, -EPROTO:
 * as textdiff(). */
int hunks_make(const struct buf *old, const struct buf *now, struct hunks *ret,
	       struct err *err);

/* Whether unchanged lines divide the hunk (an edited hunk is never divided),
 * and the division: each part keeps `accepted`. */
bool hunks_can_split(const struct hunk *h);
void hunks_split(struct hunks *h, size_t at);

/* Appends "@@ -1,2 +3,4 @@". */
void hunks_add_head(struct buf *to, const struct hunk *h);
/* Appends a line with its kind in front; without a line feed: the text too. */
void hunks_add_line(struct buf *to, const struct hunk_line *l,
		    const char *without_feed);

/* The old text with all accepted hunks applied. */
void hunks_compose(const struct hunks *h, const struct buf *old,
		   struct buf *to);

/* The hunk as text to edit, and the result of the edit; lines that begin with
 * '#' are ignored. -EINVAL: the ' ' and '-' lines differ from the old text; the
 * message names the line. -ECANCELED: the hunk is empty. */
void hunks_print(const struct hunk *h, struct buf *to);
int hunks_edit(struct hunks *h, size_t at, const char *text, struct err *err);

#endif
