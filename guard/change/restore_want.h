/*
 * What a restore wants: the project as it is, with stored paths put into it.
 *
 * Folders above a path that are missing come from its snapshot too. A .git
 * that is there now is left as it is unless a path names it: an older HEAD,
 * index or ref would hide commits that were made since.
 */
#ifndef GUARD_CHANGE_RESTORE_WANT_H
#define GUARD_CHANGE_RESTORE_WANT_H

#include <stdbool.h>

#include "snapshot/tree/catalog.h"

/* One PATH of the command line, found in a snapshot. */
struct restore_target {
	char *arg; /* absolute */
	char *pattern; /* that it was found by, or NULL */
	char *path; /* in the snapshot's root */
	struct snapshot snapshot;
	struct entry entry;
};

enum restore_mode {
	RESTORE_ADD, /* what the snapshot has not, stays */
	RESTORE_EXACT, /* ... goes, where the snapshot says so */
	RESTORE_GONE, /* there is nothing that could stay */
};

/*
 * now: the root as it is. RESTORE_GONE: it was made anew just now, so that
 * its own mode and owner come from the snapshot. -ENOTDIR: something else
 * stands where a path needs a folder. The targets are of one root.
 */
int restore_want_make(struct store *store, const struct entry *now,
		      const struct restore_target *targets, size_t count,
		      enum restore_mode how, struct entry *ret,
		      struct err *err);

/*
 * Takes back out of ed, where from->entry stands at `prefix`, what could not be
 * read whole when it was stored, and names it: such a file stays as it is in
 * `now`. A file that it itself is stays, so that the plan refuses it.
 * exact: ed is short of what `now` has in a folder that was not read whole;
 * nothing says that it shall go.
 */
int restore_want_skip_unread(struct store *store, const struct entry *now,
			     const struct restore_target *from,
			     const char *prefix, struct tree_editor *ed,
			     bool exact, struct err *err);

#endif
