/*
 * What a restore must not pass over without a word: an apply in a large
 * project stores a few paths only (guard/apply/applying_some.c). Such a
 * snapshot says nothing of a folder as a whole, so that an older one gives the
 * folder, although what lies in it was stored later, too.
 */
#ifndef GUARD_PAST_NEWER_H
#define GUARD_PAST_NEWER_H

#include "snapshot/tree/catalog.h"

/*
 * 1: something at or below the absolute path was stored otherwise after
 * `than`, in a snapshot of some paths: *ret_seq is the newest one that has any
 * of it. e: what `than` has there. 0: not so; negative: error.
 */
int newer_part(struct store *store, const struct snapshot *than,
	       const char *path, const struct entry *e, uint64_t *ret_seq,
	       struct err *err);

#endif
