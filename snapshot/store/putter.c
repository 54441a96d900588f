#include "snapshot/store/putter.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "snapshot/store/chunk.h"

/* A thread is not worth it for less. */
#define ALONE_LEN ((uint64_t)8 << 20)
#define JOBS 4

static const unsigned char no_mark[MARK_LEN];

/* A chunk that waits for the other thread, or that it works on. */
struct job {
	unsigned char *data; /* CHUNK_MAX */
	size_t len;
	size_t index; /* in the list */
};

struct putter {
	struct store *store;
	const struct past *past; /* or NULL */
	struct marker *markers[2]; /* the caller's, the other thread's */
	uint64_t bytes;
	bool two; /* there is another thread */
	pthread_t thread;
	pthread_mutex_t mutex; /* all below */
	pthread_cond_t changed;
	struct chunklist list;
	struct buf marks; /* MARK_LEN a run */
	bool unmarked; /* a chunk has none */
	struct job jobs[JOBS]; /* a queue */
	unsigned int head, count;
	bool over;
	struct err failed; /* num 0: nothing has failed */
};

struct putter *putter_new(struct store *s, const struct past *past)
{
	struct putter *p = mem_zalloc(sizeof(*p));

	p->store = s;
	p->past = past;
	if (past)
		p->markers[0] = marker_new(marks_key(past->marks));
	p->unmarked = !p->markers[0];
	(void)pthread_mutex_init(&p->mutex, NULL);
	(void)pthread_cond_init(&p->changed, NULL);
	return p;
}

/* Under the mutex. */
static size_t add_run(struct putter *p, const struct chunk_run *run,
		      const unsigned char mark[MARK_LEN])
{
	chunklist_add(&p->list, run);
	if (!p->unmarked)
		buf_add(&p->marks, mark, MARK_LEN);
	return p->list.count - 1;
}

static bool make_mark(struct marker *m, const void *data, size_t len,
		      unsigned char ret[MARK_LEN])
{
	if (!m)
		return false;
	marker_begin(m);
	marker_add(m, data, len);
	return marker_end(m, ret);
}

/* Without the mutex. */
static int put(struct putter *p, struct marker *marker, const void *data,
	       size_t len, size_t index, struct err *err)
{
	unsigned char mark[MARK_LEN];
	bool marked = make_mark(marker, data, len, mark);
	const struct chunk_run *run =
		marked ? past_find(p->past, mark, len) : NULL;
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
	p->unmarked |= !marked;
	if (!p->unmarked)
		memcpy(p->marks.data + index * MARK_LEN, mark, MARK_LEN);
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
		(void)put(p, p->markers[1], job.data, job.len, job.index,
			  &ignored);
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
	if (p->markers[0])
		p->markers[1] = marker_new(marks_key(p->past->marks));
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
	size_t index = 0;
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
		index = add_run(p, &run, no_mark);
		handed = hand_over(p, data, len, index);
	}
	(void)pthread_mutex_unlock(&p->mutex);
	if (num)
		return -num;
	return handed ? 0 : put(p, p->markers[0], data, len, index, err);
}

void putter_hole(struct putter *p, uint64_t len)
{
	struct chunk_run run = {.len = len, .hole = true};

	putter_keep(p, &run, no_mark);
}

void putter_keep(struct putter *p, const struct chunk_run *run,
		 const unsigned char mark[MARK_LEN])
{
	(void)pthread_mutex_lock(&p->mutex);
	(void)add_run(p, run, mark);
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

unsigned char *putter_marks(struct putter *p, size_t *ret_count)
{
	unsigned char *marks = TAKE(p->marks.data);

	*ret_count = p->list.count;
	p->marks = (struct buf){0};
	if (!p->unmarked)
		return marks;
	free(marks);
	return NULL;
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
	marker_free(&p->markers[0]);
	marker_free(&p->markers[1]);
	chunklist_free(&p->list);
	buf_free(&p->marks);
	(void)pthread_mutex_destroy(&p->mutex);
	(void)pthread_cond_destroy(&p->changed);
	free(p);
	*putter = NULL;
}
