/*
 * Setting up and entering a ring: for ring.c, writer.c and stream.c alone, the
 * users of liburing.
 */
#ifndef GUARD_SNAPSHOT_RINGIMPL_H
#define GUARD_SNAPSHOT_RINGIMPL_H

#include <liburing.h>

#include "snapshot/ring.h"

/* False: there is no io_uring. shared: threads take turns; else the ring
 * belongs to the thread that calls this. */
bool ring_start(struct io_uring *ring, unsigned int entries, bool shared);

/*
 * Submits what is queued and waits for so many answers; false when the ring
 * is of no use any more.
 */
bool ring_enter(struct io_uring *ring, unsigned int wait);

/* What the hook (ring.h) says of a call. */
int ring_call_begin(enum ring_call call, int fd);
void ring_call_end(enum ring_call call, int fd);

#endif
