/* Moves among entries of the store. Files with the same bytes are found without
 * a read; texts are read only for candidates of similarity. */
#ifndef GUARD_RESTORE_GIT_MOVES_STORE_H
#define GUARD_RESTORE_GIT_MOVES_STORE_H

#include "restore/git/moves.h"
#include "snapshot/tree/entry.h"

struct moves_store {
	struct store *store;
	/* The entry that f stands for. */
	const struct entry *(*entry)(void *arg, const struct moves_file *f,
				     bool added);
	void *arg;
	struct hash_key hash; /* hashes the targets of symbolic links */
};

/* s and the objects in it must outlive the source. */
struct moves_source moves_of_store(struct moves_store *s);

/* All entries of two trees that exist on one side only. */
struct moves_trees {
	struct moves_store from;
	struct moves moves;
	struct entry *deleted, *added; /* indexed by the files' index */
	char **deleted_paths, **added_paths;
	size_t deleted_capacity, added_capacity;
};

/* Adds entries of other origin in any order; moves_trees_find() follows. *t is
 * {0} before and must not be moved in memory. */
void moves_trees_add(struct moves_trees *t, const char *path,
		     const struct entry *e, bool added);
/* Sorts the added entries and finds the moves among them. */
void moves_trees_find(struct moves_trees *t, struct store *store);

/* wanted(): whether the entry may be an end of a move. Added entries are not
 * visited when none was deleted. *ret must not be moved in memory. */
int moves_trees_make(struct store *store, const struct entry *old,
		     const struct entry *now,
		     bool (*wanted)(void *arg, const char *path,
				    const struct entry *e),
		     void *arg, struct moves_trees *ret, struct err *err);
/* Frees all copies of entries and paths. */
void moves_trees_free(struct moves_trees *t);
/* The move that begins at path, or (added) ends there; NULL: none. */
const struct moves_file *moves_trees_at(const struct moves_trees *t,
					const char *path, bool added);

#endif
