/* Lookup of many paths in one tree. Each directory on the way is loaded once,
 * as long as the paths come in path order. */
#ifndef GUARD_RESTORE_PLAN_LOOKUP_H
#define GUARD_RESTORE_PLAN_LOOKUP_H

#include "base/vec.h"
#include "snapshot/tree/tree.h"

struct lookup_level {
	char *path; /* the directory's */
	struct tree tree;
};

struct lookup {
	struct store *store; /* borrowed, as is root */
	const struct entry *root;
	VEC(struct lookup_level) levels;
};

/* Frees the loaded directories; the struct can be used again. */
void lookup_free(struct lookup *l);

/* Like tree_lookup(): 1 and a copy in *ret; 0 and an empty *ret (mode 0) when
 * the path has no entry; or a negative errno. */
int lookup_find(struct lookup *l, const char *path, struct entry *ret,
		struct err *err);

#endif
