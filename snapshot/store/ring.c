#include "snapshot/store/ring.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/mem.h"
#include "snapshot/store/ring_private.h"

/* A direct descriptor is not in the process's table, and the kernel refuses
 * O_CLOEXEC for it. */
#define OPEN_FLAGS (O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY)

#define SYNC_BATCH 64
/* Number of files that are submitted together. */
#define SUBMIT_BATCH 8

/* The chain of a file: three requests, each with its own completion. */
enum step { STEP_OPEN, STEP_READ, STEP_CLOSE, STEPS };

struct slot {
	uint64_t cookie;
	unsigned char *data;
	size_t capacity, size, len;
	char *name;
	size_t name_capacity;
	int dirfd, error;
	int answers[STEPS];
	unsigned int missing; /* completions that have not arrived */
	bool busy;
	bool ask_writers, no_writers;
};

struct reader {
	unsigned int depth;
	struct slot *slots;
	unsigned int *idle; /* stack of free slots */
	unsigned int idle_count;
	unsigned int *done; /* queue of finished slots */
	unsigned int done_head, done_count;
	int given; /* slot whose data the caller holds, or -1 */
	bool plain; /* requested by the caller, or no io_uring */
	bool started; /* the setup of the ring was tried */
	struct io_uring ring; /* valid unless plain */
	unsigned int queued; /* files that are not submitted yet */
};

/* --- slots --- */

struct reader *reader_new(unsigned int depth, bool plain)
{
	struct reader *r = mem_zalloc(sizeof(*r));
	unsigned int i;

	r->depth = depth < 1		      ? 1
		   : depth > READER_DEPTH_MAX ? READER_DEPTH_MAX
					      : depth;
	r->slots = mem_zalloc(r->depth * sizeof(*r->slots));
	r->idle = mem_zalloc(r->depth * sizeof(*r->idle));
	r->done = mem_zalloc(r->depth * sizeof(*r->done));
	for (i = r->depth; i-- > 0;)
		r->idle[r->idle_count++] = i;
	r->given = -1;
	r->plain = plain;
	return r;
}

static void slot_release(struct reader *r)
{
	if (r->given < 0)
		return;
	r->slots[r->given].busy = false;
	r->idle[r->idle_count++] = (unsigned int)r->given;
	r->given = -1;
}

static void slot_finish(struct reader *r, struct slot *slot)
{
	unsigned int at = (r->done_head + r->done_count) % r->depth;

	r->done[at] = (unsigned int)(slot - r->slots);
	r->done_count++;
}

int reader_open(int dirfd, const char *name, int flags)
{
	int fd = RETRY_ENOENT(openat(dirfd, name, flags | O_NOATIME));

	return fd < 0 && errno == EPERM
		       ? RETRY_ENOENT(openat(dirfd, name, flags))
		       : fd;
}

static void read_slot_plain(struct slot *slot)
{
	auto_close int fd =
		reader_open(slot->dirfd, slot->name, OPEN_FLAGS | O_CLOEXEC);
	ssize_t n;

	slot->error = 0;
	slot->len = 0;
	if (fd < 0) {
		slot->error = errno;
		return;
	}
	slot->no_writers =
		slot->ask_writers && fd_find_writers(fd) == FD_WRITERS_NONE;
	n = fd_read(fd, slot->data, slot->size + 1);
	if (n < 0)
		slot->error = errno;
	else
		slot->len = (size_t)n;
}

/* Called when all completions have arrived. A chain that failed is repeated
 * with plain calls, which report the real error: an open without O_NOATIME, a
 * short read, a canceled chain. */
static void slot_end(struct reader *r, struct slot *slot)
{
	int n = slot->answers[STEP_READ];

	if (slot->answers[STEP_OPEN] >= 0 && n >= 0 && (size_t)n >= slot->size)
		slot->len = (size_t)n;
	else
		read_slot_plain(slot);
	slot_finish(r, slot);
}

/* The kernel may still write into the buffers of requests in flight, for an
 * unknown time. These buffers are leaked, and the files are read by plain
 * calls. */
