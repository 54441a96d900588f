/*
 * Moves among things that lie in the store: nothing is read to find those of
 * the same bytes, texts only where they may be alike.
 */
#ifndef GUARD_RESTORE_GIT_MOVES_STORE_H
#define GUARD_RESTORE_GIT_MOVES_STORE_H

#include "restore/git/moves.h"
#include "snapshot/tree/entry.h"

struct moves_store {
	struct store *store;
	/* What it stands for. */
	const struct entry *(*entry)(void *arg, const struct moves_file *f,
				     bool added);
	void *arg;
	struct hash_key hash; /* of the targets of links */
};

/* s and what it names must live as long as the source. */
struct moves_source moves_of_store(struct moves_store *s);

/* Everything that is on one side only, of two trees. */
struct moves_trees {
	struct moves_store from;
	struct moves moves;
	struct entry *deleted, *added; /* by the files' index */
	char **deleted_paths, **added_paths;
	size_t deleted_capacity, added_capacity;
};

/* Things from elsewhere, in any order; then find. *t, {0} before, must stay
 * where it is. */
void moves_trees_add(struct moves_trees *t, const char *path,
		     const struct entry *e, bool added);
void moves_trees_find(struct moves_trees *t, struct store *store);

/* wanted(): whether it may be one end of a move. Where nothing went, what came
 * is not looked at. *ret must stay where it is. */
int moves_trees_make(struct store *store, const struct entry *old,
		     const struct entry *now,
		     bool (*wanted)(void *arg, const char *path,
				    const struct entry *e),
		     void *arg, struct moves_trees *ret, struct err *err);
void moves_trees_free(struct moves_trees *t);
/* The move that begins or (came) ends there, or NULL. */
const struct moves_file *moves_trees_at(const struct moves_trees *t,
					const char *path, bool added);

#endif
