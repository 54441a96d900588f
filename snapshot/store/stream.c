#include "snapshot/store/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "snapshot/store/ring_private.h"

#define DEPTH 16

struct stream_piece {
	unsigned char *data;
	uint64_t offset;
	size_t want;
	int forced; /* errno that a test sets, else 0 */
	int result;
	bool done;
};

struct stream {
	int fd;
	uint64_t size; /* from this offset on only one read is in flight */
	uint64_t next, end; /* next read and end of the range */
	bool over; /* no further reads */
	bool plain, started;
	struct io_uring ring;
	struct stream_piece stream_pieces[DEPTH]; /* ring buffer */
	unsigned int head, count; /* pieces in flight or done */
	unsigned int pending; /* pieces in flight */
	bool given; /* the caller holds the head's bytes */
};

struct stream *stream_new(int fd, uint64_t size, bool plain)
{
	struct stream *s = mem_zalloc(sizeof(*s));

	s->fd = fd;
	s->size = size;
	s->started = !plain && ring_start(&s->ring, DEPTH, false);
	s->plain = !s->started;
	s->over = true;
	return s;
}

static unsigned char *stream_piece_new(void)
{
	void *data;

	if (posix_memalign(&data, STREAM_ALIGN, STREAM_PIECE))
		abort();
	return data;
}

bool stream_direct(int fd, bool on)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0)
		return false;
	flags = on ? flags | O_DIRECT : flags & ~O_DIRECT;
	return fcntl(fd, F_SETFL, flags) == 0;
}

/* Pieces without a completion are read by plain calls. The kernel may still
 * write into their buffers, so the buffers are leaked. */
static void stream_give_up_ring(struct stream *s)
{
	unsigned int i;

	io_uring_queue_exit(&s->ring);
	s->started = false;
	s->plain = true;
	for (i = 0; i < s->count; i++) {
		struct stream_piece *p =
			&s->stream_pieces[(s->head + i) % DEPTH];

		if (p->done)
			continue;
		p->data = stream_piece_new();
		p->result = 0;
		p->done = true;
	}
	s->pending = 0;
}

static void stream_run_ring(struct stream *s, unsigned int wait)
{
	struct io_uring_cqe *cqe;
	unsigned int head, count = 0;

	if (!ring_enter(&s->ring, wait)) {
		stream_give_up_ring(s);
		return;
	}
	io_uring_for_each_cqe(&s->ring, head, cqe)
	{
		struct stream_piece *p =
			&s->stream_pieces[io_uring_cqe_get_data64(cqe)];

		p->result = p->forced ? -p->forced : cqe->res;
		p->done = true;
		ring_call_end(RING_READ, s->fd);
		count++;
	}
	io_uring_cq_advance(&s->ring, count);
	s->pending -= count;
}

static void stream_prepare_read(struct stream *s, unsigned int i)
{
	struct stream_piece *p = &s->stream_pieces[i];
	struct io_uring_sqe *sqe = io_uring_get_sqe(&s->ring);
	int hooked = ring_call_begin(RING_READ, s->fd);

	if (!sqe) /* the ring has entries for all pieces */
		abort();
	p->forced = hooked > 0 ? hooked : 0;
	if (p->forced)
		io_uring_prep_nop(sqe);
	else
		io_uring_prep_read(
			sqe, s->fd, p->data,
			(unsigned int)(hooked < 0 ? p->want / 2 : p->want),
			p->offset);
	io_uring_sqe_set_data64(sqe, i);
	s->pending++;
}

/* Queues the next reads. */
static void stream_queue_reads(struct stream *s)
{
	unsigned int depth = s->plain ? 1 : DEPTH;

	while (!s->over && s->count < depth &&
	       (s->next < s->size || !s->count)) {
		unsigned int i = (s->head + s->count) % DEPTH;
		struct stream_piece *p = &s->stream_pieces[i];
		uint64_t left = s->end - s->next;

		if (!p->data)
			p->data = stream_piece_new();
		p->offset = s->next;
		p->want = left < STREAM_PIECE ? (size_t)left : STREAM_PIECE;
		p->done = s->plain;
		p->result = 0;
		if (!s->plain)
			stream_prepare_read(s, i);
		s->count++;
		s->next += p->want;
		s->over = s->next == s->end;
	}
}

void stream_range(struct stream *s, uint64_t start, uint64_t end)
{
	s->next = start;
	s->end = end;
	s->over = start >= end;
}

static void stream_drop_head(struct stream *s)
{
	s->head = (s->head + 1) % DEPTH;
	s->count--;
}

/* Drops the pieces behind the end of the file. */
static void stream_drop_rest(struct stream *s)
{
	s->over = true;
	while (s->pending)
		stream_run_ring(s, 1);
	while (s->count)
		stream_drop_head(s);
}

/* Completes a piece. A failed or short read is repeated with plain calls, which
 * report the real error. */
static ssize_t stream_piece_len(const struct stream *s,
				const struct stream_piece *p)
{
	size_t done = p->result > 0 ? (size_t)p->result : 0;
	ssize_t n;

	if (done == p->want)
		return (ssize_t)done;
	n = fd_pread(s->fd, p->data + done, p->want - done, p->offset + done);
	/* O_DIRECT refuses the last, partial block, or the file system refuses
	 * it late. */
	if (n < 0 && errno == EINVAL && stream_direct(s->fd, false))
		n = fd_pread(s->fd, p->data + done, p->want - done,
			     p->offset + done);
	return n < 0 ? -1 : (ssize_t)done + n;
}

ssize_t stream_next(struct stream *s, const unsigned char **ret)
{
	struct stream_piece *p;
	ssize_t n;

	if (s->given)
		stream_drop_head(s);
	s->given = false;
	stream_queue_reads(s);
	if (!s->count)
		return 0;
	p = &s->stream_pieces[s->head];
	/* New requests are submitted also when the head is complete. */
	if (!s->plain)
		stream_run_ring(s, p->done ? 0 : 1);
	while (!p->done)
		stream_run_ring(s, 1);
	n = stream_piece_len(s, p);
	if (n <= 0) {
		int num = errno;

		stream_drop_rest(s);
		errno = num;
		return n;
	}
	s->given = true;
	*ret = p->data;
	if ((size_t)n < p->want) {
		s->over = true;
		s->end = s->next = p->offset + (uint64_t)n;
		/* Pieces behind the end of the file are dropped. */
		while (s->pending)
			stream_run_ring(s, 1);
		s->count = 1;
	}
	return n;
}

void stream_free(struct stream **stream)
{
	struct stream *s = *stream;
	unsigned int i;

	if (!s)
		return;
	while (s->pending)
		stream_run_ring(s, 1);
	if (s->started)
		io_uring_queue_exit(&s->ring);
	for (i = 0; i < DEPTH; i++)
		free(s->stream_pieces[i].data);
	free(s);
	*stream = NULL;
}

#define SAMPLES 16

bool stream_is_cached(int fd, uint64_t size)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), pages, i;
	unsigned char there;
	unsigned int yes = 0;
	char *map;

	pages = (size + page - 1) / page;
	if (!pages)
		return true;
	map = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return true;
	/* The pages are not touched. */
	for (i = 0; i < SAMPLES; i++)
		if (mincore(map + pages * i / SAMPLES * page, page, &there) <
			    0 ||
		    (there & 1))
			yes++;
	(void)munmap(map, size);
	return 2 * yes >= SAMPLES;
}
