/*
 * A cache beside runs/: the pending runs with the directories that they change.
 * A command for one directory opens the runs of that directory alone, however
 * many are pending elsewhere.
 *
 *	if (!pending_index_load(runs_fd, &index, &seen))
 *		index = ..., with the lines of the old one for runs that it has
 *	pending_index_save(runs_fd, &index, seen);
 *
 * A line is "ID=PATH", sorted by the ids; a run has one for each root. The
 * cache is current as long as runs/ has the ctime of the time when its entries
 * were read: making and closing a run change it. The roots of a run that was
 * started never change.
 */
#ifndef GUARD_OVERLAY_PENDING_INDEX_H
#define GUARD_OVERLAY_PENDING_INDEX_H

#include <stdbool.h>

#include "base/record.h"
#include "base/timestamp.h"

/* The lines, none without a usable file; *ret must be freed with record_free().
 * Returns whether they are current. *ret_seen: the present ctime of runs/. */
bool pending_index_load(int runs_fd, struct record *ret,
			struct timestamp *ret_seen);
/* Writes the lines of all pending runs that were in runs/ after its ctime was
 * `seen`. An error is ignored. */
void pending_index_save(int runs_fd, const struct record *lines,
			struct timestamp seen);

/* Removes the cache: for a caller that has changed the roots of runs. */
void pending_index_drop(int runs_fd);

#endif
