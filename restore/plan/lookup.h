/*
 * Looking up many paths of one tree, asked for in path order: every folder on
 * the way is loaded once, as long as the questions do not jump about.
 */
#ifndef GUARD_RESTORE_PLAN_LOOKUP_H
#define GUARD_RESTORE_PLAN_LOOKUP_H

#include "snapshot/tree/tree.h"

struct lookup_level {
	char *path; /* of the folder */
	struct tree tree;
};

struct lookup {
	struct store *store; /* borrowed, as is root */
	const struct entry *root;
	struct lookup_level *levels;
	size_t count, capacity;
};

void lookup_free(struct lookup *l);

/* As tree_lookup(): 1 and a copy in *ret, 0 (and *ret empty: mode 0) when
 * there is nothing, or negative. */
int lookup_find(struct lookup *l, const char *path, struct entry *ret,
		struct err *err);

#endif
