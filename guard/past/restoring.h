/*
 * What a restore wants: the project as it is, with stored paths put into it.
 *
 * Folders above a path that are missing come from its snapshot too. A .git
 * that is there now is left as it is unless a path names it: an older HEAD,
 * index or ref would hide commits that were made since.
 */
#ifndef GUARD_PAST_RESTORING_H
#define GUARD_PAST_RESTORING_H

#include <stdbool.h>

#include "snapshot/tree/catalog.h"

/* One PATH of the command line, found in a snapshot. */
struct restoring_target {
	char *arg; /* absolute */
	char *pattern; /* that it was found by, or NULL */
	char *path; /* in the snapshot's root */
	struct snapshot snapshot;
	struct entry entry;
};

enum restoring_how {
	RESTORING_ADD, /* what the snapshot has not, stays */
	RESTORING_EXACT, /* ... goes, where the snapshot says so */
	RESTORING_GONE, /* there is nothing that could stay */
};

/*
 * now: the root as it is. RESTORING_GONE: it was made anew just now, so that
 * its own mode and owner come from the snapshot. -ENOTDIR: something else
 * stands where a path needs a folder. The targets are of one root.
 */
int restoring_make_want(struct store *store, const struct entry *now,
			const struct restoring_target *targets, size_t count,
			enum restoring_how how, struct entry *ret,
			struct err *err);

/*
 * Takes back out of ed, where from->entry stands at `prefix`, what could not be
 * read whole when it was stored, and names it: such a file stays as it is in
 * `now`. A file that it itself is stays, so that the plan refuses it.
 * exact: ed is short of what `now` has in a folder that was not read whole;
 * nothing says that it shall go.
 */
int restoring_leave_out(struct store *store, const struct entry *now,
			const struct restoring_target *from, const char *prefix,
			struct tree_editor *ed, bool exact, struct err *err);

#endif
