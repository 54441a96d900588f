/*
 * The operations that an action applied in a directory, path by path.
 *
 * Another process may write to the project during the action, or between a
 * crash and its recovery. The state afterwards then differs from the state
 * before by more than the action, and undo must revert the action alone.
 * applied_ops_isolate() separates the two.
 */
#ifndef GUARD_RESTORE_APPLIED_OPS_H
#define GUARD_RESTORE_APPLIED_OPS_H

#include "restore/plan/plan.h"
#include "snapshot/tree/catalog.h"

struct applied_op {
	const char *path;
	const struct entry
		*to; /* the entry after the action; mode 0: deleted */
	bool emptied; /* an earlier entry was deleted here, with all entries
			 below it */
};

struct applied_ops {
	struct applied_op *items;
	size_t count, capacity;
	bool own; /* paths and entries are copies that the list owns */
	char *root_path; /* the directory, owned; NULL: the caller knows it */
};

/* Frees the list, and the copies that it owns. */
void applied_ops_free(struct applied_ops *d);
/* Adds an operation. path and to must outlive the list unless d->own is set,
 * which copies both. The order is free; a path may be added twice, once as
 * deleted and once as created. */
void applied_ops_add(struct applied_ops *d, const char *path,
		     const struct entry *to);
/* Adds all steps of the plan. */
void applied_ops_add_plan(struct applied_ops *d, const struct plan *plan);
/* Sorts the list. Call it once, before applied_ops_isolate(). */
void applied_ops_sort(struct applied_ops *d);

/*
 * Removes the changes of other processes from *after, a snapshot taken after
 * the action: its tree becomes `before` plus the listed operations. Each
 * applied entry is taken as found in *after; the version of the action is used
 * where the entry was written to again or is unreadable.
 *
 * Returns 1 when *after was changed; 0 when it holds no other change; a
 * negative errno on failure. A different mtime alone is not a change.
 */
int applied_ops_isolate(const struct applied_ops *d, struct store *store,
			const struct entry *before, struct snapshot *after,
			struct err *err);

/* Changes *root, the tree of the directory, by the listed operations in the
 * order in which they were added. only: the paths that the tree has, NULL: all.
 * Trees are stored, but no snapshot. */
int applied_ops_replay(const struct applied_ops *d, struct store *store,
		       char *const *only, struct entry *root, struct err *err);

#endif
