/*
 * The snapshots that a run's changes are compared with. The process that takes
 * the snapshot beside the run writes their numbers into files of their own,
 * because it may end after all other processes of the run. docs/formats.md has
 * these files.
 */
#ifndef GUARD_OVERLAY_SESSION_BASE_H
#define GUARD_OVERLAY_SESSION_BASE_H

#include "overlay/session.h"

/*
 * Writes the sequence numbers of the pre-run snapshots of all roots (0: the
 * root was not stored), or the error text of the failed snapshot. first: where
 * a late base was written before, it stays, with -EEXIST, and the numbers are
 * those of session_base_whole(). A late base holds until the run is started
 * again. The process that takes the snapshot
 * writes them into a file of their own, because it may end after all other
 * processes of the run.
 */
int session_write_base(const struct session *s, uint64_t seq, const char *error,
		       bool first, struct err *err);
/* Takes the lock of that file. Returns a descriptor or a negative errno;
 * -EBUSY: another process takes the snapshot. Called before the fork, so that
 * the lock exists before any process can wait for it. */
int session_lock_base(const struct session *s, struct err *err);
/* Loads the sequence numbers that session_write_base() wrote into
 * s->roots[].base, and those of session_put_applied(). wait: while a root has
 * none, waits first for the process that takes the snapshot.
 * Returns the number of the project's snapshot (at most INT_MAX), 0 while none
 * exists, or a negative errno; -ENODATA: the snapshot failed, with its error
 * text. */
int session_base(struct session *s, bool wait, struct err *err);
/*
 * Writes session_root.applied and left of all roots, and the base of the home
 * directory, in a file of its own: the record of a live run is its own guard's
 * to write. The caller holds the project's lock. to: the set of files that
 * become durable together; NULL: durable on return.
 */
#define SESSION_APPLIED "applied-base" /* its name */
int session_put_applied(const struct session *s, struct atomic_set *to,
			struct err *err);
/* Whether anything was applied of the run that was not undone since. */
bool session_has_applied(const struct session *s);
/* Waits for the process that takes the snapshots, and loads the numbers of the
 * complete snapshots that it stored beside a late base; 0 in roots without. */
int session_base_whole(struct session *s, struct err *err);
/* The record that names the snapshot with the run's timeline, in the run's
 * directory: snapshot=N (guard/timeline/contents.h). */
#define SESSION_TIMELINE_DIR "timeline"
#define SESSION_TIMELINE "stored"
#define SESSION_TIMELINE_KEY "snapshot"
/* Calls each() with the number of every snapshot that the directory of a run
 * names as a base, a result or its timeline, for the list of snapshots to keep.
 */
int session_each_snapshot(int run_fd, void (*each)(void *arg, uint64_t seq),
			  void *arg, struct err *err);
/* Whether a process is taking the snapshots. Otherwise 0 from session_base() is
 * final. */
bool session_base_pending(const struct session *s);

#endif
