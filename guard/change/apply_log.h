/*
 * Log of the applies of a run.
 *
 * A run may continue after a part of its changes was applied; its command then
 * works on the applied files. Where the project still has a file as guard wrote
 * it, this file is the base of the run's changes, not an edit of the user.
 *
 * The log is a record of its own in the session's directory, because the
 * session's record of a live run belongs to the guard process of the run:
 * applied = the snapshots before and after each apply. The log is written under
 * the project's lock. Earlier guards stored the items in the session's record.
 */
#ifndef GUARD_CHANGE_APPLY_LOG_H
#define GUARD_CHANGE_APPLY_LOG_H

#include "overlay/session.h"
#include "restore/plan/plan.h"
#include "snapshot/tree/tree.h"

/* An apply: the plan, its tree, and the base of both. */
struct apply_log_merge {
	const struct plan *plan;
	const struct entry *wanted;
	const struct snapshot *base;
};

/*
 * Adds one apply to the log. dir: 0 is the project, n the n-th additional root.
 * Merged files are logged separately: they have edits of the user, unknown to
 * the run, and never become its base. The version that was merged with them
 * does: where the run's stored result does not have it, the applied tree is
 * stored, too. A file with conflict markers has no such version.
 */
int apply_log_add(struct store *store, const struct session *s, size_t dir,
		  uint64_t before, uint64_t after,
		  const struct apply_log_merge *m, struct err *err);

/* Whether the log has an apply; true also when the log cannot be read. */
bool apply_log_any(const struct session *s);

/* The current state of a directory. */
struct apply_log_query {
	const struct entry *now; /* as a tree; NULL: lower_fd is read */
	int lower_fd;
	int workspace_fd; /* -1: do not ask whether an apply was undone */
};

/*
 * Puts the applied version of each path into *base, if the directory still has
 * it. If the user has edited the path since, the applied version is used as
 * long as the apply was not undone; the workspace knows that. A path that is
 * again as before the apply keeps its base. An apply whose snapshots were
 * removed from the store is skipped. For a run that has ended and whose result
 * is about to be stored, applied files are no longer changes of the run.
 */
int apply_log_rebase(struct store *store, const struct session *s, size_t dir,
		     const struct apply_log_query *query, struct entry *base,
		     struct err *err);

/* Called for a path; began: the base of the run's change at that path, NULL:
 * absent. A negative result ends the loop. */
typedef int (*apply_log_each)(void *arg, const char *path,
			      const struct entry *began, struct err *err);

/* Calls each() with the entries that apply_log_rebase() would put into the
 * base, path by path, for one apply after the other. base: the tree before any
 * apply. */
int apply_log_each_base(struct store *store, const struct session *s,
			size_t dir, const struct apply_log_query *query,
			const struct entry *base, apply_log_each each,
			void *arg, struct err *err);

/*
 * Directories without a base snapshot: the home directory, and those with a
 * late base (late_base.h). The notes of `now` name the paths that changed since
 * the run began (NOTE_MOVED). apply_log_filter_notes() removes the notes of
 * guard's own changes: paths that are as an apply of this run left them, or
 * (undone) as before it. dir: as of apply_log_add(), or APPLY_LOG_HOME.
 */
#define APPLY_LOG_HOME SIZE_MAX
int apply_log_add_home(const struct session *s, uint64_t before, uint64_t after,
		       struct err *err);
int apply_log_filter_notes(struct store *store, const struct session *s,
			   size_t dir, struct snapshot *now, struct err *err);

#endif
