/*
 * A discard of paths edits the layer of an ended run, and so does its undo. The
 * stored result follows: afterwards base and result are again all that the run
 * changed (changes_load_stored()).
 *
 *	result_edit_begin()	durably: the stored result is older than the
 *				layer, which is read meanwhile
 *	... the paths of the layer are changed ...
 *	result_edit_end()
 */
#ifndef GUARD_CHANGE_RESULT_EDIT_H
#define GUARD_CHANGE_RESULT_EDIT_H

#include "guard/change/action.h"
#include "guard/state/context.h"
#include "overlay/session.h"

/* The run is locked. */
int result_edit_begin(struct session *s, struct err *err);
/*
 * Stores a result in which the paths of the action's parts are as the layer has
 * them, and all others as before. Does nothing for a run whose result was older
 * already. After an error the layer is still what counts.
 */
int result_edit_end(struct context *c, struct session *s,
		    const struct action *a, struct err *err);

#endif
