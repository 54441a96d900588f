/*
 * Losses and risks of all changes of a run, root by root: the input of the
 * verdict and of every fold.
 *
 *	judgement_make()	reads the repository, and some of the files
 *	judgement_read()	reads more of them
 *	judgement_free()
 */
#ifndef GUARD_REVIEW_JUDGEMENT_H
#define GUARD_REVIEW_JUDGEMENT_H

#include "guard/change/consent.h"
#include "guard/review/loss.h"

struct judgement {
	struct view *views; /* one for each root of the changes, in their
			       order */
	struct losses *losses; /* the same */
	size_t count;
	/* For judgement_read(). */
	size_t next_root, next_entry, next_suspect_root, next_suspect;
};

#define JUDGEMENT_ALL UINT64_MAX

/* What a list waits for. */
#define JUDGEMENT_FIRST (512u << 10)

/*
 * Judges losses, the risks of deletions, and as many other entries as have so
 * many bytes, those first that are suspect by name; a second thread shares the
 * work of a large run. A number of bytes, not a time: the result must not
 * depend on the load of the machine. true: all are judged. The changes are
 * borrowed, and their lists keep their order. Edits of the user since the run
 * began are no losses, as far as session_base() has filled in the snapshots
 * from then.
 */
bool judgement_make(const struct session *s, const struct changes *changes,
		    uint64_t bytes, struct judgement *ret);
/* Judges so many bytes more (JUDGEMENT_ALL: to the end). true: all are
 * judged. */
bool judgement_read(struct judgement *j, uint64_t bytes);
/* Adds the losses of only copies, which need a consent, to those that are
 * listed already. */
void judgement_list_copies(const struct judgement *j, const struct session *s,
			   struct consent *to);
void judgement_free(struct judgement *j);

#endif
