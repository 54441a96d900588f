/*
 * The base of a run whose files were not stored when it began: the directory
 * was too large to be stored unasked (ask-above), or the snapshot beside the
 * run was stopped, killed, failed, or not complete soon after the run's end.
 *
 * A late base is a partial snapshot: the changed paths alone, from the real
 * directory, at the run's end or when they are needed first. A file whose
 * ctime is before the run's start is still as it was then. Any other gets the
 * note NOTE_MOVED, and the plan of an apply finds a conflict (CONFLICT_MOVED).
 */
#ifndef GUARD_CHANGE_LATE_BASE_H
#define GUARD_CHANGE_LATE_BASE_H

#include "guard/change/changes.h"
#include "guard/state/context.h"

/*
 * Stores the late base of each root that has no base, and records it unless the
 * run is live: a live run changes further paths. store is open for writing;
 * changes are those of the session's layers. 0 also when no root lacks a base.
 * early: the snapshot beside the run goes on, and its end is better waited for
 * (-EAGAIN) if a file has changed since the start, or something in a .git is
 * among the changes; -EEXIST: that snapshot is complete now.
 */
int late_base_take(struct store *store, const struct state *state,
		   struct session *s, const struct changes *changes, bool early,
		   struct err *err);

/* The same for the home directory, which has no other base; home: the changes
 * that are stored of it. */
int late_base_take_home(struct store *store, const struct state *state,
			struct session *s, const struct changes_root *home,
			struct err *err);

/*
 * Before an ended run is started again: where the snapshot beside it became
 * complete after the late base was taken, that snapshot with the paths of the
 * late base is the base from now on, and no late base.
 */
int late_base_widen(struct context *c, struct session *s, struct err *err);

/* session_base() with wait, followed by late_base_take() where a base is
 * missing, also that of the home directory if home is set. c->store is open for
 * writing afterwards. */
int late_base_ensure(struct context *c, struct session *s, bool home,
		     struct err *err);

/* The paths of a root that a late base and the trees compared with it hold:
 * take_options.only, to free with mem_list_free(). Never empty. */
char **late_base_paths(const struct changes_root *root);

#endif