static void ring_give_up(struct reader *r)
{
	unsigned int i;

	io_uring_queue_exit(&r->ring);
	r->plain = true;
	r->queued = 0;
	for (i = 0; i < r->depth; i++) {
		struct slot *slot = &r->slots[i];

		if (!slot->busy || !slot->missing)
			continue;
		slot->missing = 0;
		slot->data = mem_alloc(slot->capacity);
		read_slot_plain(slot);
		slot_finish(r, slot);
	}
}

static void ring_collect(struct reader *r)
{
	struct io_uring_cqe *cqe;
	unsigned int head, count = 0;

	io_uring_for_each_cqe(&r->ring, head, cqe)
	{
		uint64_t data = io_uring_cqe_get_data64(cqe);
		struct slot *slot = &r->slots[data / STEPS];

		slot->answers[data % STEPS] = cqe->res;
		if (--slot->missing == 0)
			slot_end(r, slot);
		count++;
	}
	io_uring_cq_advance(&r->ring, count);
}

static void ring_run(struct reader *r, unsigned int wait)
{
	if (!ring_enter(&r->ring, wait)) {
		ring_give_up(r);
		return;
	}
	r->queued = 0;
	ring_collect(r);
}

/*
 * Queues open, read and close on a direct descriptor, in this order. The read
 * asks for one byte more than the expected size: it proves the end of the file,
 * but is always short, which would break a plain link, so a hard link connects
 * it to the close. A failed open cancels the read and with it the close.
 */
static void ring_queue(struct reader *r, struct slot *slot)
{
	unsigned int i = (unsigned int)(slot - r->slots), step;
	struct io_uring_sqe *sqe[STEPS];

	/* The ring has entries for the chains of all slots. */
	for (step = 0; step < STEPS; step++) {
		sqe[step] = io_uring_get_sqe(&r->ring);
		if (!sqe[step])
			abort();
	}
	io_uring_prep_openat_direct(sqe[STEP_OPEN], slot->dirfd, slot->name,
				    OPEN_FLAGS | O_NOATIME, 0, i);
	io_uring_prep_read(sqe[STEP_READ], (int)i, slot->data,
			   (unsigned int)slot->size + 1, 0);
	io_uring_prep_close_direct(sqe[STEP_CLOSE], i);
	io_uring_sqe_set_flags(sqe[STEP_OPEN], IOSQE_IO_LINK);
	io_uring_sqe_set_flags(sqe[STEP_READ],
			       IOSQE_FIXED_FILE | IOSQE_IO_HARDLINK);
	for (step = 0; step < STEPS; step++)
		io_uring_sqe_set_data64(sqe[step], (uint64_t)i * STEPS + step);
	slot->missing = STEPS;
	r->queued++;
}

/* Called by the thread that reads: a ring may belong to one thread only. */
static void ring_try_start(struct reader *r)
{
	r->started = true;
	if (r->plain)
		return;
	r->plain = !ring_start(&r->ring, r->depth * STEPS, false);
	if (!r->plain &&
	    io_uring_register_files_sparse(&r->ring, r->depth) < 0) {
		io_uring_queue_exit(&r->ring);
		r->plain = true;
	}
}

/* --- the interface of readers --- */

void reader_free(struct reader **reader)
{
	struct reader *r = *reader;
	struct reader_file file;
	unsigned int i;

	if (!r)
		return;
	/* Buffers belong to the kernel until their completions arrive. */
	while (reader_next(r, &file))
		;
	if (r->started && !r->plain)
		io_uring_queue_exit(&r->ring);
	for (i = 0; i < r->depth; i++) {
		free(r->slots[i].data);
		free(r->slots[i].name);
	}
	free(r->slots);
	free(r->idle);
	free(r->done);
	free(r);
	*reader = NULL;
}

