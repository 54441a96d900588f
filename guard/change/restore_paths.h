/*
 * The restore of stored paths: in place, by a plan from the present state, or
 * into another directory in which their names are free.
 *
 * In place the wanted tree is the present one with the stored paths in it.
 * Missing parent directories come from the snapshot of the path. A .git that
 * exists stays unchanged unless a path names it: an older HEAD, index or ref
 * would hide later commits. A file that was not read completely when it was
 * stored replaces nothing: the file of now stays, with a warning.
 */
#ifndef GUARD_CHANGE_RESTORE_PATHS_H
#define GUARD_CHANGE_RESTORE_PATHS_H

#include <stdbool.h>

#include "guard/change/changeset.h"
#include "snapshot/tree/catalog.h"

/* One PATH of the command line, found in a snapshot. */
struct restore_target {
	char *arg; /* absolute */
	char *pattern; /* the PATH with wildcards that matched, or NULL */
	char *path; /* in the snapshot's root */
	struct snapshot snapshot;
	struct entry entry;
	/* Paths in the root whose content or attributes are lost: entries of
	 * this target have ENTRY_INCOMPLETE there. Sorted. */
	struct names lost;
};

enum restore_overwrite {
	OVERWRITE_IF_CHANGED, /* files that differ from the stored ones */
	OVERWRITE_ALWAYS, /* the same, with every file read again */
	OVERWRITE_NEVER, /* only missing files */
};

struct restore_paths {
	struct context *c;
	/* All targets are of one root; at least one; borrowed. */
	const struct restore_target *targets;
	size_t count;
	const char *to; /* the other directory, absolute; NULL: in place */
	bool exact; /* delete entries that the snapshot does not have */
	enum restore_overwrite overwrite;
	/* The root does not exist: it is created, with the mode and owner of
	 * the snapshot. */
	bool root_missing;
	struct changeset change; /* one root, after the plan */
};

/* Is the content of this entry, at this path in the root, lost? */
bool restore_paths_lost(const struct restore_target *t, const char *path,
			const struct entry *e);
/* Prints what a restore of the target skips. shown: the target's path. */
int restore_paths_report(struct store *store, const struct restore_target *t,
			 const char *shown, struct err *err);

/* Unlocks the root and frees the plan. */
void restore_paths_free(struct restore_paths *r);

/*
 * In place: locks the root, stores its present state and makes the plan.
 * Into another directory: plans from its present names alone; nothing in it is
 * read, stored or replaced. A single new file needs no plan: the changeset has
 * no roots then. -ENOTDIR: an entry of another type is in the place of a parent
 * directory.
 */
int restore_paths_plan(struct restore_paths *r, struct err *err);
/* Executes the plan and, in place, records it as an action. -EEXIST: a name in
 * the other directory is not free. */
int restore_paths_execute(struct restore_paths *r, struct err *err);

#endif
