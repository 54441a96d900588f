#include "snapshot/crawl/crawl_run.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "base/auto.h"
#include "snapshot/crawl/crawl_end.h"
#include "snapshot/crawl/crawl_read.h"
#include "snapshot/crawl/crawl_scan.h"
#include "snapshot/crawl/reading.h"

#define READER_DEPTH 32 /* 16-32 is best warm, measured */
#define FD_LIMIT_MAX 4096
#define PROGRESS_NSEC 50000000

static struct crawl_folder *pop(struct crawl *w, bool wait)
{
	struct crawl_folder *f = NULL;

	(void)pthread_mutex_lock(&w->lock);
	while (wait && !w->stack_count && !w->done && !atomic_load(&w->failed))
		(void)pthread_cond_wait(&w->wake, &w->lock);
	if (w->stack_count && !atomic_load(&w->failed))
		f = w->stack[--w->stack_count];
	(void)pthread_mutex_unlock(&w->lock);
	return f;
}

static void tell_progress(struct crawl_worker *k, struct timespec *last)
{
	struct crawl *w = k->crawl;
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

static void *work(void *arg)
{
	struct crawl_worker *k = arg;
	struct crawl *w = k->crawl;
	struct timespec last = {0};
	struct crawl_folder *f;

	k->reader = reader_new(READER_DEPTH, w->plain);
	for (;;) {
		f = pop(w, false);
		if (!f) {
			/* Own reads first: they may finish folders that
			 * others wait for. */
			if (crawl_read_collect(k))
				continue;
			f = pop(w, true);
		}
		if (!f)
			break;
		crawl_scan(k, f);
		tell_progress(k, &last);
	}
	while (crawl_read_collect(k))
		;
	reader_free(&k->reader);
	return NULL;
}

static int fd_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return 128;
	if (limit.rlim_cur > 2 * FD_LIMIT_MAX)
		return FD_LIMIT_MAX;
	return limit.rlim_cur > 64 ? (int)limit.rlim_cur / 2 : 16;
}

int crawl_run(struct crawl *w, struct err *err)
{
	struct crawl_worker other = {.crawl = w};
	struct crawl_worker own = {.crawl = w, .is_caller = true};
	struct crawl_folder *root = mem_zalloc(sizeof(*root));
	pthread_t thread;
	bool two;

	(void)pthread_mutex_init(&w->lock, NULL);
	(void)pthread_cond_init(&w->wake, NULL);
	w->fd_limit = fd_limit();
	w->builder = cache_builder_new();
	w->root = root;
	root->fd = -1;
	root->name = "";
	root->way = w->only && !(w->only_count && !*w->only[0]);
	root->old = w->cache ? statcache_root(w->cache) : NULL;
	root->skips = w->skip_count >= SKIP_MAX
			      ? UINT64_MAX
			      : ((uint64_t)1 << w->skip_count) - 1;
	atomic_init(&root->pending, 1);
	atomic_init(&root->fd_users, 1);
	crawl_push(w, root);
	two = pthread_create(&thread, NULL, work, &other) == 0;
	(void)work(&own);
	if (two)
		(void)pthread_join(thread, NULL);
	if (atomic_load(&w->failed)) {
		*err = w->err;
		return -err->num;
	}
	if (root->gone || !root->meta.mode)
		return fail(err, ENOENT, "the folder cannot be read");
	return 0;
}

void crawl_run_root(const struct crawl *w, struct entry *ret_entry,
		    struct cache_item *ret_item, bool *ret_changed)
{
	const struct crawl_folder *root = w->root;
	struct reading r = {
		.meta = root->meta,
		.content = root->tree,
		.attrs = root->attrs,
		.incomplete = root->incomplete,
	};

	reading_entry(&r, "", ret_entry);
	*ret_changed = !crawl_end_unchanged(root);
	*ret_item = (struct cache_item){
		.name = "",
		.meta = &root->meta,
		.attrs = root->attrs,
		.flags = root->untrusted || root->incomplete ? CACHE_UNTRUSTED
							     : 0,
		.folder = root->items ? root->number + 1 : 0,
	};
}

void crawl_run_done(struct crawl *w)
{
	size_t i;

	if (w->root) {
		crawl_free_below(w->root);
		crawl_free(w->root);
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
