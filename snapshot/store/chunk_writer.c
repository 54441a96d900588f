#include "snapshot/store/chunk_writer.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "snapshot/store/chunk.h"

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

struct chunk_writer *chunk_writer_new(struct store *s,
				      const struct chunk_reuse *chunk_reuse)
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

static void start_chunk_thread(struct chunk_writer *p)
{
	unsigned int i;

	for (i = 0; i < JOBS; i++)
		p->chunk_jobs[i].data = mem_alloc(CHUNK_MAX);
	if (p->mac_contexts[0])
		p->mac_contexts[1] = chunk_mac_new(
			chunk_mac_cache_key(p->chunk_reuse->chunk_mac_cache));
	p->has_thread =
		pthread_create(&p->thread, NULL, run_chunk_thread, p) == 0;
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

int chunk_writer_add(struct chunk_writer *p, const void *data, size_t len,
		     struct err *err)
{
	struct chunk_run run = {.len = len};
	size_t index = 0;
	bool handed = false;
	int num;

	p->bytes += len;
	if (p->bytes >= SINGLE_THREAD_LEN && !p->chunk_jobs[0].data)
		start_chunk_thread(p);
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

void chunk_writer_add_hole(struct chunk_writer *p, uint64_t len)
{
	struct chunk_run run = {.len = len, .hole = true};

	chunk_writer_add_reused(p, &run, no_mark);
}

void chunk_writer_add_reused(struct chunk_writer *p,
			     const struct chunk_run *run,
			     const unsigned char mark[CHUNK_MAC_LEN])
{
	(void)pthread_mutex_lock(&p->mutex);
	(void)append_chunk_run(p, run, mark);
	(void)pthread_mutex_unlock(&p->mutex);
}

int chunk_writer_end(struct chunk_writer *p, const struct chunklist **ret,
		     struct err *err)
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

unsigned char *chunk_writer_macs(struct chunk_writer *p, size_t *ret_count)
{
	unsigned char *macs = TAKE(p->macs.data);

	*ret_count = p->list.count;
	p->macs = (struct buf){0};
	if (!p->mac_missing)
		return macs;
	free(macs);
	return NULL;
}

void chunk_writer_free(struct chunk_writer **chunk_writer)
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
