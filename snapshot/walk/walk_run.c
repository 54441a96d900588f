#include "snapshot/walk/walk_run.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "base/auto.h"
#include "snapshot/walk/walk_end.h"
#include "snapshot/walk/walk_read.h"
#include "snapshot/walk/walk_scan.h"
#include "snapshot/walk/stable_read.h"

/* Depths of 16 to 32 are fastest with a warm cache (measured). */
#define READER_DEPTH 32
#define FD_LIMIT_MAX 4096
#define PROGRESS_NSEC 50000000

static struct walk_dir *pop_walk_dir(struct walk *w, bool wait)
{
	struct walk_dir *f = NULL;

	(void)pthread_mutex_lock(&w->lock);
	while (wait && !w->stack_count && !w->done && !atomic_load(&w->failed))
		(void)pthread_cond_wait(&w->wake, &w->lock);
	if (w->stack_count && !atomic_load(&w->failed))
		f = w->stack[--w->stack_count];
	(void)pthread_mutex_unlock(&w->lock);
	return f;
}

static void report_walk_progress(struct walk_worker *k, struct timespec *last)
{
	struct walk *w = k->walk;
	struct timespec now;

	if (!k->is_caller || !w->progress)
		return;
	(void)clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	if ((now.tv_sec - last->tv_sec) * 1000000000L + now.tv_nsec -
		    last->tv_nsec <
	    PROGRESS_NSEC)
		return;
	*last = now;
	w->progress(w->progress_arg, atomic_load(&w->files),
		    atomic_load(&w->bytes));
}

static void *run_walk_worker(void *arg)
{
	struct walk_worker *k = arg;
	struct walk *w = k->walk;
	struct timespec last = {0};
	struct walk_dir *f;

	k->reader = reader_new(READER_DEPTH, w->plain);
	for (;;) {
		f = pop_walk_dir(w, false);
		if (!f) {
			/* Own reads first: they may finish directories that the
			 * other thread waits for. */
			if (walk_read_collect(k))
				continue;
			f = pop_walk_dir(w, true);
		}
		if (!f)
			break;
		walk_scan(k, f);
		report_walk_progress(k, &last);
	}
	while (walk_read_collect(k))
		;
	reader_free(&k->reader);
	return NULL;
}

static int choose_fd_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return 128;
	if (limit.rlim_cur > 2 * FD_LIMIT_MAX)
		return FD_LIMIT_MAX;
	return limit.rlim_cur > 64 ? (int)limit.rlim_cur / 2 : 16;
}

int walk_run(struct walk *w, struct err *err)
{
	struct walk_worker other = {.walk = w};
	struct walk_worker own = {.walk = w, .is_caller = true};
	struct walk_dir *root = mem_zalloc(sizeof(*root));
	pthread_t thread;
	bool two;

	(void)pthread_mutex_init(&w->lock, NULL);
	(void)pthread_cond_init(&w->wake, NULL);
	w->fd_limit = choose_fd_limit();
	w->builder = cache_builder_new();
	w->root = root;
	root->fd = -1;
	root->name = "";
	root->ancestor_only = w->only && !(w->only_count && !*w->only[0]);
	root->old = w->cache ? statcache_root(w->cache) : NULL;
	root->skips = w->skip_count >= SKIP_MAX
			      ? UINT64_MAX
			      : ((uint64_t)1 << w->skip_count) - 1;
	atomic_init(&root->pending, 1);
	atomic_init(&root->fd_users, 1);
	walk_push_dirs(w, root);
	two = pthread_create(&thread, NULL, run_walk_worker, &other) == 0;
	(void)run_walk_worker(&own);
	if (two)
		(void)pthread_join(thread, NULL);
	if (atomic_load(&w->failed)) {
		*err = w->err;
		return -err->num;
	}
	if (root->absent || !root->meta.mode)
		return fail(err, ENOENT, "the folder cannot be read");
	return 0;
}

void walk_run_root(const struct walk *w, struct entry *ret_entry,
		   struct cache_item *ret_item, bool *ret_changed)
{
	const struct walk_dir *root = w->root;
	struct stable_read r = {
		.meta = root->meta,
		.content = root->tree,
		.attrs = root->attrs,
		.incomplete = root->incomplete,
	};

	stable_read_make_entry(&r, "", ret_entry);
	*ret_changed = !walk_end_is_unchanged(root);
	*ret_item = (struct cache_item){
		.name = "",
		.meta = &root->meta,
		.attrs = root->attrs,
		.flags = root->untrusted || root->incomplete ? CACHE_UNTRUSTED
							     : 0,
		.dir = root->items ? root->number + 1 : 0,
	};
}

void walk_run_done(struct walk *w)
{
	size_t i;

	if (w->root) {
		walk_dir_free_below(w->root);
		walk_dir_free(w->root);
		(void)pthread_mutex_destroy(&w->lock);
		(void)pthread_cond_destroy(&w->wake);
	}
	cache_builder_free(&w->builder);
	for (i = 0; i < w->note_count; i++) {
		free(w->notes[i].path);
		free(w->notes[i].text);
	}
	free(w->notes);
	for (i = 0; i < w->skip_count; i++)
		free(w->skips[i]);
	free(w->stack);
	w->root = NULL;
	w->note_count = 0;
}
