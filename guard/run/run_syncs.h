/*
 * Syncs of a run's layer while the command works: a power cut can only damage
 * writes since the last one (overlay/torn.h).
 *
 *	run_syncs_begin()	before the command
 *	run_syncs_tick()	again and again, while it runs
 *	run_syncs_end()		when its last process is gone
 *	run_syncs_final()	when the layer is not mounted any more
 *
 * A sync can take seconds: a process of its own does it, every ten seconds, if
 * the layer has changed, and at a mark, at most once a second. The file system
 * of the layer is synced: syncfs(2) of an overlay that is mounted volatile does
 * nothing.
 */
#ifndef GUARD_RUN_RUN_SYNCS_H
#define GUARD_RUN_RUN_SYNCS_H

#include "overlay/session.h"

struct run_syncs {
	const struct session *session; /* borrowed */
	struct timestamp synced; /* older changes are on disk */
	int64_t next; /* monotonic ms */
	int64_t ahead_ms; /* of the wall clock to the monotonic one */
	bool soon; /* does not wait for the interval */
	uint64_t marks;
	pid_t worker_pid; /* 0: no process syncs */
	int result_fd;
};

/* Before the command is released. Also in a child of guard that goes on in its
 * place. */
void run_syncs_begin(struct run_syncs *d, const struct session *s);
/* marks: another number than before leads to a sync soon. */
void run_syncs_tick(struct run_syncs *d, uint64_t marks);
/* A sync that is under way cannot be stopped: its end is waited for. */
void run_syncs_end(struct run_syncs *d);
/* Syncs the layer of an ended run, which may take seconds. */
int run_syncs_final(const struct session *s, struct err *err);

#endif
