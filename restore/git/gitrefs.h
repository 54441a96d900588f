/*
 * The refs and reflogs of one git repository, read as text from a tree in the
 * store. No git and no library sees it; what cannot be read is named in notes.
 */
#ifndef GUARD_RESTORE_GIT_GITREFS_H
#define GUARD_RESTORE_GIT_GITREFS_H

#include "restore/git/gitparse.h"
#include "snapshot/tree/tree.h"

/* Lines for people: what was left out and why. */
struct gitnotes {
	char **items;
	size_t count, capacity;
};

struct gitref {
	char *name; /* whole; "stash@" and the id for an entry of the stash */
	struct gitid id;
	size_t order; /* later ones hide earlier ones; stash: its number */
};

struct gitrefs {
	struct store *store;
	struct gitnotes *notes; /* NULL: nobody wants to know */
	const char *prefix; /* of the paths that are read just now */
	struct gitref *items; /* sorted by name */
	size_t count, capacity;
	size_t ref_max; /* 0: none of its own */
	struct gitid *logged; /* sorted; one may be there several times */
	size_t logged_count, logged_capacity;
	size_t seen;
};

void gitrefs_free(struct gitrefs *r);
void gitrefs_free_notes(struct gitnotes *n);

/* "'name' text", unless there are enough of them; n may be NULL. */
void gitrefs_note(struct gitnotes *n, const char *name, const char *text);

/*
 * git: the entry of a .git folder; r->store and r->notes are set. -ENOTSUP:
 * its ids are not SHA-1, or its refs are not in its own files; -E2BIG, -EFBIG:
 * too much.
 */
int gitrefs_read(struct gitrefs *r, const struct entry *git, struct err *err);

#endif
