#include "snapshot/store/longfile.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/mem.h"
#include "snapshot/store/chunk.h"
#include "snapshot/store/chunk_reuse.h"
#include "snapshot/store/chunklist.h"
#include "snapshot/store/packformat.h"
#include "snapshot/store/stream.h"

/* --- storing chunks --- */

/*
 * Stores the chunks of one long file and collects their list in order. For a
 * very long file a second thread takes half of the work (hashing, comparing,
 * compressing), so that one huge file uses two cores.
 */

/* Shorter files are not worth a thread. */
#define SINGLE_THREAD_LEN ((uint64_t)8 << 20)
#define JOBS 4

static const unsigned char no_mark[CHUNK_MAC_LEN];

/* A chunk that waits for the second thread or is processed by it. */
struct chunk_job {
	unsigned char *data; /* CHUNK_MAX bytes */
	size_t len;
	size_t index; /* index in the list */
};

struct chunk_writer {
	struct store *store;
	const struct chunk_reuse *chunk_reuse; /* may be NULL */
	struct chunk_mac *mac_contexts[2]; /* one for the caller, one for the
					      second thread */
	uint64_t bytes;
	bool has_thread; /* the second thread exists */
	pthread_t thread;
	pthread_mutex_t mutex; /* protects all fields below */
	pthread_cond_t changed;
	struct chunklist list;
	struct buf macs; /* CHUNK_MAC_LEN bytes a run */
	bool mac_missing; /* a chunk has no tag */
	struct chunk_job chunk_jobs[JOBS]; /* ring buffer */
	unsigned int head, count;
	bool over;
	struct err failed; /* num 0: no failure so far */
};

static struct chunk_writer *
chunk_writer_new(struct store *s, const struct chunk_reuse *chunk_reuse)
{
	struct chunk_writer *p = mem_zalloc(sizeof(*p));

	p->store = s;
	p->chunk_reuse = chunk_reuse;
	if (chunk_reuse)
		p->mac_contexts[0] = chunk_mac_new(
			chunk_mac_cache_key(chunk_reuse->chunk_mac_cache));
	p->mac_missing = !p->mac_contexts[0];
	(void)pthread_mutex_init(&p->mutex, NULL);
	(void)pthread_cond_init(&p->changed, NULL);
	return p;
}

/* Called under the mutex. */
static size_t append_chunk_run(struct chunk_writer *p,
			       const struct chunk_run *run,
			       const unsigned char mark[CHUNK_MAC_LEN])
{
	chunklist_add(&p->list, run);
	if (!p->mac_missing)
		buf_add(&p->macs, mark, CHUNK_MAC_LEN);
	return p->list.count - 1;
}

static bool compute_chunk_mac(struct chunk_mac *m, const void *data, size_t len,
			      unsigned char ret[CHUNK_MAC_LEN])
{
	if (!m)
		return false;
	chunk_mac_begin(m);
	chunk_mac_add(m, data, len);
	return chunk_mac_end(m, ret);
}

/* Called without the mutex. */
static int store_chunk(struct chunk_writer *p, struct chunk_mac *chunk_mac,
		       const void *data, size_t len, size_t index,
		       struct err *err)
{
	unsigned char mark[CHUNK_MAC_LEN];
	bool marked = compute_chunk_mac(chunk_mac, data, len, mark);
	const struct chunk_run *run =
		marked ? chunk_reuse_find(p->chunk_reuse, mark, len) : NULL;
	struct oid id;
	int got = 0;

	if (run)
		id = run->id;
	else
		got = store_put(p->store, OBJECT_DATA, data, len, &id, err);
	(void)pthread_mutex_lock(&p->mutex);
	if (got == 0)
		p->list.runs[index].id = id;
	else if (!p->failed.num)
		p->failed = *err;
	p->mac_missing |= !marked;
	if (!p->mac_missing)
		memcpy(p->macs.data + index * CHUNK_MAC_LEN, mark,
		       CHUNK_MAC_LEN);
	(void)pthread_mutex_unlock(&p->mutex);
	return got;
}

