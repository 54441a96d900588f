#include "snapshot/store/writer.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "snapshot/store/ringimpl.h"

#define DEPTH 8
#define SYNC_ANSWER DEPTH

/* A write under way. */
struct slot {
	unsigned char *data;
	size_t room, len;
	uint64_t offset;
	int forced; /* an errno that a test wants, else 0 */
	bool busy;
};

enum sync_state { SYNC_NONE, SYNC_UNDER_WAY, SYNC_DONE };

struct writer {
	int fd;
	bool plain; /* by wish or because there is no io_uring */
	bool started; /* there is a ring */
	atomic_uint busy; /* slots */
	pthread_mutex_t mutex; /* all below */
	struct io_uring ring;
	struct slot slots[DEPTH];
	int num; /* errno of the first failure, 0 */
	enum sync_state sync;
	int sync_forced, sync_answer;
};

struct writer *writer_new(int fd, bool plain)
{
	struct writer *w = mem_zalloc(sizeof(*w));

	w->fd = fd;
	w->started = !plain && ring_start(&w->ring, 2 * DEPTH, true);
	w->plain = !w->started;
	(void)pthread_mutex_init(&w->mutex, NULL);
	return w;
}

bool writer_uses_ring(const struct writer *w)
{
	return !w->plain;
}

static void fault(struct writer *w, int num)
{
	if (!w->num)
		w->num = num;
}

static void slot_done(struct writer *w, struct slot *slot)
{
	slot->busy = false;
	atomic_fetch_sub(&w->busy, 1);
	ring_call_end(RING_WRITE, w->fd);
}

/*
 * A write that ended early (a signal, the end of the thread that asked for it,
 * a disk that is nearly full) is ended by plain calls: they say what is wrong.
 */
static void slot_settle(struct writer *w, struct slot *slot, int answer)
{
	size_t done = answer > 0 ? (size_t)answer : 0;

	if (slot->forced)
		answer = -slot->forced;
	if (answer < 0 && answer != -ECANCELED && answer != -EINTR &&
	    answer != -EAGAIN)
		fault(w, -answer);
	else if (done < slot->len &&
		 fd_pwrite(w->fd, slot->data + done, slot->len - done,
			   slot->offset + done) < 0)
		fault(w, errno);
	slot_done(w, slot);
}

/*
 * Nobody can say what the kernel still does with what is under way. Writing
 * the same bytes to the same places once more does no harm; the buffers are
 * left to it. A sync's answer is lost, so it has failed.
 */
static void give_up(struct writer *w)
{
	unsigned int i;

	io_uring_queue_exit(&w->ring);
	w->started = false;
	w->plain = true;
	for (i = 0; i < DEPTH; i++) {
		struct slot *slot = &w->slots[i];

		if (!slot->busy)
			continue;
		slot_settle(w, slot, 0);
		slot->data = NULL;
		slot->room = 0;
	}
	if (w->sync == SYNC_UNDER_WAY) {
		w->sync = SYNC_DONE;
		w->sync_answer = -EIO;
	}
}

/* Submits and waits for so many answers; under the mutex, as all below. */
static void run(struct writer *w, unsigned int wait)
{
	struct io_uring_cqe *cqe;
	unsigned int head, count = 0;

	if (!ring_enter(&w->ring, wait)) {
		give_up(w);
		return;
	}
	io_uring_for_each_cqe(&w->ring, head, cqe)
	{
		uint64_t i = io_uring_cqe_get_data64(cqe);

		if (i == SYNC_ANSWER) {
			w->sync = SYNC_DONE;
			w->sync_answer =
				w->sync_forced ? -w->sync_forced : cqe->res;
		} else {
			slot_settle(w, &w->slots[i], cqe->res);
		}
		count++;
	}
	io_uring_cq_advance(&w->ring, count);
}

static struct io_uring_sqe *sqe_get(struct writer *w)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&w->ring);

	/* There is room for all slots and the sync. */
	if (!sqe)
		abort();
	return sqe;
}

static void drain(struct writer *w)
{
	while (atomic_load(&w->busy))
		run(w, 1);
}

/* An idle slot, NULL when there is no ring (any more). */
static struct slot *slot_idle(struct writer *w)
{
	unsigned int i;

	while (!w->plain && atomic_load(&w->busy) == DEPTH)
		run(w, 1);
	for (i = 0; !w->plain && i < DEPTH; i++) {
		if (!w->slots[i].busy)
			return &w->slots[i];
	}
	return NULL;
}

static size_t parts_len(const struct iovec *parts, int count)
{
	size_t len = 0;
	int i;

	for (i = 0; i < count; i++)
		len += parts[i].iov_len;
	return len;
}

static void slot_fill(struct slot *slot, const struct iovec *parts, int count,
		      size_t len, uint64_t offset)
{
	int i;

	if (slot->room < len) {
		free(slot->data);
		slot->room = (len + 65535) & ~(size_t)65535;
		slot->data = mem_alloc(slot->room);
	}
	slot->len = 0;
	for (i = 0; i < count; i++) {
		memcpy(slot->data + slot->len, parts[i].iov_base,
		       parts[i].iov_len);
		slot->len += parts[i].iov_len;
	}
	slot->offset = offset;
	slot->busy = true;
}

