/*
 * The parts in which two texts differ, each of which can be taken or left.
 *
 * Lines point into the two texts, which must live as long; only what a person
 * has edited is kept here.
 */
#ifndef GUARD_RESTORE_GIT_HUNKS_H
#define GUARD_RESTORE_GIT_HUNKS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/mem.h"

struct hunk_line {
	char kind; /* ' ', '-' or '+' */
	const char *text; /* with its line feed, if it has one */
	size_t len;
};

struct hunk {
	/* Lines of the old and the new text before it, and in it. */
	size_t old_at, old_count, new_at, new_count;
	struct hunk_line *lines;
	size_t count, capacity;
	bool accepted;
	char *edited; /* what its lines point into instead, or NULL */
};

struct hunks {
	struct hunk *items;
	size_t count, capacity;
	size_t added, removed; /* lines */
};

void hunks_free(struct hunks *h);

/* 0, or 1: at least one side is no text (*ret stays empty). */
int hunks_make(const struct buf *old, const struct buf *now, struct hunks *ret,
	       struct err *err);

/* Whether unchanged lines part it (one that was edited never), and into what:
 * each part as taken as it was. */
bool hunks_can_split(const struct hunk *h);
void hunks_split(struct hunks *h, size_t at);

/* The old text with all that is taken. */
void hunks_compose(const struct hunks *h, const struct buf *old,
		   struct buf *to);

/*
 * The hunk as a person gets it to edit, and what he made of it: lines that
 * begin with '#' are not read. -EINVAL: its ' ' and '-' lines are not the old
 * text's any more, and where. -ECANCELED: nothing is left of it.
 */
void hunks_print(const struct hunk *h, struct buf *to);
int hunks_edit(struct hunks *h, size_t at, const char *text, struct err *err);

#endif
