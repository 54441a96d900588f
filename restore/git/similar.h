/*
 * How alike two files are, by libgit2's measure: what `git diff -M` counts.
 */
#ifndef GUARD_RESTORE_GIT_SIMILAR_H
#define GUARD_RESTORE_GIT_SIMILAR_H

#include <stddef.h>

#include "base/err.h"

/* What is kept of a file: about 1 KB, whatever its size. */
struct similar;

/* 1 and *ret, to free; 0: there is too little in it to be measured. */
int similar_make(const void *data, size_t len, struct similar **ret,
		 struct err *err);
void similar_free(struct similar **s);
/* Percent. */
unsigned similar_percent(const struct similar *a, const struct similar *b);

#endif
