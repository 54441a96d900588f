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

/* A long file that is being stored. */
struct longfile {
	struct store *store;
	const struct chunk_reuse *reuse; /* may be NULL */

	/* The file. */
	int fd;
	uint64_t size, pos;
	bool cached, direct;

	/* Chunks are cut from the front of the window, which contains no
	 * hole. */
	unsigned char *window; /* 2 * CHUNK_MAX bytes */
	size_t start, have;
	uint64_t at; /* offset of the window's start in the file */
	uint64_t zeros; /* zeros behind the window that are not in it yet */
	size_t met; /* index of the next reusable run */
	bool ends; /* the file ends: no run is reused any more */

	/* For a very long file a second thread takes half of the work (hashing,
	 * comparing, compressing), so that one huge file uses two cores. */
	struct chunk_mac *mac_contexts[2]; /* one for the caller, one for the
					      second thread */
	uint64_t bytes; /* length of all chunks */
	bool has_thread; /* the second thread exists */
	pthread_t thread;
	pthread_mutex_t mutex; /* protects all fields below */
	pthread_cond_t changed;
	struct chunklist list;
	struct buf macs; /* CHUNK_MAC_LEN bytes a run */
	bool mac_missing; /* a chunk has no tag */
	struct chunk_job jobs[JOBS]; /* ring buffer */
	unsigned int head, count;
	bool over;
	struct err failed; /* num 0: no failure so far */
};

static struct chunk_mac *make_mac_context(const struct longfile *l)
{
	return l->reuse ? chunk_mac_new(chunk_mac_cache_key(
				  l->reuse->chunk_mac_cache))
			: NULL;
}

static void longfile_start(struct longfile *l, struct store *s,
			   const struct chunk_reuse *reuse)
{
	*l = (struct longfile){.store = s, .reuse = reuse};
	l->window = mem_alloc(2 * CHUNK_MAX);
	l->mac_contexts[0] = make_mac_context(l);
	l->mac_missing = !l->mac_contexts[0];
	(void)pthread_mutex_init(&l->mutex, NULL);
	(void)pthread_cond_init(&l->changed, NULL);
}

static void longfile_free(struct longfile *l)
{
	unsigned int i;

	(void)pthread_mutex_lock(&l->mutex);
	l->over = true;
	(void)pthread_cond_broadcast(&l->changed);
	(void)pthread_mutex_unlock(&l->mutex);
	if (l->has_thread)
		(void)pthread_join(l->thread, NULL);
	for (i = 0; i < JOBS; i++)
		free(l->jobs[i].data);
	chunk_mac_free(&l->mac_contexts[0]);
	chunk_mac_free(&l->mac_contexts[1]);
	chunklist_free(&l->list);
	buf_free(&l->macs);
	free(l->window);
	(void)pthread_mutex_destroy(&l->mutex);
	(void)pthread_cond_destroy(&l->changed);
}

/* --- storing chunks --- */

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
static int store_chunk(struct longfile *l, struct chunk_mac *chunk_mac,
		       const void *data, size_t len, size_t index,
		       struct err *err)
{
	unsigned char mark[CHUNK_MAC_LEN];
	bool marked = compute_chunk_mac(chunk_mac, data, len, mark);
	const struct chunk_run *run =
		marked ? chunk_reuse_find(l->reuse, mark, len) : NULL;
	struct oid id;
	int got = 0;

	if (run)
		id = run->id;
	else
		got = store_put(l->store, OBJECT_DATA, data, len, &id, err);
	(void)pthread_mutex_lock(&l->mutex);
	if (got == 0)
		l->list.runs[index].id = id;
	else if (!l->failed.num)
		l->failed = *err;
	l->mac_missing |= !marked;
	if (!l->mac_missing)
		memcpy(l->macs.data + index * CHUNK_MAC_LEN, mark,
		       CHUNK_MAC_LEN);
	(void)pthread_mutex_unlock(&l->mutex);
	return got;
}

