#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "guard/timeline/worker_private.h"

/* Descriptors of the worker that are no files of the layer. */
#define OTHER_FDS 24
/* One table may hold more; several together hold no more: 100 MB of the
 * kernel's memory. */
#define HELD_MAX 200000
/* The tables after the first take this part of the descriptors that the system
 * has. */
#define SYSTEM_SHARE 16

/* Makes the calls of other tables until the own one is done, or for ever. */
static void serve(struct worker_table *t, const struct worker_call *own)
{
	while (!own || !own->done) {
		struct worker_table *caller;
		struct worker_call *c;

		(void)sem_wait(&t->turn);
		c = TAKE(t->call);
		if (!c)
			continue;
		t->worker->table = t;
		c->fn(t->worker, c->arg);
		/* The call is on its caller's stack. */
		caller = c->caller;
		c->done = true;
		(void)sem_post(&caller->turn);
	}
}

void worker_table_call(struct worker *w, struct worker_table *t,
		       worker_call_fn *fn, void *arg)
{
	struct worker_call c = {.fn = fn, .arg = arg, .caller = w->table};

	if (!t || t == w->table) {
		fn(w, arg);
		return;
	}
	t->call = &c;
	(void)sem_post(&t->turn);
	serve(c.caller, &c);
	w->table = c.caller;
}

/* The descriptors of the layer's files stay in the table of the caller alone:
 * each would go on to keep its file. */
static void leave_files(struct worker *w, void *arg)
{
	const struct worker_table *from = arg;
	size_t i;

	if (unshare(CLONE_FILES) < 0) {
		/* The table is useless: no file goes there. */
		w->table->open_count = w->open_max;
		return;
	}
	for (i = 0; i < from->by_fd.count; i++)
		if (from->by_fd.items[i])
			(void)close((int)i);
}

static void *run_table(void *arg)
{
	serve(arg, NULL);
	return NULL;
}

static struct worker_table *add_table(struct worker *w)
{
	struct worker_table *t = &w->tables[w->table_count];
	pthread_t thread;

	if (w->table_count == w->table_max)
		return NULL;
	t->worker = w;
	(void)sem_init(&t->turn, 0, 0);
	if (pthread_create(&thread, NULL, run_table, t) != 0) {
		w->table_max = w->table_count;
		return NULL;
	}
	w->table_count++;
	worker_table_call(w, t, leave_files, w->table);
	return t->open_count < w->open_max ? t : NULL;
}

struct worker_table *worker_table_with_room(struct worker *w)
{
	size_t i;

	for (i = 0; i < w->table_count; i++)
		if (w->tables[i].open_count < w->open_max)
			return &w->tables[i];
	return add_table(w);
}

void worker_table_start(struct worker *w)
{
	struct rlimit limit = {0};
	uint64_t most = (uint64_t)fd_read_number("/proc/sys/fs/file-max", 0) /
			SYSTEM_SHARE;

	(void)getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
	w->open_max = (limit.rlim_cur - OTHER_FDS) / 4 * 3;
	if (most > HELD_MAX)
		most = HELD_MAX;
	w->table_max = most / w->open_max;
	if (w->table_max > WORKER_TABLES)
		w->table_max = WORKER_TABLES;
	if (w->table_max < 1)
		w->table_max = 1;
	w->table = w->tables;
	w->tables->worker = w;
	(void)sem_init(&w->tables->turn, 0, 0);
	w->table_count = 1;
}
