/* Private to moves*.c: the state of one search. */
#ifndef GUARD_RESTORE_GIT_MOVES_PRIVATE_H
#define GUARD_RESTORE_GIT_MOVES_PRIVATE_H

#include "restore/git/moves.h"

struct moves_work {
	struct moves *m;
	const struct moves_source *source;
	/* Index of the parent directory of each item, if that is in the list.
	 */
	uint32_t *deleted_parent, *added_parent;
	/* A number for each item, shared by all items with the same bytes; 0:
	 * unknown. */
	uint32_t *deleted_group, *added_group;
	/* For each deleted directory, the directory that received most of its
	 * files, and how many. */
	uint32_t *best, *votes;
	uint64_t similar_bytes; /* read so far */
};

/* Whether the item has no pair yet. */
bool moves_is_free(const struct moves_file *f);
/* Makes a pair of two items. */
void moves_pair(struct moves *m, uint32_t deleted, uint32_t added,
		unsigned percent);
/* Pairs files with the same bytes when only one pair is possible. */
void moves_exact(struct moves_work *w);
/* The same where several pairs are possible. */
void moves_exact_rest(struct moves_work *w);
/* Recounts the destinations of the files in each deleted directory. */
void moves_vote(struct moves_work *w);
/* The place of the file if its directory moved as a whole; MOVES_NONE. */
uint32_t moves_expected(const struct moves_work *w, uint32_t deleted);
/* Pairs similar texts. */
void moves_similar(struct moves_work *w);
/* Pairs directories, and files that moved with them. */
void moves_dirs(struct moves_work *w);

#endif
