/*
 * Finds newer versions of files in partial snapshots, for a warning of restore.
 * An apply in a large project stores only a few paths
 * (guard/change/apply_plan.c). Such a snapshot does not have a directory
 * completely, so that a restore takes the directory from an older snapshot,
 * although some of its files were stored later.
 */
#ifndef GUARD_HISTORY_NEWER_VERSION_H
#define GUARD_HISTORY_NEWER_VERSION_H

#include "snapshot/tree/catalog.h"

/* The snapshot that was chosen, and the paths to search for in later ones. */
struct newer_version {
	const struct snapshot *than;
	/* Only snapshots up to this time; {0}: all. */
	struct timestamp until;
	const char *path; /* absolute */
	/* Only paths that match, or lie in a directory that does; NULL: all at
	 * or below path. */
	const char *pattern;
};

/*
 * 1: a later partial snapshot has another version of one of the paths; *ret_seq
 * is the newest snapshot that has any of them. 0: there is none.
 */
int newer_version_find(struct store *store, const struct newer_version *n,
		       uint64_t *ret_seq, struct err *err);

#endif