static void *run_chunk_thread(void *arg)
{
	struct longfile *l = arg;
	struct err ignored;
	struct chunk_job job;

	(void)pthread_mutex_lock(&l->mutex);
	for (;;) {
		while (!l->count && !l->over)
			(void)pthread_cond_wait(&l->changed, &l->mutex);
		if (!l->count)
			break;
		job = l->jobs[l->head];
		(void)pthread_mutex_unlock(&l->mutex);
		(void)store_chunk(l, l->mac_contexts[1], job.data, job.len,
				  job.index, &ignored);
		(void)pthread_mutex_lock(&l->mutex);
		l->head = (l->head + 1) % JOBS;
		l->count--;
		(void)pthread_cond_broadcast(&l->changed);
	}
	(void)pthread_mutex_unlock(&l->mutex);
	return NULL;
}

static void start_chunk_thread(struct longfile *l)
{
	unsigned int i;

	for (i = 0; i < JOBS; i++)
		l->jobs[i].data = mem_alloc(CHUNK_MAX);
	l->mac_contexts[1] = make_mac_context(l);
	l->has_thread =
		pthread_create(&l->thread, NULL, run_chunk_thread, l) == 0;
}

/* Adds a run to the list and returns its index: a hole, a run as the previous
 * version has it, or a chunk that is not stored yet. Called under the mutex. */
static size_t add_run(struct longfile *l, const struct chunk_run *run,
		      const unsigned char mark[CHUNK_MAC_LEN])
{
	chunklist_add(&l->list, run);
	if (!l->mac_missing)
		buf_add(&l->macs, mark, CHUNK_MAC_LEN);
	return l->list.count - 1;
}

static void add_known_run(struct longfile *l, const struct chunk_run *run,
			  const unsigned char mark[CHUNK_MAC_LEN])
{
	(void)pthread_mutex_lock(&l->mutex);
	(void)add_run(l, run, mark);
	(void)pthread_mutex_unlock(&l->mutex);
}

/* Adds the next chunk of at most CHUNK_MAX bytes. data is borrowed until the
 * call returns. A failure may be reported by a later call. */
static int add_chunk(struct longfile *l, const void *data, size_t len,
		     struct err *err)
{
	struct chunk_run run = {.len = len};
	struct chunk_job *job;
	bool queued = false;
	size_t index = 0;
	int got = 0;

	l->bytes += len;
	if (l->bytes >= SINGLE_THREAD_LEN && !l->jobs[0].data)
		start_chunk_thread(l);
	(void)pthread_mutex_lock(&l->mutex);
	if (l->failed.num) {
		*err = l->failed;
		got = -err->num;
	} else {
		index = add_run(l, &run, no_mark);
		queued = l->has_thread && l->count < JOBS;
	}
	if (queued) {
		job = &l->jobs[(l->head + l->count++) % JOBS];
		memcpy(job->data, data, len);
		job->len = len;
		job->index = index;
		(void)pthread_cond_broadcast(&l->changed);
	}
	(void)pthread_mutex_unlock(&l->mutex);
	return queued || got < 0 ? got
				 : store_chunk(l, l->mac_contexts[0], data, len,
					       index, err);
}

/* --- cutting --- */

static const unsigned char zero_bytes[HOLE_MIN];

/* Stores one chunk from the window. 1: a reusable run follows. */
static int cut_first_chunk(struct longfile *l, struct err *err)
{
	const unsigned char *data = l->window + l->start;
	size_t len = chunk_cut(store_gear(l->store), data, l->have);

	if (add_chunk(l, data, len, err) < 0)
		return -err->num;
	l->start += len;
	l->have -= len;
	l->at += len;
	if (!l->reuse || l->ends)
		return 0;
	l->met = chunk_reuse_at(l->reuse, l->at);
	return l->met < l->reuse->list.count;
}

static int cut_window(struct longfile *l, struct err *err)
{
	int got = 0;

	while (l->have && got == 0)
		got = cut_first_chunk(l, err);
	return got;
}

/* Adds bytes up to a border of HOLE_ALIGN, none of which is in a hole. Result
 * as in add_data(). */
