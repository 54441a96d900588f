/* Setup and submission of an io_uring, for ring.c, writer.c and stream.c only,
 * and the test hooks that replace or fail its calls. */
#ifndef GUARD_SNAPSHOT_STORE_RING_PRIVATE_H
#define GUARD_SNAPSHOT_STORE_RING_PRIVATE_H

#include <stdbool.h>

#include <liburing.h>

/* False: io_uring is not available. shared: several threads use the ring in
 * turns; otherwise the ring belongs to the calling thread. */
bool ring_start(struct io_uring *ring, unsigned int entries, bool shared);

/* Submits the queued calls and waits for so many completions. False: the ring
 * is unusable from now on. */
bool ring_enter(struct io_uring *ring, unsigned int wait);

enum ring_call { RING_READ, RING_SYNC };

/*
 * The start and the end of a read of a stream or a sync of a writer, for a hook
 * of a test. The start returns the hook's answer: 0 (submit the call), a
 * positive errno (the call fails with it), or -1 (the call is half as long).
 */
int ring_call_begin(enum ring_call call, int fd);
void ring_call_end(enum ring_call call, int fd);

#endif
