/* Private to moves*.c: what they share while they look. */
#ifndef GUARD_RESTORE_GIT_MOVES_WORK_H
#define GUARD_RESTORE_GIT_MOVES_WORK_H

#include "restore/git/moves.h"

struct moves_work {
	struct moves *m;
	const struct moves_source *source;
	/* Of each item: the folder it is in, if that is in the list. */
	uint32_t *deleted_parent, *added_parent;
	/* Of each item: a number that those of the same bytes share; 0: not
	 * known. */
	uint32_t *deleted_group, *added_group;
	/* Of each gone folder: where most of it went, and how much. */
	uint32_t *best, *votes;
	uint64_t similar_bytes; /* read so far */
};

bool moves_is_free(const struct moves_file *f);
void moves_pair(struct moves *m, uint32_t deleted, uint32_t added,
		unsigned percent);
/* Of the same bytes, as far as that is one of a kind. */
void moves_exact(struct moves_work *w);
/* The same among several that would do. */
void moves_exact_rest(struct moves_work *w);
/* Counts anew where the files of each gone folder went. */
void moves_vote(struct moves_work *w);
/* Where it lies if the folder above went there as a whole; MOVES_NONE. */
uint32_t moves_expected(const struct moves_work *w, uint32_t deleted);
void moves_similar(struct moves_work *w);
/* Folders, and who went with them. */
void moves_dirs(struct moves_work *w);

#endif
