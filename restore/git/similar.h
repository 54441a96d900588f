/* Similarity of two files by libgit2's measure, as in `git diff -M`. */
#ifndef GUARD_RESTORE_GIT_SIMILAR_H
#define GUARD_RESTORE_GIT_SIMILAR_H

#include <stddef.h>

#include "base/err.h"

/* Fingerprint of a file: about 1 KB, whatever its size. */
struct similar;

/* 1 and *ret, to free; 0: the content is too short to be measured. */
int similar_make(const void *data, size_t len, struct similar **ret,
		 struct err *err);
void similar_free(struct similar **s);
/* In percent. */
unsigned similar_percent(const struct similar *a, const struct similar *b);

#endif
