/*
 * Setting up and entering a ring of io_uring, for ring.c, writer.c and stream.c
 * alone; and the switches by which tests put them off it.
 */
#ifndef GUARD_SNAPSHOT_STORE_RING_PRIVATE_H
#define GUARD_SNAPSHOT_STORE_RING_PRIVATE_H

#include <stdbool.h>

#include <liburing.h>

/* False: there is no io_uring. shared: threads take turns; else the ring
 * belongs to the thread that calls this. */
bool ring_start(struct io_uring *ring, unsigned int entries, bool shared);

/*
 * Submits what is queued and waits for so many answers; false when the ring
 * is of no use any more.
 */
bool ring_enter(struct io_uring *ring, unsigned int wait);

enum ring_call { RING_READ, RING_SYNC };

/* What the hook says of a call. */
int ring_call_begin(enum ring_call call, int fd);
void ring_call_end(enum ring_call call, int fd);

/* --- for tests only --- */

/* From now on as if there were no io_uring. */
void ring_forbid(bool on);

/*
 * Called before a read of a stream or a sync of a writer is asked for, and
 * after it was answered. before: 0 lets it happen; an errno (> 0) is its answer
 * instead; -1 makes it half as long as asked for. NULL, NULL: none.
 */
void ring_hook(int (*before)(enum ring_call call, int fd),
	       void (*after)(enum ring_call call, int fd));

#endif
