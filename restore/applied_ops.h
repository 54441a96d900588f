/*
 * What an action did in a folder, path by path. Somebody may have worked there
 * while it went on, or between its sudden end and its recovery: what the folder
 * is afterwards is more than what the action made of it, and undo must take
 * back no more than that.
 */
#ifndef GUARD_RESTORE_APPLIED_OPS_H
#define GUARD_RESTORE_APPLIED_OPS_H

#include "snapshot/tree/catalog.h"

struct applied_op {
	const char *path;
	const struct entry *to; /* what it was made; mode 0: nothing */
	bool emptied; /* what was there before, and all below it, went */
};

struct applied_ops {
	struct applied_op *items;
	size_t count, capacity;
	bool own; /* paths and entries are its own */
};

void applied_ops_free(struct applied_ops *d);
/* path and to stay where they are, or are copied where d.own is set. In any
 * order; the same path may come twice, as deleted and as made. */
void applied_ops_add(struct applied_ops *d, const char *path,
		     const struct entry *to);
/* Before they are asked for. */
void applied_ops_sort(struct applied_ops *d);

/*
 * 1: *after had more than that, and is now the tree before with just what was
 * done, each of it as it was found afterwards, unless somebody wrote to it
 * again or it could not be read: then as it was made. 0: it had no more. Times
 * alone are nobody's.
 */
int applied_ops_isolate(const struct applied_ops *d, struct store *store,
			const struct entry *before, struct snapshot *after,
			struct err *err);

#endif
