/*
 * The delta of two stored trees: the list of the paths that differ, with the
 * bytes of both sides. The changes of a run are the delta of its base and
 * result; two snapshots, and the results of two runs, are compared in the same
 * way. No layer is read.
 *
 *	struct delta d = {.store = &...}; entry_copy(&d.old, ...); ...
 *	delta_list()
 *	delta_entry(), delta_read()
 *	delta_free()
 */
#ifndef GUARD_CHANGE_DELTA_H
#define GUARD_CHANGE_DELTA_H

#include "base/mem.h"
#include "base/vec.h"
#include "overlay/change_list.h"
#include "restore/plan/lookup.h"
#include "snapshot/tree/entry.h"

struct store;

/* A regular file of the old tree that differs. A run may create millions of
 * files, which need no row. */
struct delta_row {
	const char *path; /* the list's */
	struct change_side old;
	struct oid content; /* OBJECT_NONE: empty */
};

struct delta {
	/* The variable of the caller, which may close and open the store again
	 * between two calls. */
	struct store *const *store;
	struct entry old, now; /* the roots of the trees; mode 0: no entry */
	/* In the order of path_compare(); of delta_list(). */
	VEC(struct delta_row) rows;
	struct lookup find[2]; /* old, now; of delta_entry() */
};

/* Frees the roots and rows; the store stays. Call it before the list of
 * delta_list() is freed. */
void delta_free(struct delta *d);

/* Whether a tree may have the path, although it has no entry there: it was
 * excluded, or could not be read. now: the newer one of the trees. */
typedef bool delta_unrecorded(void *arg, const char *path, bool now);

/*
 * Appends the differences to *to, in the order of path_compare(), the root
 * itself only if both trees have one, and none of an mtime alone. unrecorded:
 * NULL, or called for each path that one tree lacks; a path for which it
 * returns true is skipped. Returns 0 or a negative errno of the store.
 */
int delta_list(struct delta *d, delta_unrecorded *unrecorded, void *arg,
	       struct change_list *to, struct err *err);

/* The old file at path, or NULL. */
const struct delta_row *delta_find(const struct delta *d, const char *path);
/* A copy of the entry at path in one of the trees, to free; fastest for paths
 * in their order. -ENOENT: the tree lacks it. */
int delta_entry(struct delta *d, const char *path, bool now, struct entry *ret,
		struct err *err);
/* Appends the bytes of a regular file or the target of a symbolic link. -EFBIG:
 * it has more than max bytes. */
int delta_read(struct delta *d, const char *path, bool now, uint64_t max,
	       struct buf *to, struct err *err);

#endif
