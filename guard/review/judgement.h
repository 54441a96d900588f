/*
 * Losses and risks of all changes of a run, root by root: the input of the
 * verdict and of every fold.
 *
 *	judgement_make()	reads the repository, and files that may be lost
 *	judgement_read()	reads the other files, as many as are allowed
 *	judgement_free()
 */
#ifndef GUARD_REVIEW_JUDGEMENT_H
#define GUARD_REVIEW_JUDGEMENT_H

#include "guard/change/consent.h"
#include "guard/review/loss.h"
#include "guard/state/context.h"

struct judgement {
	struct view *views; /* one for each root of the changes, in their
			       order */
	struct losses *losses; /* the same */
	size_t count;
	/* For judgement_read(). */
	size_t next_root, next_entry, next_suspect_root, next_suspect;
};

#define JUDGEMENT_ALL UINT64_MAX

/* The changes are borrowed, and their lists keep their order. Judges losses and
 * the risks of deletions. Edits of the user since the run began are no losses,
 * as far as session_base() has filled in the snapshots from then; may open the
 * store. */
void judgement_make(struct context *c, const struct session *s,
		    const struct changes *changes, struct judgement *ret);
/* Judges the risks of the other entries, those first that are suspect by name,
 * as many as have so many bytes, each counted with JUDGEMENT_ENTRY more
 * (JUDGEMENT_ALL: to the end). A number of bytes, not a time: the result must
 * not depend on the load of the machine. true: all are judged. */
#define JUDGEMENT_ENTRY 4096u
/* What a list waits for. */
#define JUDGEMENT_FIRST (2u << 20)
bool judgement_read(struct judgement *j, uint64_t bytes);
/* Adds the losses of only copies, which need a consent, to those that are
 * listed already. */
void judgement_list_copies(const struct judgement *j, const struct session *s,
			   struct consent *to);
void judgement_free(struct judgement *j);

#endif
