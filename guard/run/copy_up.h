/*
 * Tells about large copy-ups. The first write to a file of a lower layer, or
 * another change of it, waits in its system call until the kernel has copied
 * the whole file into the layer: seconds for gigabytes. No interface reports a
 * copy-up, and the copy has no name before it is complete. So guard looks for a
 * thread that waits in a call about a large file that the layer lacks, and that
 * has caused more writes to disk than it asked for by write(2). guard looks
 * four times a second, and only for some seconds after the file system of the
 * layers has lost space.
 *
 * The kernel shows no call of a thread that executes: a copy is noticed when it
 * waits for the disk, at the latest while it is synced.
 */
#ifndef GUARD_RUN_COPY_UP_H
#define GUARD_RUN_COPY_UP_H

#include <stdbool.h>
#include <stdint.h>

#include "guard/sandbox/sandbox.h"
#include "overlay/session.h"

struct copy_up_watch {
	int64_t next, until; /* in ms: of the next look, and of the last one */
	uint64_t free_bytes;
	const struct session *session;
	unsigned int tries; /* left in this look */
	char **told; /* paths */
};

/* To be called often during the run. {0} is the state at its start. Prints no
 * line on a terminal on which the run's program may have drawn a screen. */
void copy_up_watch_tick(struct copy_up_watch *w, const struct session *s,
			const struct sandbox *sb);

#endif