static void *run_chunk_thread(void *arg)
{
	struct chunk_writer *p = arg;
	struct err ignored;
	struct chunk_job chunk_job;

	for (;;) {
		(void)pthread_mutex_lock(&p->mutex);
		while (!p->count && !p->over)
			(void)pthread_cond_wait(&p->changed, &p->mutex);
		chunk_job = p->chunk_jobs[p->head];
		if (!p->count) {
			(void)pthread_mutex_unlock(&p->mutex);
			return NULL;
		}
		(void)pthread_mutex_unlock(&p->mutex);
		(void)store_chunk(p, p->mac_contexts[1], chunk_job.data,
				  chunk_job.len, chunk_job.index, &ignored);
		(void)pthread_mutex_lock(&p->mutex);
		p->head = (p->head + 1) % JOBS;
		p->count--;
		(void)pthread_cond_broadcast(&p->changed);
		(void)pthread_mutex_unlock(&p->mutex);
	}
}

/* Called under the mutex. Passes the chunk to the second thread when its queue
 * has a free slot. */
static bool queue_chunk(struct chunk_writer *p, const void *data, size_t len,
			size_t index)
{
	struct chunk_job *chunk_job =
		&p->chunk_jobs[(p->head + p->count) % JOBS];

	if (!p->has_thread || p->count == JOBS)
		return false;
	memcpy(chunk_job->data, data, len);
	chunk_job->len = len;
	chunk_job->index = index;
	p->count++;
	(void)pthread_cond_broadcast(&p->changed);
	return true;
}

/* Adds the next chunk of at most CHUNK_MAX bytes. data is borrowed until the
 * call returns. A failure may be reported by a later call. */
static int chunk_writer_add(struct chunk_writer *p, const void *data,
			    size_t len, struct err *err)
{
	struct chunk_run run = {.len = len};
	size_t index = 0;
	bool handed = false;
	unsigned int i;
	int num;

	p->bytes += len;
	if (p->bytes >= SINGLE_THREAD_LEN && !p->chunk_jobs[0].data) {
		for (i = 0; i < JOBS; i++)
			p->chunk_jobs[i].data = mem_alloc(CHUNK_MAX);
		if (p->mac_contexts[0])
			p->mac_contexts[1] = chunk_mac_new(chunk_mac_cache_key(
				p->chunk_reuse->chunk_mac_cache));
		p->has_thread = pthread_create(&p->thread, NULL,
					       run_chunk_thread, p) == 0;
	}
	(void)pthread_mutex_lock(&p->mutex);
	num = p->failed.num;
	if (num) {
		*err = p->failed;
	} else {
		index = append_chunk_run(p, &run, no_mark);
		handed = queue_chunk(p, data, len, index);
	}
	(void)pthread_mutex_unlock(&p->mutex);
	if (num)
		return -num;
	return handed ? 0
		      : store_chunk(p, p->mac_contexts[0], data, len, index,
				    err);
}

/* Adds the next run, as the previous version has it, or a hole. */
static void chunk_writer_add_reused(struct chunk_writer *p,
				    const struct chunk_run *run,
				    const unsigned char mark[CHUNK_MAC_LEN])
{
	(void)pthread_mutex_lock(&p->mutex);
	(void)append_chunk_run(p, run, mark);
	(void)pthread_mutex_unlock(&p->mutex);
}

/* Waits until all chunks are stored. The writer owns the list. */
static int chunk_writer_end(struct chunk_writer *p,
			    const struct chunklist **ret, struct err *err)
{
	int num;

	(void)pthread_mutex_lock(&p->mutex);
	while (p->count)
		(void)pthread_cond_wait(&p->changed, &p->mutex);
	num = p->failed.num;
	if (num)
		*err = p->failed;
	(void)pthread_mutex_unlock(&p->mutex);
	*ret = &p->list;
	return -num;
}

