/*
 * What tree_diff() says of two trees, kept for whoever needs it again: reading
 * and comparing them is what takes the time.
 */
#ifndef GUARD_SNAPSHOT_TREE_DIFFERENCES_H
#define GUARD_SNAPSHOT_TREE_DIFFERENCES_H

#include "snapshot/tree/tree.h"

struct difference {
	char *path;
	struct entry a, b; /* mode 0: nothing there */
};

struct differences {
	struct difference *items;
	size_t count, capacity;
	bool complete; /* none is missing; the collector's to set */
};

void differences_free(struct differences *d);
/* Copies one, as tree_diff()'s each() gets it. */
void differences_add(struct differences *d, const char *path,
		     const struct entry *a, const struct entry *b);
/* Calls each() as tree_diff() did. */
int differences_each(const struct differences *d,
		     int (*each)(void *arg, const char *path,
				 const struct entry *a, const struct entry *b,
				 struct err *err),
		     void *arg, struct err *err);

#endif
