#include "snapshot/putter.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "snapshot/chunk.h"

/* A thread is not worth it for less. */
#define ALONE_LEN ((uint64_t)8 << 20)
#define JOBS 4

/* A chunk that waits for the other thread, or that it works on. */
struct job {
	unsigned char *data; /* CHUNK_MAX */
	size_t len;
	size_t index; /* in the list */
};

struct putter {
	struct store *store;
	uint64_t bytes;
	bool two; /* there is another thread */
	pthread_t thread;
	pthread_mutex_t mutex; /* all below */
	pthread_cond_t changed;
	struct chunklist list;
	struct job jobs[JOBS]; /* a queue */
	unsigned int head, count;
	bool over;
	struct err failed; /* num 0: nothing has failed */
};

struct putter *putter_new(struct store *s)
{
	struct putter *p = mem_zalloc(sizeof(*p));

	p->store = s;
	(void)pthread_mutex_init(&p->mutex, NULL);
	(void)pthread_cond_init(&p->changed, NULL);
	return p;
}

/* Without the mutex. */
static int put(struct putter *p, const void *data, size_t len, size_t index,
	       struct err *err)
{
	struct oid id;
	int got = store_put(p->store, OBJECT_DATA, data, len, &id, err);

	(void)pthread_mutex_lock(&p->mutex);
	if (got == 0)
		p->list.runs[index].id = id;
	else if (!p->failed.num)
		p->failed = *err;
	(void)pthread_mutex_unlock(&p->mutex);
	return got;
}

static void *work(void *arg)
{
	struct putter *p = arg;
	struct err ignored;
	struct job job;

	for (;;) {
		(void)pthread_mutex_lock(&p->mutex);
		while (!p->count && !p->over)
			(void)pthread_cond_wait(&p->changed, &p->mutex);
		job = p->jobs[p->head];
		if (!p->count) {
			(void)pthread_mutex_unlock(&p->mutex);
			return NULL;
		}
		(void)pthread_mutex_unlock(&p->mutex);
		(void)put(p, job.data, job.len, job.index, &ignored);
		(void)pthread_mutex_lock(&p->mutex);
		p->head = (p->head + 1) % JOBS;
		p->count--;
		(void)pthread_cond_broadcast(&p->changed);
		(void)pthread_mutex_unlock(&p->mutex);
	}
}

static void start(struct putter *p)
{
	unsigned int i;

	for (i = 0; i < JOBS; i++)
		p->jobs[i].data = mem_alloc(CHUNK_MAX);
	p->two = pthread_create(&p->thread, NULL, work, p) == 0;
}

/* Under the mutex: leaves the chunk to the other thread, if it has room. */
static bool hand_over(struct putter *p, const void *data, size_t len,
		      size_t index)
{
	struct job *job = &p->jobs[(p->head + p->count) % JOBS];

	if (!p->two || p->count == JOBS)
		return false;
	memcpy(job->data, data, len);
	job->len = len;
	job->index = index;
	p->count++;
	(void)pthread_cond_broadcast(&p->changed);
	return true;
}

int putter_put(struct putter *p, const void *data, size_t len, struct err *err)
{
	struct chunk_run run = {.len = len};
	size_t index;
	bool handed = false;
	int num;

	p->bytes += len;
	if (p->bytes >= ALONE_LEN && !p->jobs[0].data)
		start(p);
	(void)pthread_mutex_lock(&p->mutex);
	num = p->failed.num;
	if (num) {
		*err = p->failed;
	} else {
		index = p->list.count;
		chunklist_add(&p->list, &run);
		handed = hand_over(p, data, len, index);
	}
	(void)pthread_mutex_unlock(&p->mutex);
	if (num)
		return -num;
	return handed ? 0 : put(p, data, len, index, err);
}

void putter_hole(struct putter *p, uint64_t len)
{
	struct chunk_run run = {.len = len, .hole = true};

	(void)pthread_mutex_lock(&p->mutex);
	chunklist_add(&p->list, &run);
	(void)pthread_mutex_unlock(&p->mutex);
}

int putter_end(struct putter *p, const struct chunklist **ret, struct err *err)
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

void putter_free(struct putter **putter)
{
	struct putter *p = *putter;
	unsigned int i;

	if (!p)
		return;
	(void)pthread_mutex_lock(&p->mutex);
	p->over = true;
	(void)pthread_cond_broadcast(&p->changed);
	(void)pthread_mutex_unlock(&p->mutex);
	if (p->two)
		(void)pthread_join(p->thread, NULL);
	for (i = 0; i < JOBS; i++)
		free(p->jobs[i].data);
	chunklist_free(&p->list);
	(void)pthread_mutex_destroy(&p->mutex);
	(void)pthread_cond_destroy(&p->changed);
	free(p);
	*putter = NULL;
}