static void chunk_writer_free(struct chunk_writer **chunk_writer)
{
	struct chunk_writer *p = *chunk_writer;
	unsigned int i;

	if (!p)
		return;
	(void)pthread_mutex_lock(&p->mutex);
	p->over = true;
	(void)pthread_cond_broadcast(&p->changed);
	(void)pthread_mutex_unlock(&p->mutex);
	if (p->has_thread)
		(void)pthread_join(p->thread, NULL);
	for (i = 0; i < JOBS; i++)
		free(p->chunk_jobs[i].data);
	chunk_mac_free(&p->mac_contexts[0]);
	chunk_mac_free(&p->mac_contexts[1]);
	chunklist_free(&p->list);
	buf_free(&p->macs);
	(void)pthread_mutex_destroy(&p->mutex);
	(void)pthread_cond_destroy(&p->changed);
	free(p);
	*chunk_writer = NULL;
}

/* --- cutting --- */

static const unsigned char zero_bytes[HOLE_MIN];

/* Chunks are cut from the front of the window, which contains no hole. */
struct chunker {
	struct store *store;
	struct chunk_writer *chunk_writer;
	unsigned char *window; /* 2 * CHUNK_MAX bytes */
	size_t start, have;
	uint64_t at; /* offset of the window's start in the file */
	uint64_t zeros; /* zeros behind the window that are not in it yet */
	const struct chunk_reuse *chunk_reuse; /* may be NULL */
	size_t met; /* index of the next reusable run */
};

static struct chunker *chunker_new(struct store *s,
				   const struct chunk_reuse *chunk_reuse)
{
	struct chunker *c = mem_zalloc(sizeof(*c));

	c->store = s;
	c->chunk_reuse = chunk_reuse;
	c->chunk_writer = chunk_writer_new(s, chunk_reuse);
	c->window = mem_alloc(2 * CHUNK_MAX);
	return c;
}

static void chunker_free(struct chunker **chunker)
{
	struct chunker *c = *chunker;

	if (!c)
		return;
	chunk_writer_free(&c->chunk_writer);
	free(c->window);
	free(c);
	*chunker = NULL;
}

/* Stores one chunk from the window. 1: a reusable run follows. */
static int cut_first_chunk(struct chunker *c, struct err *err)
{
	const unsigned char *data = c->window + c->start;
	size_t len = chunk_cut(store_gear(c->store), data, c->have);

	if (chunk_writer_add(c->chunk_writer, data, len, err) < 0)
		return -err->num;
	c->start += len;
	c->have -= len;
	c->at += len;
	if (!c->chunk_reuse)
		return 0;
	c->met = chunk_reuse_at(c->chunk_reuse, c->at);
	return c->met < c->chunk_reuse->list.count;
}

static int cut_window(struct chunker *c, struct err *err)
{
	int got = 0;

	while (c->have && got == 0)
		got = cut_first_chunk(c, err);
	return got;
}

/* Adds bytes up to a border of HOLE_ALIGN, none of which is in a hole. Result
 * as in chunker_add(). */
static int add_to_window(struct chunker *c, const unsigned char *data,
			 size_t len, struct err *err)
{
	while (len) {
		size_t n = 2 * CHUNK_MAX - c->start - c->have;

		if (n > len)
			n = len;
		memcpy(c->window + c->start + c->have, data, n);
		c->have += n;
		data += n;
		len -= n;
		while (c->have >= CHUNK_MAX) {
			int got = cut_first_chunk(c, err);

			if (got)
				return got;
		}
		if (c->start >= CHUNK_MAX) {
			memmove(c->window, c->window + c->start, c->have);
			c->start = 0;
		}
	}
	return 0;
}

/* Turns the pending zeros into a hole, or into data when they are too few. */
static int end_zero_run(struct chunker *c, struct err *err)
{
	struct chunk_run hole = {.len = c->zeros, .hole = true};
	uint64_t zeros = c->zeros;
	int got;

	c->zeros = 0;
	if (zeros < HOLE_MIN)
		return add_to_window(c, zero_bytes, (size_t)zeros, err);
	got = cut_window(c, err);
	if (got)
		return got;
	chunk_writer_add_reused(c->chunk_writer, &hole, no_mark);
	c->at += zeros;
	return 0;
}

