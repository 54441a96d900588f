/*
 * Every version of every path that the store remembers, for find and grep.
 *
 *	struct versions v = {.want = want, .arg = arg};
 *
 *	versions_load(&v, store, "/home/me/project/src", &err)	any number
 *	versions_sort(&v)					of times
 *	... v.items ...
 *	versions_free(&v)
 *
 * A version is a path with the same type, content, mode, owner and attributes,
 * however many snapshots hold it. Snapshots of one root are compared with the
 * one before them, so what it costs is what has changed, not how much there
 * is.
 */
#ifndef GUARD_HISTORY_VERSIONS_H
#define GUARD_HISTORY_VERSIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "snapshot/tree/catalog.h"

struct version {
	char *path; /* absolute */
	struct entry entry; /* without its name */
	uint64_t first, last; /* snapshots that hold it */
	struct timestamp first_time, last_time;
	size_t snapshots; /* how many do */
	bool newest; /* the newest snapshot of that root does */
	/* Its own. */
	size_t chain; /* of snapshots of one root */
	size_t next; /* of the same hash, + 1; 0: none */
	size_t opened; /* in the chain of snapshots, + 1; 0: not held now */
};

struct versions {
	/* Whether that path is to be kept at all; NULL: all are. */
	bool (*want)(void *arg, const char *path, const struct entry *e);
	/* Now and then: so many of so many snapshots. May be NULL. */
	void (*progress)(void *arg, size_t done, size_t count);
	void *arg;

	struct version *items;
	size_t count, capacity;
	size_t damaged; /* snapshots of which not all can be read; each was
			   named on stderr */
	size_t *slots, slot_count;
};

/*
 * Adds what is at path (absolute) or below it, in every snapshot or in the one
 * that `at` names (as in catalog_find()). Snapshots of roots above and below
 * it count.
 */
int versions_load(struct versions *v, struct store *store, const char *path,
		  const char *at, struct err *err);
/* By path, the newest first, what snapshots of several roots hold as one. No
 * loading after it. */
void versions_sort(struct versions *v);
void versions_free(struct versions *v);

#endif
