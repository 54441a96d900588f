#include "base/parallel_for.h"

#include <pthread.h>
#include <stdatomic.h>

struct parallel_loop {
	size_t count;
	int (*part)(void *arg, size_t i, struct err *err);
	void *arg;
	atomic_size_t next;
	pthread_mutex_t mutex;
	struct err failed; /* num 0: no failure so far */
};

static void run_part(struct parallel_loop *c, size_t i)
{
	struct err err;

	if (c->part(c->arg, i, &err) >= 0)
		return;
	(void)pthread_mutex_lock(&c->mutex);
	if (!c->failed.num)
		c->failed = err;
	(void)pthread_mutex_unlock(&c->mutex);
	atomic_store(&c->next, c->count);
}

static void *run_parallel_parts(void *arg)
{
	struct parallel_loop *c = arg;
	size_t i;

	while ((i = atomic_fetch_add(&c->next, 1)) < c->count)
		run_part(c, i);
	return NULL;
}

int parallel_for(size_t count, bool single_thread,
		 int (*part)(void *arg, size_t i, struct err *err), void *arg,
		 struct err *err)
{
	struct parallel_loop c = {.count = count, .part = part, .arg = arg};
	pthread_t thread;
	bool two;

	if (!count)
		return 0;
	atomic_init(&c.next, 1);
	(void)pthread_mutex_init(&c.mutex, NULL);
	two = !single_thread && count > 1 &&
	      pthread_create(&thread, NULL, run_parallel_parts, &c) == 0;
	run_part(&c, 0);
	(void)run_parallel_parts(&c);
	if (two)
		(void)pthread_join(thread, NULL);
	(void)pthread_mutex_destroy(&c.mutex);
	if (c.failed.num)
		*err = c.failed;
	return -c.failed.num;
}
