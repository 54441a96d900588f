/*
 * Storing the results of a run: each root as the run leaves it, as a snapshot.
 * From then on every file that the run made can be restored, whatever becomes
 * of its layer, and the changes are the delta of two stored trees.
 *
 * Caches in the home directory (changes_is_cache()) are not stored: they are
 * large, and hardly ever applied. Their changes are in the layer alone.
 */
#ifndef GUARD_CHANGE_RESULTS_H
#define GUARD_CHANGE_RESULTS_H

#include "guard/change/changes.h"
#include "guard/state/context.h"

/*
 * Stores one root. changes: of its layer. before: the number of its result when
 * the run was continued, or 0: a change that the run had then is one still, if
 * the layer has it, although the real file is the same at the moment; *kept is
 * set if there is one. Does nothing when the root has no change.
 */
int results_store_root(struct store *store, struct session *s, size_t index,
		       const struct changes_root *changes, uint64_t before,
		       bool *kept, struct err *err);

/* Stores the home directory's late base and its result, and notes that in
 * s->more; session_save() has to follow. before, kept: as above. */
int results_store_home(struct context *c, struct session *s,
		       struct changes_root *home, uint64_t before, bool *kept,
		       struct err *err);

#endif
