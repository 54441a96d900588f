/*
 * Access to a live run from another guard process than the run's own.
 */
#ifndef GUARD_CHANGE_LIVE_H
#define GUARD_CHANGE_LIVE_H

#include "guard/sandbox/edits.h"
#include "guard/sandbox/freezer.h"
#include "guard/sandbox/sandbox.h"
#include "overlay/session.h"

/* Sets the pids and start times of this process, which supervises the run, and
 * of the run's pid 1 in the record, and the numbers of the descriptors of its
 * namespaces, without saving it. */
void live_record_init(struct session *s, const struct sandbox *sb);

/* A directory (absolute) as the live run has it, through its layers. Returns a
 * descriptor; -ESRCH: the run has ended; -ENODATA: an older guard started it.
 */
int live_open_dir(const struct session *s, const char *path, struct err *err);

/* Shows the user's edits of the real files to a running command, as far as it
 * has not changed the same files; see edits.h. Soon after the return; does
 * nothing for a run that has ended, or was started by an older guard. */
void live_show_edits(const struct session *s);

/*
 * Ends the run: its command gets SIGTERM, and after grace_ms the kernel kills
 * all its processes. Returns when the supervising guard has ended, with the
 * run's result stored. 0: it was not running any more; 1: ended; -ENODATA: an
 * older guard started the run.
 */
int live_stop(const struct session *s, int grace_ms, struct err *err);

/*
 * Suspends the run, so that the caller can read its layer as if the run had
 * ended. The caller releases *ret; NULL: the run is not live, or has just
 * ended. -ENODATA: an older guard without this feature started the run.
 */
int live_suspend(const struct session *s, struct freezer **ret,
		 struct err *err);

/*
 * Calls each() for the disks in the mount table of every live run, except for
 * the root directory's: a run has a copy of the table, which keeps a disk busy
 * after umount(8). point: where the run has it; mounted: it is mounted outside,
 * too. A run whose table cannot be read is left out.
 */
void live_each_disk(int runs_fd,
		    void (*each)(void *arg, const struct session *s,
				 const char *point, bool mounted),
		    void *arg);

#endif
