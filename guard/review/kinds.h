/*
 * Kinds of hunks: hunks that are alike up to numbers, strings and identifiers,
 * so that 20,000 hunks of a codemod are read as a handful.
 *
 * The key of a hunk is its '-' and '+' lines as tokens, without the whitespace
 * between them. A value (number, string, identifier) that is on both sides is a
 * slot, numbered by its first occurrence. A value that is only removed or only
 * added is part of the key: a new URL makes a kind of its own. Hunks of one key
 * are one kind. A hunk that changes whitespace only keeps it in its key.
 *
 * A family joins kinds that differ only in values that they remove or add.
 *
 *	kinds_add()		for each hunk
 *	kinds_finish()		once: families, order, ids
 *	kinds_free()
 *
 * Pure: hunks are read while they are added, and only a sample of each kind is
 * copied.
 */
#ifndef GUARD_REVIEW_KINDS_H
#define GUARD_REVIEW_KINDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "restore/git/hunks.h"

/* Ids of kinds, as printed: at least so many hex digits, more where kinds would
 * have the same id. */
#define KINDS_ID_LEAST 6
#define KINDS_ID_MAX 16

/* Where a hunk is: two numbers of the caller's. */
struct kind_place {
	size_t item, part;
};

struct kind {
	char id[KINDS_ID_MAX + 1]; /* complete; k->id_len of it are printed */
	VEC(struct kind_place) places; /* in the order of kinds_add() */
	size_t files; /* different items */
	bool marked; /* one of its hunks was */
	struct buf sample; /* the '-' and '+' lines of the first hunk */
	/* The values that it removes and that it adds, with blanks between. */
	char *removed, *added;
	struct buf key, family_key;
};

/* A family, or a kind that has none. */
struct kind_family {
	size_t first, count; /* its kinds, which follow each other */
	size_t hunks, files;
	bool marked;
};

struct kinds {
	/* After kinds_finish(): families in their order, marked ones first,
	 * then those of few hunks; in a family the rarest kind first. */
	VEC(struct kind) items;
	VEC(struct kind_family) families;
	size_t hunks;
	size_t usual; /* the kind with the most hunks, of items */
	int id_len; /* digits that tell all kinds apart */
	struct kinds_work *work; /* until kinds_finish() */
};

/* Frees all that *k owns, and empties it. */
void kinds_free(struct kinds *k);

/* Adds a hunk. All hunks of an item follow each other. marked: the hunk
 * deserves a look of its own. */
void kinds_add(struct kinds *k, size_t item, size_t part, const struct hunk *h,
	       bool marked);
/* Finds the families and sorts. No hunk may be added after it. */
void kinds_finish(struct kinds *k);

/* The complete id of the kind that the hunk is of, whatever kinds there are.
 * Not after kinds_finish(). */
void kinds_id(struct kinds *k, const struct hunk *h,
	      char ret[static KINDS_ID_MAX + 1]);

/* The kind with this id, or with an id that begins so; NULL: none, or (then
 * *ret_ambiguous) several. At least KINDS_ID_LEAST digits. */
const struct kind *kinds_find(const struct kinds *k, const char *id,
			      bool *ret_ambiguous);

#endif