static int add_to_window(struct longfile *l, const unsigned char *data,
			 size_t len, struct err *err)
{
	while (len) {
		size_t n = 2 * CHUNK_MAX - l->start - l->have;

		if (n > len)
			n = len;
		memcpy(l->window + l->start + l->have, data, n);
		l->have += n;
		data += n;
		len -= n;
		while (l->have >= CHUNK_MAX) {
			int got = cut_first_chunk(l, err);

			if (got)
				return got;
		}
		if (l->start >= CHUNK_MAX) {
			memmove(l->window, l->window + l->start, l->have);
			l->start = 0;
		}
	}
	return 0;
}

/* Turns the pending zeros into a hole, or into data when they are too few. */
static int end_zero_run(struct longfile *l, struct err *err)
{
	struct chunk_run hole = {.len = l->zeros, .hole = true};
	int got;

	l->zeros = 0;
	if (hole.len < HOLE_MIN)
		return add_to_window(l, zero_bytes, (size_t)hole.len, err);
	got = cut_window(l, err);
	if (got)
		return got;
	add_known_run(l, &hole, no_mark);
	l->at += hole.len;
	return 0;
}

/*
 * Adds the next bytes. All lengths but the last are multiples of HOLE_ALIGN.
 * Returns 0, a negative errno, or 1: a cut fell on the start of the reusable
 * run l->met. The caller then continues with reuse_runs(); bytes that were
 * added behind the cut are dropped.
 */
static int add_data(struct longfile *l, const unsigned char *data, size_t len,
		    struct err *err)
{
	size_t n;
	int got = 0;

	while (len && got == 0) {
		n = hole_zeros_len(data, len);
		l->zeros += n;
		data += n;
		len -= n;
		if (!len)
			break;
		if (l->zeros)
			got = end_zero_run(l, err);
		if (got)
			break;
		n = hole_data_len(data, len);
		got = add_to_window(l, data, n, err);
		data += n;
		len -= n;
	}
	return got;
}

/* Takes over the reusable runs of the previous version from index i on. Returns
 * the index of the first run that is not reusable: the next bytes begin at the
 * offset of that run. */
static size_t reuse_runs(struct longfile *l, size_t i)
{
	const struct chunk_reuse *p = l->reuse;

	/* The rest of the window belongs to reusable runs. */
	l->start = l->have = 0;
	l->zeros = 0;
	for (; i < p->list.count && p->reusable[i]; i++)
		add_known_run(l, &p->list.runs[i], p->macs + i * CHUNK_MAC_LEN);
	l->at = l->pos = p->starts[i];
	return i;
}

/* Stores the rest, waits until all chunks are stored, and stores the list. *ret
 * is the name of the list. */
static int end_file(struct longfile *l, struct oid *ret, struct err *err)
{
	AUTO(buf) struct buf b = {0};

	l->ends = true;
	if (end_zero_run(l, err) < 0 || cut_window(l, err) < 0)
		return -err->num;
	(void)pthread_mutex_lock(&l->mutex);
	while (l->count)
		(void)pthread_cond_wait(&l->changed, &l->mutex);
	(void)pthread_mutex_unlock(&l->mutex);
	if (l->failed.num) {
		*err = l->failed;
		return -err->num;
	}
	chunklist_encode(&l->list, &b);
	if (b.len > OBJECT_LEN_MAX)
		return fail(err, EFBIG, "the file is too large to be stored");
	return store_put(l->store, OBJECT_CHUNKLIST, b.data, b.len, ret, err);
}

/* --- reading --- */

/* Longer files that are not cached are read past the page cache. */
#define DIRECT_LEN ((uint64_t)8 << 20)
/* Shorter ranges are read by plain calls: a ring reads far ahead. */
#define RING_LEN ((uint64_t)8 << 20)

/* Shorter files are not worth loading libcrypto. Tests include this file and
 * set it. */
static uint64_t marked_len = (uint64_t)32 << 20;

/* Passes [pos, end) on. Returns 0 for all of it, 1 at the end of the file, 2
 * when a reusable run follows. */
static int chunk_data_range(struct longfile *l, struct stream *in, uint64_t end,
			    struct err *err)
{
	const unsigned char *data;
	ssize_t n;
	int got;