static void slot_submit(struct writer *w, struct slot *slot)
{
	struct io_uring_sqe *sqe = sqe_get(w);
	int hooked = ring_call_begin(RING_WRITE, w->fd);
	size_t len = hooked < 0 ? slot->len / 2 : slot->len;

	slot->forced = hooked > 0 ? hooked : 0;
	if (slot->forced)
		io_uring_prep_nop(sqe);
	else
		io_uring_prep_write(sqe, w->fd, slot->data, (unsigned int)len,
				    slot->offset);
	io_uring_sqe_set_data64(sqe, (uint64_t)(slot - w->slots));
	atomic_fetch_add(&w->busy, 1);
	run(w, 0);
}

static int write_plain(struct writer *w, const struct iovec *parts, int count,
		       uint64_t offset)
{
	ssize_t n;
	int i;

	do {
		n = pwritev(w->fd, parts, count, (off_t)offset);
	} while (n < 0 && errno == EINTR);
	/* A short write is rare (a signal, a full disk): go on part by part,
	 * the next one says what is wrong. */
	for (i = 0; n >= 0 && i < count; i++) {
		size_t skip = (size_t)n < parts[i].iov_len ? (size_t)n
							   : parts[i].iov_len;

		n -= (ssize_t)skip;
		offset += skip;
		if (skip < parts[i].iov_len) {
			if (fd_pwrite(w->fd, (char *)parts[i].iov_base + skip,
				      parts[i].iov_len - skip, offset) < 0)
				n = -1;
			offset += parts[i].iov_len - skip;
		}
	}
	return n < 0 ? errno : 0;
}

static int told(int num, struct err *err)
{
	return num ? fail_num(err, num, "write") : 0;
}

int writer_write(struct writer *w, const struct iovec *parts, int count,
		 uint64_t offset, struct err *err)
{
	size_t len = parts_len(parts, count);
	struct slot *slot = NULL;
	int num;

	(void)pthread_mutex_lock(&w->mutex);
	if (len <= WRITER_LEN_MAX)
		slot = slot_idle(w);
	if (slot) {
		slot_fill(slot, parts, count, len, offset);
		slot_submit(w, slot);
	}
	num = w->num;
	(void)pthread_mutex_unlock(&w->mutex);
	if (!slot && !num)
		num = write_plain(w, parts, count, offset);
	return told(num, err);
}

ssize_t writer_read(struct writer *w, void *data, size_t len, uint64_t offset)
{
	bool got = false;
	unsigned int i;

	if (!atomic_load(&w->busy))
		return fd_pread(w->fd, data, len, offset);
	(void)pthread_mutex_lock(&w->mutex);
	for (i = 0; i < DEPTH && !got; i++) {
		const struct slot *slot = &w->slots[i];

		got = slot->busy && offset >= slot->offset &&
		      offset - slot->offset <= slot->len &&
		      len <= slot->len - (offset - slot->offset);
		if (got)
			memcpy(data, slot->data + (offset - slot->offset), len);
	}
	(void)pthread_mutex_unlock(&w->mutex);
	return got ? (ssize_t)len : fd_pread(w->fd, data, len, offset);
}

int writer_flush(struct writer *w, struct err *err)
{
	int num;

	(void)pthread_mutex_lock(&w->mutex);
	drain(w);
	num = w->num;
	(void)pthread_mutex_unlock(&w->mutex);
	return told(num, err);
}

void writer_sync_begin(struct writer *w)
{
	struct io_uring_sqe *sqe;

	(void)pthread_mutex_lock(&w->mutex);
	if (!w->plain && w->sync == SYNC_NONE) {
		sqe = sqe_get(w);
		w->sync_forced = ring_call_begin(RING_SYNC, w->fd);
		if (w->sync_forced)
			io_uring_prep_nop(sqe);
		else
			io_uring_prep_fsync(sqe, w->fd, IORING_FSYNC_DATASYNC);
		io_uring_sqe_set_data64(sqe, SYNC_ANSWER);
		w->sync = SYNC_UNDER_WAY;
		run(w, 0);
	}
	(void)pthread_mutex_unlock(&w->mutex);
}

int writer_sync_end(struct writer *w, struct err *err)
{
	int num;

	(void)pthread_mutex_lock(&w->mutex);
	while (w->sync == SYNC_UNDER_WAY)
		run(w, 1);
	if (w->sync == SYNC_DONE)
		ring_call_end(RING_SYNC, w->fd);
	/* One that was cancelled was never begun. */
	if (w->sync == SYNC_NONE || w->sync_answer == -ECANCELED)
		num = fdatasync(w->fd) < 0 ? errno : 0;
	else
		num = w->sync_answer < 0 ? -w->sync_answer : 0;
	(void)pthread_mutex_unlock(&w->mutex);
	return num ? fail_num(err, num, "sync") : 0;
}

void writer_free(struct writer **writer)
{
	struct writer *w = *writer;
	unsigned int i;

	if (!w)
		return;
	drain(w);
	while (w->sync == SYNC_UNDER_WAY)
		run(w, 1);
	if (w->started)
		io_uring_queue_exit(&w->ring);
	for (i = 0; i < DEPTH; i++)
		free(w->slots[i].data);
	(void)pthread_mutex_destroy(&w->mutex);
	free(w);
	*writer = NULL;
}