static void slot_fill(struct slot *slot, int dirfd, const char *name,
		      size_t size, uint64_t cookie)
{
	size_t name_len = strlen(name) + 1;

	if (size > READER_LEN_MAX)
		size = READER_LEN_MAX;
	if (slot->capacity < size + 1) {
		free(slot->data);
		slot->capacity = (size + 4096) & ~(size_t)4095;
		slot->data = mem_alloc(slot->capacity);
	}
	if (slot->name_capacity < name_len) {
		free(slot->name);
		slot->name_capacity = name_len + 64;
		slot->name = mem_alloc(slot->name_capacity);
	}
	memcpy(slot->name, name, name_len);
	slot->cookie = cookie;
	slot->dirfd = dirfd;
	slot->size = size;
	slot->len = 0;
	slot->error = 0;
	slot->busy = true;
}

bool reader_add(struct reader *r, int dirfd, const char *name, size_t size,
		bool ask_writers, uint64_t cookie)
{
	struct slot *slot;

	slot_release(r);
	if (!r->idle_count)
		return false;
	if (!r->started)
		ring_try_start(r);
	slot = &r->slots[r->idle[--r->idle_count]];
	slot_fill(slot, dirfd, name, size, cookie);
	slot->ask_writers = ask_writers;
	slot->no_writers = false;
	if (r->plain || ask_writers) {
		read_slot_plain(slot);
		slot_finish(r, slot);
		return true;
	}
	ring_queue(r, slot);
	/* Queued files do not keep the disk busy. */
	if (r->queued >= SUBMIT_BATCH || 2 * r->queued >= r->depth)
		ring_run(r, 0);
	return true;
}

bool reader_next(struct reader *r, struct reader_file *ret)
{
	struct slot *slot;

	slot_release(r);
	if (r->idle_count == r->depth)
		return false;
	while (!r->done_count)
		ring_run(r, 1);
	slot = &r->slots[r->done[r->done_head]];
	r->done_head = (r->done_head + 1) % r->depth;
	r->done_count--;
	r->given = (int)(slot - r->slots);
	*ret = (struct reader_file){
		.cookie = slot->cookie,
		.error = slot->error,
		.no_writers = slot->no_writers,
		.grew = slot->len > slot->size,
		.len = slot->len > slot->size ? slot->size : slot->len,
		.data = slot->data,
	};
	return true;
}

/* --- syncs --- */

/* Syncs one batch. Returns the first failure or 0; -1: the ring is unusable. */
static int sync_batch(struct io_uring *ring, const int *fds, unsigned int count)
{
	struct io_uring_cqe *cqe;
	unsigned int i;
	int num = 0;

	for (i = 0; i < count; i++) {
		struct io_uring_sqe *sqe = io_uring_get_sqe(ring);

		if (!sqe)
			abort();
		io_uring_prep_fsync(sqe, fds[i], 0);
	}
	if (!ring_enter(ring, 0))
		return -1;
	for (i = 0; i < count; i++) {
		int got;

		do {
			got = io_uring_wait_cqe(ring, &cqe);
		} while (got == -EINTR);
		if (got < 0)
			return -1;
		if (cqe->res < 0 && !num)
			num = -cqe->res;
		io_uring_cqe_seen(ring, cqe);
	}
	return num;
}

int ring_sync_files(const int *fds, size_t count, struct err *err)
{
	struct io_uring ring;
	bool use = count > 1 && ring_start(&ring, SYNC_BATCH, false);
	bool started = use;
	int num = 0, got = 0;
	size_t i, n;

	for (i = 0; i < count; i += n) {
		n = count - i < SYNC_BATCH ? count - i : SYNC_BATCH;
		if (use)
			got = sync_batch(&ring, fds + i, (unsigned int)n);
		/* A failed sync is never repeated: a second sync would succeed
		 * without the lost pages. Here no sync is known to have failed.
		 */
		if (use && got < 0)
			use = false;
		if (!use) {
			n = 1;
			got = fsync(fds[i]) < 0 ? errno : 0;
		}
		if (got > 0 && !num)
			num = got;
	}
	if (started)
		io_uring_queue_exit(&ring);
	return num ? fail_num(err, num, "sync") : 0;
}
