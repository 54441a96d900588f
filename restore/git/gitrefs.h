/* Refs and reflogs of one git repository, read as text from a tree in the
 * store, without git and without a library. Unreadable parts are listed in
 * notes. */
#ifndef GUARD_RESTORE_GIT_GITREFS_H
#define GUARD_RESTORE_GIT_GITREFS_H

#include "restore/git/gitid.h"
#include "snapshot/tree/tree.h"

/* Lines for people: skipped parts with the reason. */
struct gitnotes {
	char **items;
	size_t count, capacity;
};

struct gitref {
	char *name; /* complete; "stash@" and the id for an entry of the stash
		     */
	struct gitid id;
	size_t order; /* a later ref hides an earlier one; stash: its number */
};

struct gitrefs {
	struct store *store;
	struct gitnotes *notes; /* NULL: none */
	const char *prefix; /* current prefix of the read paths */
	struct gitref *items; /* sorted by name */
	size_t count, capacity;
	size_t ref_max; /* 0: no limit of its own */
	struct gitid *logged; /* sorted; may hold duplicates */
	size_t logged_count, logged_capacity;
	size_t seen;
};

void gitrefs_free(struct gitrefs *r);
void gitrefs_free_notes(struct gitnotes *n);

/* Adds "'name' text" up to a limit; n may be NULL. */
void gitrefs_note(struct gitnotes *n, const char *name, const char *text);

/* Reads the .git directory `git`; r->store and r->notes are set. -ENOTSUP: its
 * ids are not SHA-1, or its refs are stored elsewhere; -E2BIG, -EFBIG: too
 * large. */
int gitrefs_read(struct gitrefs *r, const struct entry *git, struct err *err);

#endif
