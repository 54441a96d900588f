/*
 * What a dry run has thought of doing, step after step: a later one has to be
 * told what the files would be by then, not what they are.
 */
#ifndef GUARD_PAST_THOUGHTS_H
#define GUARD_PAST_THOUGHTS_H

#include "restore/plan/plan.h"

struct thought {
	char *folder; /* absolute */
	char *path;
	struct entry to; /* mode 0: nothing */
};

struct thoughts {
	struct thought *items;
	size_t count, room;
};

void thoughts_free(struct thoughts *t);
/* The plan's steps in that folder would be done now. */
void thoughts_add(struct thoughts *t, const char *folder,
		  const struct plan *plan);
/* Makes *now, the root of what is there, what it would be. only: the paths that
 * were looked at, NULL: all. Puts trees into the store, and no snapshot. */
int thoughts_have(const struct thoughts *t, struct store *store,
		  const char *folder, char *const *only, struct entry *now,
		  struct err *err);

#endif
