/*
 * The mtimes of the files that an action writes. make, ninja, cargo, Python's
 * caches and HTTP servers tell a new source from an old one by its mtime alone:
 * a source that is older than a product made of another version of the source
 * is never built again.
 *
 * An apply keeps the run's times if each applied file is younger than all other
 * files that changed since the base: products that the run has built are fresh
 * then, for tools that record exact times, too. Otherwise the written files get
 * the present time, in the order of the run's times and 1 us apart, so that
 * products stay younger than their sources. An undo, redo or restore gives the
 * present time to a file that replaces other bytes, and the stored times to new
 * files and directories. A restore of a complete project keeps the stored
 * times, too, by the rule of an apply: no younger file may be left that the
 * snapshot does not have.
 *
 * The present time is later than all changed files, and lies in another second
 * than the time of each replaced file: Python's caches and HTTP keep whole
 * seconds.
 */
#ifndef GUARD_CHANGE_CHANGESET_PRIVATE_H
#define GUARD_CHANGE_CHANGESET_PRIVATE_H

#include "guard/change/changeset.h"

/* Sets the times in the steps of all plans, before the transaction. apply: of
 * a run, by the rule above. *ret_last: the latest of the new times, or 0. */
int changeset_times_set(struct changeset *set, bool apply,
			struct timestamp *ret_last, struct err *err);
/* Returns when the time is past; for a time more than two seconds ahead, at
 * once. */
void changeset_times_wait(struct timestamp last);

#endif
