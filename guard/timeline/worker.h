/*
 * The version worker: the process guard-live, which writes the timeline of a
 * live run (timeline.h) and keeps the contents that the run destroys.
 *
 * The worker watches the upper directories of the roots with inotify, and
 * compares what changed with its own picture of the layer: each difference is
 * a record. A file that came to rest is opened for reading, with a read lease:
 * a hold. The kernel grants the lease only while no process has the file open
 * for writing or mapped writable, and lets each later open for writing wait
 * until the worker has copied the content and given the lease up. unlink and
 * rename do not wait: the descriptor still reads the old bytes.
 *
 * A content that was not at rest, or that the worker could not copy in time,
 * has a record that says so (TIMELINE_GAP and its like). The worker reads
 * nothing outside of the layers, and follows no link in them.
 */
#ifndef GUARD_TIMELINE_WORKER_H
#define GUARD_TIMELINE_WORKER_H

#include <stddef.h>
#include <stdint.h>

struct worker_options {
	int run_fd; /* the run's directory */
	/* A socket of messages: the kind and the text of a record; a shorter
	 * one, and its end, when the run has ended. */
	int control_fd;
	size_t root_count; /* as in session.h */
	int64_t rest_ms; /* a file rests after so long without a change */
	uint64_t spool_max; /* bytes */
	volatile uint64_t *marks; /* shared: grows with each mark */
};

/* Works until the run has ended; then control_fd gets a text: why the worker
 * failed, or nothing. Returns the exit status of the process. */
int worker_run(const struct worker_options *options);

#endif
