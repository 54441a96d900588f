/* Moves among entries of the store. Files with the same bytes are found without
 * a read; texts are read only for candidates of similarity. */
#ifndef GUARD_RESTORE_GIT_MOVES_STORE_H
#define GUARD_RESTORE_GIT_MOVES_STORE_H

#include "restore/git/moves.h"
#include "snapshot/tree/entry.h"

struct moves_store {
	struct store *store;
	/* The entry that f stands for; NULL: f->entry. */
	const struct entry *(*entry)(void *arg, const struct moves_file *f);
	void *arg;
	struct hash_key hash; /* hashes the targets of symbolic links */
};

/* s and the objects in it must outlive the source. */
struct moves_source moves_of_store(struct moves_store *s);
/* Finds the moves among files that all have an entry. They were added in any
 * order. */
void moves_find_stored(struct moves *m, struct store *store);

/* Finds the moves among the entries of two trees that exist on one side only.
 * wanted(): whether the entry may be an end of a move. Added entries are not
 * visited when none was deleted. */
int moves_of_trees(struct store *store, const struct entry *old,
		   const struct entry *now,
		   bool (*wanted)(void *arg, const char *path,
				  const struct entry *e),
		   void *arg, struct moves *ret, struct err *err);

#endif
