#include "base/crew.h"

#include <pthread.h>
#include <stdatomic.h>

struct crew {
	size_t count;
	int (*part)(void *arg, size_t i, struct err *err);
	void *arg;
	atomic_size_t next;
	pthread_mutex_t mutex;
	struct err failed; /* num 0: nothing has failed */
};

static void *work(void *arg)
{
	struct crew *c = arg;
	struct err err;
	size_t i;

	while ((i = atomic_fetch_add(&c->next, 1)) < c->count) {
		if (c->part(c->arg, i, &err) >= 0)
			continue;
		(void)pthread_mutex_lock(&c->mutex);
		if (!c->failed.num)
			c->failed = err;
		(void)pthread_mutex_unlock(&c->mutex);
		atomic_store(&c->next, c->count);
	}
	return NULL;
}

int crew_run(size_t count, bool alone,
	     int (*part)(void *arg, size_t i, struct err *err), void *arg,
	     struct err *err)
{
	struct crew c = {.count = count, .part = part, .arg = arg};
	pthread_t thread;
	bool two;

	atomic_init(&c.next, 0);
	(void)pthread_mutex_init(&c.mutex, NULL);
	two = !alone && count > 1 &&
	      pthread_create(&thread, NULL, work, &c) == 0;
	(void)work(&c);
	if (two)
		(void)pthread_join(thread, NULL);
	(void)pthread_mutex_destroy(&c.mutex);
	if (c.failed.num)
		*err = c.failed;
	return -c.failed.num;
}
