/*
 * What guard itself has taken over from a run already. A run that goes on
 * after a part of it was applied works on top of those files: where the
 * project still holds them as guard put them, they are what the run began
 * with, and not an edit of the user's.
 *
 * Kept in the session's folder, in a record of its own, since a live run's is
 * its guard's: applied = the snapshots before and after each apply. Written
 * under the project's lock. Earlier guards kept it in the session's record.
 */
#ifndef GUARD_APPLY_LOG_H
#define GUARD_APPLY_LOG_H

#include "overlay/session.h"
#include "restore/plan/plan.h"
#include "snapshot/tree/tree.h"

/*
 * folder: 0 is the project, n the n-th beside it. Adds one apply to the record.
 * What was merged is noted apart: it has the user's edits in it, which the run
 * knows nothing of, so that it is never taken for what the run began with.
 */
int apply_log_add(const struct session *s, size_t dir, uint64_t before,
		  uint64_t after, const struct plan *plan, struct err *err);

/* Whether any apply is noted. */
bool apply_log_any(const struct session *s);

/*
 * Gives base what was applied, path by path, where `now` is still like that; or
 * where the user has edited it since, as long as that apply was not taken back,
 * which the workspace knows (-1: that is not asked). What is again as it was
 * before that apply is as if it never was applied. An apply whose snapshots are
 * gone from the store is passed over.
 */
int apply_log_rebase(struct store *store, const struct session *s, size_t dir,
		     int workspace_fd, struct entry *base,
		     const struct entry *now, struct err *err);

/*
 * The same when the run has ended and its result is about to be stored: what
 * was applied by then is in the real folder, and for that reason none of its
 * changes any more. lower_fd: that folder.
 */
int apply_log_rebase_ended(struct store *store, const struct session *s,
			   size_t dir, struct entry *base, int lower_fd,
			   struct err *err);

/* began: what the run counts as having begun with at that path; NULL: nothing.
 * 0 or negative, which ends it. */
typedef int (*apply_log_each)(void *arg, const char *path,
			      const struct entry *began, struct err *err);

struct apply_log_query {
	const struct entry *base; /* before anything was applied */
	int lower_fd; /* the folder as it is now */
	int workspace_fd; /* or -1 */
};

/* What apply_log_rebase() would give the base, path by path, one of several
 * applies after the other. */
int apply_log_each_base(struct store *store, const struct session *s,
			size_t dir, const struct apply_log_query *query,
			apply_log_each each, void *arg, struct err *err);

/*
 * apply_log_rebase() for the home folder, of which nothing was stored when the
 * run began: now's notes say what moved since (NOTE_MOVED); those go where it
 * is guard's own doing, the home still being as an apply of this run left it
 * or, taken back, found it.
 */
int apply_log_add_home(const struct session *s, uint64_t before, uint64_t after,
		       struct err *err);
int apply_log_filter_notes(struct store *store, const struct session *s,
			   struct snapshot *now, struct err *err);

#endif
