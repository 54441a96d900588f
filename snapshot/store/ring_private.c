#include "snapshot/store/ring_private.h"

#include <errno.h>

#include "base/mem.h"

/* Set by tests, which include this file. */
static bool forbidden;
static int (*hook_before)(enum ring_call call, int fd);
static void (*hook_after)(enum ring_call call, int fd);

static bool ring_can(struct io_uring *ring)
{
	static const int needed[] = {IORING_OP_OPENAT, IORING_OP_READ,
				     IORING_OP_WRITE, IORING_OP_CLOSE,
				     IORING_OP_FSYNC};
	struct io_uring_probe *probe = io_uring_get_probe_ring(ring);
	bool can = probe != NULL;
	size_t i;

	for (i = 0; can && i < ARRAY_SIZE(needed); i++)
		can = io_uring_opcode_supported(probe, needed[i]);
	io_uring_free_probe(probe);
	return can;
}

/* Newer flags are tried first: with them completions wait until they are asked
 * for. */
bool ring_start(struct io_uring *ring, unsigned int entries, bool shared)
{
	static const unsigned int flags[] = {IORING_SETUP_SINGLE_ISSUER |
						     IORING_SETUP_DEFER_TASKRUN,
					     IORING_SETUP_COOP_TASKRUN, 0};
	size_t i;

	for (i = shared ? 2 : 0; i < 3 && !forbidden; i++) {
		struct io_uring_params params = {.flags = flags[i]};
		int got = io_uring_queue_init_params(entries, ring, &params);

		if (got == 0 && ring_can(ring))
			return true;
		if (got == 0)
			io_uring_queue_exit(ring);
		if (got != -EINVAL)
			return false;
	}
	return false;
}

bool ring_enter(struct io_uring *ring, unsigned int wait)
{
	int got;

	do {
		got = io_uring_submit_and_wait(ring, wait);
		/* Too many requests in flight: completions must be fetched
		 * first. */
		if ((got == -EAGAIN || got == -EBUSY) &&
		    io_uring_cq_ready(ring))
			return true;
	} while (got == -EINTR || got == -EAGAIN || got == -EBUSY);
	return got >= 0;
}

int ring_call_begin(enum ring_call call, int fd)
{
	return hook_before ? hook_before(call, fd) : 0;
}

void ring_call_end(enum ring_call call, int fd)
{
	if (hook_after)
		hook_after(call, fd);
}
