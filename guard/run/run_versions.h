/*
 * The version worker of a run, from the side of the guard that supervises the
 * run: guard/timeline/worker.h describes the worker's own part.
 *
 *	run_versions_begin()	after the command was released
 *	run_versions_tick()	several times a second, while it runs
 *	run_versions_end()	when its last process is gone
 *
 * The worker is a process outside of the run: the run can neither stop nor
 * reach it, and the terminal's signals do not. A process of the run waits for
 * the worker when it opens a file for writing. So a stopped worker is
 * continued at once, a hanging one ends itself within a second, and the next
 * one begins at that point.
 */
#ifndef GUARD_RUN_RUN_VERSIONS_H
#define GUARD_RUN_RUN_VERSIONS_H

#include <stdint.h>
#include <sys/types.h>

#include "guard/timeline/timeline.h"
#include "overlay/session.h"

struct run_versions {
	const struct session *session; /* borrowed */
	int64_t rest_ms; /* 0: none are kept */
	uint64_t spool_max; /* bytes */
	pid_t worker_pid; /* 0: none */
	int control_fd;
	int marks_fd; /* keeps marks until the worker takes them; -1 */
	volatile uint64_t *marks; /* of worker_options */
	int64_t next_start; /* monotonic ms */
};

/* The worker begins a moment later, in run_versions_tick(). rest_ms: see
 * worker.h; 0: no versions are kept. */
void run_versions_begin(struct run_versions *d, const struct session *s,
			int64_t rest_ms, uint64_t spool_max);
/* Starts the worker, continues a stopped one, and starts another after its
 * end. *ret_next_ms gets lower when the next call is due earlier.
 */
void run_versions_tick(struct run_versions *d, int *ret_next_ms);
/* Adds a record with a text of 1 to 1000 bytes. Returns false if no worker
 * takes it. */
bool run_versions_record(struct run_versions *d, enum timeline_kind kind,
			 const char *text);
/* Grows with each mark. */
uint64_t run_versions_marks(const struct run_versions *d);
/* Lets the worker take the last changes. Says on stderr why versions could not
 * be kept, if so. */
void run_versions_end(struct run_versions *d);

#endif
