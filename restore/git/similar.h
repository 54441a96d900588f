/*
 * Similarity of texts in percent, by libgit2's measure, as in `git diff -M`,
 * in the parsing worker (restore/parse/parse.h).
 *
 * Two texts: similar_percent(). Many: similar_add() for each, then
 * similar_compare(); the worker keeps a signature of about 1 KB for each text.
 * A worker that ends loses them, and the next call fails.
 */
#ifndef GUARD_RESTORE_GIT_SIMILAR_H
#define GUARD_RESTORE_GIT_SIMILAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/vec.h"

/* 0 to 99; 100 would mean the same bytes. 0 for a text that is too short.
 * Negative: -ENOPKG, -EPROTO. */
int similar_percent(const struct buf *a, const struct buf *b, struct err *err);

/* The texts that have been added; {0} is none. One search at a time. */
struct similar {
	VEC(bool) has; /* a signature */
};

void similar_free(struct similar *s);
/* Adds a text. The first has the number 0. */
int similar_add(struct similar *s, const struct buf *text, struct err *err);
/* Appends one byte for each of `count` numbers: the percent of this text and
 * text `number`. */
int similar_compare(const struct similar *s, size_t number, const size_t *with,
		    size_t count, struct buf *ret, struct err *err);

#endif
