/*
 * All versions of all stored paths, for find and grep.
 *
 * 	struct versions v = {.want = want, .arg = arg};
 *
 * 	versions_load(&v, store, "/home/me/project/src", &err)	any number
 * 	versions_sort(&v)					of times
 * 	... v.items ...
 * 	versions_free(&v)
 *
 * A version is a path with the same type, content, mode, owner and attributes,
 * in any number of snapshots. Each snapshot of a root is compared with the
 * previous one, so that the cost depends on the number of changes and not on
 *the number of files.
 */
#ifndef GUARD_HISTORY_VERSIONS_H
#define GUARD_HISTORY_VERSIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "guard/state/context.h"

struct version {
	char *path; /* absolute */
	struct entry entry; /* without its name */
	uint64_t first, last; /* the snapshots that have it */
	struct timestamp first_time, last_time;
	size_t snapshots; /* how many have it */
	bool newest; /* the newest snapshot of the root has it */
	/* Private. */
	size_t chain; /* index of the chain of snapshots of one root */
	size_t next; /* index of the next version in the slot, + 1; 0: none */
	size_t opened; /* position in the chain where it began, + 1; 0: ended */
};

struct versions {
	/* Selects the paths; NULL: all. */
	bool (*want)(void *arg, const char *path, const struct entry *e);
	/* Called after each snapshot; may be NULL. */
	void (*progress)(void *arg, const char *noun, uint64_t done,
			 uint64_t total);
	void *arg;

	struct version *items;
	size_t count, capacity;
	size_t damaged; /* snapshots that could not be read completely; each
			   was reported */
	size_t *slots, slot_count;
};

/*
 * Adds the versions at or below path (absolute), from all snapshots or from the
 * snapshot that `at` names (as in locate_find()), including snapshots of roots
 * above and below path.
 */
int versions_load(struct versions *v, struct context *c, const char *path,
		  const char *at, struct err *err);
/* Sorts by path, the newest version first, and merges equal versions of several
 * roots. versions_load() must not be called after it. */
void versions_sort(struct versions *v);
void versions_free(struct versions *v);

#endif
