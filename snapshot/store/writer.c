#include "snapshot/store/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "snapshot/store/ring_private.h"

#define ENTRIES 4
enum answer { ANSWER_EARLY = 1, ANSWER_SYNC = 2 };

/* Writeback starts after this many bytes, so that the final sync has little
 * left to do. */
#define EARLY_LEN ((uint64_t)8 << 20)

enum sync_state { SYNC_NONE, SYNC_UNDER_WAY, SYNC_DONE };

struct writer {
	int fd;
	bool plain; /* no io_uring */
	pthread_mutex_t mutex; /* protects all fields below */
	bool started; /* the ring exists */
	struct io_uring ring;
	int num; /* errno of the first failure, or 0 */
	uint64_t dirty; /* bytes since the last start of writeback */
	bool early; /* writeback is being started */
	enum sync_state sync;
	int sync_forced, sync_answer;
};

struct writer *writer_new(int fd)
{
	struct writer *w = mem_zalloc(sizeof(*w));

	w->fd = fd;
	(void)pthread_mutex_init(&w->mutex, NULL);
	return w;
}

/* --- the ring; under the mutex --- */

static bool writer_start_ring(struct writer *w)
{
	if (!w->plain && !w->started)
		w->started = ring_start(&w->ring, ENTRIES, true);
	w->plain = !w->started;
	return w->started;
}

/* The completion of the sync is lost, so the sync has failed. */
static void writer_give_up_ring(struct writer *w)
{
	io_uring_queue_exit(&w->ring);
	w->started = false;
	w->plain = true;
	w->early = false;
	if (w->sync == SYNC_UNDER_WAY) {
		w->sync = SYNC_DONE;
		w->sync_answer = -EIO;
	}
}

static void writer_run_ring(struct writer *w, unsigned int wait)
{
	struct io_uring_cqe *cqe;
	unsigned int head, count = 0;

	if (!ring_enter(&w->ring, wait)) {
		writer_give_up_ring(w);
		return;
	}
	io_uring_for_each_cqe(&w->ring, head, cqe)
	{
		if (io_uring_cqe_get_data64(cqe) == ANSWER_SYNC) {
			w->sync = SYNC_DONE;
			w->sync_answer =
				w->sync_forced ? -w->sync_forced : cqe->res;
		} else {
			w->early = false; /* Starting writeback is optional:
					     the sync reports errors. */
		}
		count++;
	}
	io_uring_cq_advance(&w->ring, count);
}

static struct io_uring_sqe *sqe_get(struct writer *w)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&w->ring);

	if (!sqe) /* the ring has an entry for each call */
		abort();
	return sqe;
}

/* A kernel thread starts the writeback, so the caller does not wait for the
 * disk. */
static void writer_begin_early_sync(struct writer *w)
{
	struct io_uring_sqe *sqe;

	if (w->early || !writer_start_ring(w))
		return;
	sqe = sqe_get(w);
	io_uring_prep_sync_file_range(sqe, w->fd, 0, 0, SYNC_FILE_RANGE_WRITE);
	io_uring_sqe_set_data64(sqe, ANSWER_EARLY);
	w->early = true;
	w->dirty = 0;
	writer_run_ring(w, 0);
}

/* --- writing --- */

/* Returns 0 or an errno. */
static int writer_write_parts(int fd, const struct iovec *parts, int count,
			      uint64_t offset)
{
	ssize_t n;
	int i;

	do {
		n = pwritev(fd, parts, count, (off_t)offset);
	} while (n < 0 && errno == EINTR);
	/* Short writes are rare (a signal, a full disk): the rest is written
	 * part by part, and the next write reports the error. */
	for (i = 0; n >= 0 && i < count; i++) {
		size_t skip = (size_t)n < parts[i].iov_len ? (size_t)n
							   : parts[i].iov_len;

		n -= (ssize_t)skip;
		offset += skip;
		if (skip < parts[i].iov_len) {
			if (fd_pwrite(fd, (char *)parts[i].iov_base + skip,
				      parts[i].iov_len - skip, offset) < 0)
				n = -1;
			offset += parts[i].iov_len - skip;
		}
	}
	return n < 0 ? errno : 0;
}

int writer_write(struct writer *w, const struct iovec *parts, int count,
		 uint64_t offset, struct err *err)
{
	int num = writer_write_parts(w->fd, parts, count, offset), i;

	(void)pthread_mutex_lock(&w->mutex);
	if (!w->num)
		w->num = num;
	for (i = 0; i < count; i++)
		w->dirty += parts[i].iov_len;
	if (w->dirty >= EARLY_LEN)
		writer_begin_early_sync(w);
	num = w->num;
	(void)pthread_mutex_unlock(&w->mutex);
	return num ? fail_num(err, num, "write") : 0;
}

/* --- making it durable --- */

void writer_sync_begin(struct writer *w)
{
	struct io_uring_sqe *sqe;

	(void)pthread_mutex_lock(&w->mutex);
	if (w->sync == SYNC_NONE && writer_start_ring(w)) {
		sqe = sqe_get(w);
		w->sync_forced = ring_call_begin(RING_SYNC, w->fd);
		if (w->sync_forced)
			io_uring_prep_nop(sqe);
		else
			io_uring_prep_fsync(sqe, w->fd, IORING_FSYNC_DATASYNC);
		io_uring_sqe_set_data64(sqe, ANSWER_SYNC);
		w->sync = SYNC_UNDER_WAY;
		writer_run_ring(w, 0);
	}
	(void)pthread_mutex_unlock(&w->mutex);
}

int writer_sync_end(struct writer *w, struct err *err)
{
	int num;

	(void)pthread_mutex_lock(&w->mutex);
	while (w->sync == SYNC_UNDER_WAY)
		writer_run_ring(w, 1);
	if (w->sync == SYNC_DONE)
		ring_call_end(RING_SYNC, w->fd);
	if (w->num)
		num = w->num;
	/* A canceled sync was never started. */
	else if (w->sync == SYNC_NONE || w->sync_answer == -ECANCELED)
		num = fdatasync(w->fd) < 0 ? errno : 0;
	else
		num = w->sync_answer < 0 ? -w->sync_answer : 0;
	(void)pthread_mutex_unlock(&w->mutex);
	return num ? fail_num(err, num, "sync") : 0;
}

void writer_free(struct writer **writer)
{
	struct writer *w = *writer;

	if (!w)
		return;
	while (w->sync == SYNC_UNDER_WAY || w->early)
		writer_run_ring(w, 1);
	if (w->started)
		io_uring_queue_exit(&w->ring);
	(void)pthread_mutex_destroy(&w->mutex);
	free(w);
	*writer = NULL;
}
