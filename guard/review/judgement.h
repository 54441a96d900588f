/*
 * Losses and risks of all changes of a run, root by root: the input of the
 * verdict and of every fold.
 *
 *	judgement_make()	reads the repository, and files that may be lost
 *	judgement_read()	reads the other files, for as long as is given
 *	judgement_free()
 */
#ifndef GUARD_REVIEW_JUDGEMENT_H
#define GUARD_REVIEW_JUDGEMENT_H

#include "guard/review/loss.h"

struct judgement {
	struct view *views; /* one for each root of the changes, in their
			       order */
	struct losses *losses; /* the same */
	size_t count;
	size_t next_root, next_entry; /* for judgement_read() */
};

#define JUDGEMENT_ALL (-1)

/* The changes are borrowed, and their lists keep their order. Judges losses,
 * and the risks of entries that are suspect by their name. */
void judgement_make(const struct session *s, const struct changes *c,
		    struct judgement *ret);
/* Judges the risks of the other entries, for so many milliseconds
 * (JUDGEMENT_ALL: to the end). true: all are judged. */
bool judgement_read(struct judgement *j, int64_t milliseconds);
void judgement_free(struct judgement *j);

#endif
