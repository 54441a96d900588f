/*
 * The result of tree_diff(), stored for a second use: reading and comparing two
 * trees is the expensive part.
 */
#ifndef GUARD_SNAPSHOT_TREE_DIFFERENCES_H
#define GUARD_SNAPSHOT_TREE_DIFFERENCES_H

#include "snapshot/tree/tree.h"

struct difference {
	char *path;
	struct entry a, b; /* mode 0: absent */
};

struct differences {
	struct difference *items;
	size_t count, capacity;
	bool complete; /* the list has all differences; set by the caller */
};

void differences_free(struct differences *d);
/* Adds a copy of one difference; signature of tree_diff()'s each(). */
void differences_add(struct differences *d, const char *path,
		     const struct entry *a, const struct entry *b);
/* Calls each() for every difference, in the order of tree_diff(). A negative
 * result of each() ends the loop and is returned. */
int differences_each(const struct differences *d,
		     int (*each)(void *arg, const char *path,
				 const struct entry *a, const struct entry *b,
				 struct err *err),
		     void *arg, struct err *err);

#endif