/*
 * Adds the next bytes. All lengths but the last are multiples of HOLE_ALIGN.
 * Returns 0, a negative errno, or 1: a cut fell on the start of the reusable
 * run chunker.met. The caller then continues with chunker_reuse(); bytes that
 * were added behind the cut are dropped.
 */
static int chunker_add(struct chunker *c, const unsigned char *data, size_t len,
		       struct err *err)
{
	size_t n;
	int got = 0;

	while (len && got == 0) {
		n = hole_zeros_len(data, len);
		c->zeros += n;
		data += n;
		len -= n;
		if (!len)
			break;
		if (c->zeros)
			got = end_zero_run(c, err);
		if (got)
			break;
		n = hole_data_len(data, len);
		got = add_to_window(c, data, n, err);
		data += n;
		len -= n;
	}
	return got;
}

/* Takes over the reusable runs of the previous version from index i on. Returns
 * the index of the first run that is not reusable: the next bytes begin at the
 * offset of that run. */
static size_t chunker_reuse(struct chunker *c, size_t i)
{
	const struct chunk_reuse *p = c->chunk_reuse;

	/* The rest of the window belongs to reusable runs. */
	c->start = c->have = 0;
	c->zeros = 0;
	for (; i < p->list.count && p->reusable[i]; i++)
		chunk_writer_add_reused(c->chunk_writer, &p->list.runs[i],
					p->macs + i * CHUNK_MAC_LEN);
	c->at = p->starts[i];
	return i;
}

/* Stores the rest and the list. *ret is the name of the list. */
static int chunker_end(struct chunker *c, struct oid *ret, struct err *err)
{
	AUTO(buf) struct buf b = {0};
	const struct chunklist *list;

	/* No run is reused from here on: the file ends. */
	c->chunk_reuse = NULL;
	if (end_zero_run(c, err) < 0 || cut_window(c, err) < 0 ||
	    chunk_writer_end(c->chunk_writer, &list, err) < 0)
		return -err->num;
	chunklist_encode(list, &b);
	if (b.len > OBJECT_LEN_MAX)
		return fail(err, EFBIG, "the file is too large to be stored");
	return store_put(c->store, OBJECT_CHUNKLIST, b.data, b.len, ret, err);
}

/* --- reading --- */

/* Longer files that are not cached are read past the page cache. */
#define DIRECT_LEN ((uint64_t)8 << 20)
/* Shorter ranges are read by plain calls: a ring reads far ahead. */
#define RING_LEN ((uint64_t)8 << 20)

/* Shorter files are not worth loading libcrypto. Tests include this file and
 * set it. */
static uint64_t marked_len = (uint64_t)32 << 20;

/* A file that is being chunked. */
struct longfile_job {
	struct chunker *chunker;
	int fd;
	uint64_t size, pos;
	bool cached, direct;
};

/* Passes [pos, end) to the chunker. Returns 0 for all of it, 1 at the end of
 * the file, 2 when a reusable run follows. */
static int chunk_data_range(struct longfile_job *c, struct stream *in,
			    uint64_t end, struct err *err)
{
	const unsigned char *data;
	ssize_t n;
	int got;

	stream_range(in, c->pos, end);
	while ((n = stream_next(in, &data)) > 0) {
		got = chunker_add(c->chunker, data, (size_t)n, err);
		if (got)
			return got < 0 ? got : 2;
		c->pos += (uint64_t)n;
	}
	return n < 0 ? fail_errno(err, "read") : c->pos < end;
}