	stream_range(in, l->pos, end);
	while ((n = stream_next(in, &data)) > 0) {
		got = add_data(l, data, (size_t)n, err);
		if (got)
			return got < 0 ? got : 2;
		l->pos += (uint64_t)n;
	}
	return n < 0 ? fail_errno(err, "read") : l->pos < end;
}

/* Passes the bytes from the last old cut to the next block border. */
static int add_data_until_cut(struct longfile *l, struct err *err)
{
	unsigned char data[HOLE_ALIGN];
	size_t want = (size_t)(-l->pos & (HOLE_ALIGN - 1));
	ssize_t n = want ? fd_pread(l->fd, data, want, l->pos) : 0;
	int got;

	if (n < 0)
		return fail_errno(err, "read");
	got = add_to_window(l, data, (size_t)n, err);
	l->pos += (uint64_t)n;
	return got > 0 ? 2 : got < 0 ? got : (size_t)n < want;
}

/* Chunks from pos on; result as in chunk_data_range(). ahead: the range may be
 * long. */
static int chunk_from_position(struct longfile *l, bool ahead, struct err *err)
{
	bool plain = l->cached || !ahead;
	AUTO(stream) struct stream *in = stream_new(l->fd, l->size, plain);
	uint64_t start, end;
	int got;

	(void)stream_direct(l->fd, false);
	got = add_data_until_cut(l, err);
	if (l->direct && !plain)
		(void)stream_direct(l->fd, true);
	while (got == 0) {
		bool more = hole_next_data(l->fd, l->pos, &start, &end);

		l->zeros += start - l->pos;
		l->pos = start;
		if (!more)
			return 1;
		got = chunk_data_range(l, in, end, err);
	}
	return got;
}

/* Alternates between reusable runs and ranges that are chunked again. */
static int chunk_changed_ranges(struct longfile *l, struct err *err)
{
	const struct chunk_reuse *p = l->reuse;
	size_t i = 0, next;
	uint64_t end;
	int got = 2;

	while (got == 2) {
		i = reuse_runs(l, i);
		if (i == p->list.count && l->pos == l->size)
			return 1;
		for (next = i; next < p->list.count && !p->reusable[next];)
			next++;
		end = next < p->list.count ? p->starts[next] : l->size;
		got = chunk_from_position(l, end - l->pos >= RING_LEN, err);
		i = l->met;
	}
	return got;
}

int longfile_put(struct store *s, int fd, uint64_t size,
		 const struct longfile_hints *hints, struct oid *ret,
		 uint64_t *ret_size, struct err *err)
{
	AUTO(chunk_reuse)
	struct chunk_reuse *reuse =
		hints && hints->chunk_mac_cache && size >= marked_len
			? chunk_reuse_new(s, hints->chunk_mac_cache,
					  hints->before)
			: NULL;
	AUTO(longfile) struct longfile l;
	int got = 0;

	longfile_start(&l, s, reuse);
	l.fd = fd;
	l.size = size;
	l.cached = stream_is_cached(fd, size);
	(void)posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	l.direct = !l.cached && size >= DIRECT_LEN && stream_direct(fd, true);
	if (reuse)
		got = chunk_reuse_check(reuse, fd, size, l.cached, err);
	if (got == 0)
		got = reuse && reuse->list.count
			      ? chunk_changed_ranges(&l, err)
			      : chunk_from_position(&l, true, err);
	if (l.direct)
		(void)stream_direct(fd, false);
	if (got < 0 || end_file(&l, ret, err) < 0)
		return -err->num;
	*ret_size = l.pos;
	/* A tag for each run of the list. */
	if (!l.mac_missing && l.macs.data) {
		chunk_mac_cache_put(hints->chunk_mac_cache, ret, hints->before,
				    l.macs.data, l.list.count);
		l.macs = (struct buf){0};
	}
	return 0;
}

int longfile_put_bytes(struct store *s, const void *data, size_t len,
		       struct oid *ret, struct err *err)
{
	AUTO(longfile) struct longfile l;

	longfile_start(&l, s, NULL);
	if (add_data(&l, data, len, err) < 0)
		return -err->num;
	return end_file(&l, ret, err);
}
