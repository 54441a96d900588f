/*
 * Versions of what a run changes, kept while it runs: of each file that is
 * another one every so often, as a snapshot "during-run" of the project as the
 * run sees it. From outside, so that the run can neither stop nor reach it.
 *
 *	run_versions_begin()	before the command
 *	run_versions_tick()	again and again, while it runs
 *	run_versions_end()	when its last process is gone
 *
 * Each time a process of its own does it, with idle priority, and for at most
 * a small part of the time. The first time is one interval after the start: a
 * short run does without. While the disk is nearly full nothing is kept.
 */
#ifndef GUARD_RUN_RUN_VERSIONS_H
#define GUARD_RUN_RUN_VERSIONS_H

#include <stdint.h>
#include <sys/types.h>

#include "overlay/session.h"

/* The result of one version. */
struct run_versions_result {
	uint64_t seq; /* the last version's snapshot, 0: none yet */
	struct timestamp since; /* older changes are in it */
	char failed[sizeof(((struct err *)0)->text)]; /* why not, "" */
};

struct run_versions {
	const struct session *session; /* borrowed */
	int64_t interval_ms; /* 0: none are kept */
	int64_t next; /* monotonic ms */
	pid_t worker_pid; /* 0: no process keeps versions */
	int result_fd;
	struct run_versions_result last;
};

/* run_versions_begin() sets the interval (0: no versions are kept);
 * run_versions_tick(), called repeatedly, starts a worker when a version is due
 * and collects the result of the last one. */
void run_versions_begin(struct run_versions *d, const struct session *s,
			int64_t interval_ms);
void run_versions_tick(struct run_versions *d);
/* Says on stderr why the last ones could not be kept, if so. */
void run_versions_end(struct run_versions *d);

#endif