/* Passes the bytes from the last old cut to the next block border. */
static int add_data_until_cut(struct longfile_job *c, struct err *err)
{
	unsigned char data[HOLE_ALIGN];
	size_t want = (size_t)(-c->pos & (HOLE_ALIGN - 1));
	ssize_t n = want ? fd_pread(c->fd, data, want, c->pos) : 0;
	int got;

	if (n < 0)
		return fail_errno(err, "read");
	got = add_to_window(c->chunker, data, (size_t)n, err);
	c->pos += (uint64_t)n;
	return got > 0 ? 2 : got < 0 ? got : (size_t)n < want;
}

/* Chunks from pos on; result as in chunk_data_range(). ahead: the range may be
 * long. */
static int chunk_from_position(struct longfile_job *c, bool ahead,
			       struct err *err)
{
	bool plain = c->cached || !ahead;
	AUTO(stream) struct stream *in = stream_new(c->fd, c->size, plain);
	uint64_t start, end;
	int got;

	(void)stream_direct(c->fd, false);
	got = add_data_until_cut(c, err);
	if (c->direct && !plain)
		(void)stream_direct(c->fd, true);
	while (got == 0) {
		bool more = hole_next_data(c->fd, c->pos, &start, &end);

		c->chunker->zeros += start - c->pos;
		c->pos = start;
		if (!more)
			return 1;
		got = chunk_data_range(c, in, end, err);
	}
	return got;
}

/* Alternates between reusable runs and ranges that are chunked again. */
static int chunk_changed_ranges(struct longfile_job *c,
				const struct chunk_reuse *p, struct err *err)
{
	size_t i = 0, next;
	uint64_t end;
	int got = 2;

	while (got == 2) {
		i = chunker_reuse(c->chunker, i);
		c->pos = p->starts[i];
		if (i == p->list.count && c->pos == c->size)
			return 1;
		for (next = i; next < p->list.count && !p->reusable[next];)
			next++;
		end = next < p->list.count ? p->starts[next] : c->size;
		got = chunk_from_position(c, end - c->pos >= RING_LEN, err);
		i = c->chunker->met;
	}
	return got;
}

int longfile_put(struct store *s, int fd, uint64_t size,
		 const struct longfile_hints *hints, struct oid *ret,
		 uint64_t *ret_size, struct err *err)
{
	AUTO(chunk_reuse)
	struct chunk_reuse *chunk_reuse =
		hints && hints->chunk_mac_cache && size >= marked_len
			? chunk_reuse_new(s, hints->chunk_mac_cache,
					  hints->before)
			: NULL;
	AUTO(chunker) struct chunker *chunker = chunker_new(s, chunk_reuse);
	struct longfile_job c = {.chunker = chunker,
				 .fd = fd,
				 .size = size,
				 .cached = stream_is_cached(fd, size)};
	struct chunk_writer *p;
	int got;

	(void)posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	c.direct = !c.cached && size >= DIRECT_LEN && stream_direct(fd, true);
	got = chunk_reuse
		      ? chunk_reuse_check(chunk_reuse, fd, size, c.cached, err)
		      : 0;
	if (got == 0)
		got = chunk_reuse && chunk_reuse->list.count
			      ? chunk_changed_ranges(&c, chunk_reuse, err)
			      : chunk_from_position(&c, true, err);
	if (c.direct)
		(void)stream_direct(fd, false);
	if (got < 0 || chunker_end(chunker, ret, err) < 0)
		return -err->num;
	*ret_size = c.pos;
	p = chunker->chunk_writer;
	/* A tag for each run of the list. */
	if (chunk_reuse && !p->mac_missing && p->macs.data) {
		chunk_mac_cache_put(hints->chunk_mac_cache, ret, hints->before,
				    p->macs.data, p->list.count);
		p->macs = (struct buf){0};
	}
	return 0;
}

int longfile_put_bytes(struct store *s, const void *data, size_t len,
		       struct oid *ret, struct err *err)
{
	AUTO(chunker) struct chunker *c = chunker_new(s, NULL);

	if (chunker_add(c, data, len, err) < 0)
		return -err->num;
	return chunker_end(c, ret, err);
}
