/*
 * The wanted tree of a restore: the project as it is, with the stored paths in
 * it.
 *
 * Missing parent directories come from the snapshot of the path. A .git that
 * exists stays unchanged unless a path names it: an older HEAD, index or ref
 * would hide later commits.
 */
#ifndef GUARD_CHANGE_RESTORE_WANT_H
#define GUARD_CHANGE_RESTORE_WANT_H

#include <stdbool.h>

#include "snapshot/tree/catalog.h"

/* One PATH of the command line, found in a snapshot. */
struct restore_target {
	char *arg; /* absolute */
	char *pattern; /* the PATH with wildcards that matched, or NULL */
	char *path; /* in the snapshot's root */
	struct snapshot snapshot;
	struct entry entry;
};

enum restore_mode {
	RESTORE_ADD, /* entries that the snapshot does not have stay */
	RESTORE_EXACT, /* such entries are deleted */
	RESTORE_GONE, /* the root was missing and has just been recreated */
};

/*
 * now: the root as it is. The targets are of one root, at least one. With
 * RESTORE_GONE the root's own mode and owner come from the snapshot too.
 * -ENOTDIR: an entry of another type is in the place of a parent directory.
 */
int restore_want_make(struct store *store, const struct entry *now,
		      const struct restore_target *targets, size_t count,
		      enum restore_mode how, struct entry *ret,
		      struct err *err);

/*
 * Replaces in ed, which has from->entry at `prefix`, every file that was not
 * read completely when it was stored by the file in `now`, and warns about it.
 * A target that is itself such a file stays in ed, so that the plan refuses it.
 * exact: also puts back the entries of `now` that are missing in a directory
 * that was not read completely, since the snapshot does not tell that they are
 * to be deleted.
 */
int restore_want_skip_unread(struct store *store, const struct entry *now,
			     const struct restore_target *from,
			     const char *prefix, struct tree_editor *ed,
			     bool exact, struct err *err);

#endif
