/*
 * What a restore must not pass over without a word: an apply in a large
 * project stores a few paths only (guard/change/apply_partial.c). Such a
 * snapshot says nothing of a folder as a whole, so that an older one gives the
 * folder, although what lies in it was stored later, too.
 */
#ifndef GUARD_HISTORY_NEWER_VERSION_H
#define GUARD_HISTORY_NEWER_VERSION_H

#include "snapshot/tree/catalog.h"

/* What was chosen, and what is asked of everything that came after it. */
struct newer_version {
	const struct snapshot *than;
	/* Only of snapshots that are not younger; {0}: of all. */
	struct timestamp until;
	const char *path; /* absolute */
	/* Only of what is like this, or lies in a folder that is; NULL: of all
	 * that is at or below path. */
	const char *pattern;
};

/*
 * 1: some of it was stored otherwise after `than`, in a snapshot of some
 * paths: *ret_seq is the newest one that has any of it. 0: not so; negative:
 * error.
 */
int newer_version_find(struct store *store, const struct newer_version *n,
		       uint64_t *ret_seq, struct err *err);

#endif
