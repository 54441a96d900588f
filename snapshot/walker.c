#include "snapshot/walker.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/text.h"
#include "snapshot/tree_format.h"
#include "snapshot/walkparts.h"

#define READER_DEPTH 32 /* 16-32 is best warm, measured */
#define FD_LIMIT_MAX 4096
#define PROGRESS_NSEC 50000000

/* --- what the threads share --- */

char *folder_path(const struct folder *f, const char *name)
{
	size_t len = strlen(name), at;
	const struct folder *up;
	char *path;

	for (up = f; up->parent; up = up->parent)
		len += strlen(up->name) + 1;
	path = mem_alloc(len + 2);
	/* From the end to the front. */
	at = len + 1;
	path[at] = '\0';
	at -= strlen(name);
	memcpy(path + at, name, strlen(name));
	for (up = f; up->parent; up = up->parent) {
		if (path[at])
			path[--at] = '/';
		at -= strlen(up->name);
		memcpy(path + at, up->name, strlen(up->name));
	}
	memmove(path, path + at, strlen(path + at) + 1);
	return path;
}

void walk_note(struct walk *w, enum note_kind kind, const struct folder *f,
	       const char *name, const char *text)
{
	struct note n = {
		.kind = kind,
		.path = folder_path(f, name),
		.text = mem_strdup(text),
	};

	(void)pthread_mutex_lock(&w->lock);
	GROW(w->notes, w->note_count, w->note_room);
	w->notes[w->note_count++] = n;
	(void)pthread_mutex_unlock(&w->lock);
}

void walk_fail(struct walk *w, const struct err *err)
{
	(void)pthread_mutex_lock(&w->lock);
	if (!atomic_exchange(&w->failed, true))
		w->err = *err;
	(void)pthread_cond_broadcast(&w->wake);
	(void)pthread_mutex_unlock(&w->lock);
}

void walk_push(struct walk *w, struct folder *chain)
{
	if (!chain)
		return;
	(void)pthread_mutex_lock(&w->lock);
	for (; chain; chain = chain->next) {
		GROW(w->stack, w->stack_count, w->stack_room);
		w->stack[w->stack_count++] = chain;
	}
	(void)pthread_cond_broadcast(&w->wake);
	(void)pthread_mutex_unlock(&w->lock);
}

bool walk_moved(const struct walk *w, const struct meta *m)
{
	struct moment since = w->moved_since;

	if (!since.sec && !since.nsec)
		return false;
	if (!w->trusted_fs)
		return m->ctime.sec + 2 >= since.sec;
	/* A file system that keeps whole seconds. */
	if (!m->ctime.nsec)
		return m->ctime.sec >= since.sec;
	return moment_compare(m->ctime, since) >= 0;
}

static struct moment earlier(struct moment m, int64_t nsec)
{
	m.sec -= nsec / 1000000000;
	nsec %= 1000000000;
	if ((int64_t)m.nsec < nsec) {
		m.sec--;
		m.nsec += 1000000000;
	}
	m.nsec -= (uint32_t)nsec;
	return m;
}

bool walk_untrusted(const struct walk *w, const struct meta *m)
{
	struct moment racy = earlier(w->start, w->slack_nsec);

	if (moment_compare(m->ctime, racy) >= 0)
		return true;
	if (!w->trusted_fs && moment_compare(m->mtime, racy) >= 0)
		return true;
	if (!S_ISREG(m->mode) || !m->size)
		return false;
	return m->ctime.sec + w->settle_sec >= w->start.sec;
}

/*
 * The last one closes. What happened to the names meanwhile shows in the
 * folder's ctime, so this is where it is looked at: everything in it was
 * looked at before, or opened.
 */
void folder_fd_release(struct walk *w, struct folder *f)
{
	struct meta now;

	if (f->closed_early && f->fd < 0)
		return;
	if (atomic_fetch_sub(&f->fd_users, 1) != 1)
		return;
	if ((w->moved_since.sec || w->moved_since.nsec) &&
	    meta_get(f->fd, "", &now) == 0 && walk_moved(w, &now)) {
		walk_note(w, NOTE_MOVED, f, "", "");
		/* A folder that closed early did not see the last swap. */
		if (f->parent && f->parent->closed_early)
			walk_note(w, NOTE_MOVED, f->parent, "", "");
	}
	(void)close(f->fd);
	f->fd = -1;
	atomic_fetch_sub(&w->open_fds, 1);
}

/* --- finishing a folder --- */

static void folder_free(struct folder *f)
{
	size_t i;

	for (i = 0; f->items && i < f->count; i++)
		free(f->items[i].link);
	free(f->items);
	dirlist_free(&f->list);
	if (f->fd >= 0)
		(void)close(f->fd);
	free(f);
}

/* Frees all folders below f (not f), without recursion: what hangs below the
 * first child is hung into the list instead. */
static void free_children(struct folder *f)
{
	struct folder *todo = f->children, *last, *next;

	f->children = NULL;
	while (todo) {
		if (todo->children) {
			for (last = todo->children; last->next;)
				last = last->next;
			last->next = todo->next;
			todo->next = todo->children;
			todo->children = NULL;
		}
		next = todo->next;
		folder_free(todo);
		todo = next;
	}
}

/* A folder in this one ended: does that change this one's tree? */
static bool child_unchanged(const struct folder *child)
{
	return child->same && !child->items && !child->gone &&
	       !child->incomplete;
}

static void collect_children(struct walk *w, struct folder *f)
{
	struct folder *child;

	for (child = f->children; child; child = child->next)
		if (!child_unchanged(child))
			folder_items(w, f, f->count);
	/* The root's own record says what the cache is made of. */
	if (!f->parent && !f->same && f->count)
		folder_items(w, f, f->count);
	if (!f->items)
		return;
	for (child = f->children; child; child = child->next) {
		struct item *it = &f->items[child->index];

		it->child = child;
		it->gone = child->gone;
		it->meta = child->meta;
		it->content = child->tree;
		it->attrs = child->attrs;
		it->incomplete = child->incomplete;
		it->untrusted = child->untrusted || child->incomplete;
	}
}

static void item_entry(const struct item *it, struct entry *ret)
{
	struct reading r = {
		.meta = it->meta,
		.content = it->content,
		.attrs = it->attrs,
		.link = mem_strdup(it->link),
		.size = it->size,
		.incomplete = it->incomplete,
	};

	reading_entry(&r, it->name, ret);
}

static int encode_folder(struct walk *w, struct folder *f, struct err *err)
{
	AUTO(tree) struct tree t = {0};
	size_t i;

	for (i = 0; i < f->count; i++) {
		struct item *it = &f->items[i];
		struct entry e;

		if (it->gone)
			continue;
		item_entry(it, &e);
		if (entry_ok(&e, false)) {
			tree_add(&t, &e);
			continue;
		}
		entry_free(&e);
		it->gone = true;
		f->incomplete = true;
		walk_note(w, NOTE_INCOMPLETE, f, it->name,
			  "of a kind that is not known");
	}
	atomic_fetch_add(&w->encoded, 1);
	return tree_save(w->store, &t, &f->tree, err);
}

static void add_to_cache(struct walk *w, struct folder *f)
{
	struct cache_item *items = mem_resize(NULL, f->count, sizeof(*items));
	size_t count = 0, i;

	for (i = 0; i < f->count; i++) {
		const struct item *it = &f->items[i];
		const struct folder *child = it->child;

		if (it->gone)
			continue;
		items[count++] = (struct cache_item){
			.name = it->name,
			.link = it->link,
			.meta = &it->meta,
			.content = it->content,
			.attrs = it->attrs,
			.flags = it->untrusted ? CACHE_UNTRUSTED : 0,
			.folder = child && child->items ? child->number + 1 : 0,
			.old = child && !child->items && !child->incomplete
				       ? child->old
				       : NULL,
		};
	}
	(void)pthread_mutex_lock(&w->lock);
	f->number = cache_builder_folder(w->builder, &f->tree, items, count,
					 w->cache);
	(void)pthread_mutex_unlock(&w->lock);
	free(items);
}

static void finish(struct walk *w, struct folder *f)
{
	struct err err;

	collect_children(w, f);
	if (f->items && !atomic_load(&w->failed)) {
		if (encode_folder(w, f, &err) < 0) {
			auto_free char *path = folder_path(f, "");

			(void)err_context(&err, "keep folder %s",
					  text_quote(path));
			walk_fail(w, &err);
		} else {
			add_to_cache(w, f);
		}
	} else if (f->record) {
		f->tree = f->record->tree;
	}
	free_children(f);
}

void folder_ended(struct walk *w, struct folder *f)
{
	while (f && atomic_fetch_sub(&f->pending, 1) == 1) {
		finish(w, f);
		if (!f->parent) {
			(void)pthread_mutex_lock(&w->lock);
			w->done = true;
			(void)pthread_cond_broadcast(&w->wake);
			(void)pthread_mutex_unlock(&w->lock);
		}
		f = f->parent;
	}
}

/* --- threads --- */

static struct folder *pop(struct walk *w, bool wait)
{
	struct folder *f = NULL;

	(void)pthread_mutex_lock(&w->lock);
	while (wait && !w->stack_count && !w->done && !atomic_load(&w->failed))
		(void)pthread_cond_wait(&w->wake, &w->lock);
	if (w->stack_count && !atomic_load(&w->failed))
		f = w->stack[--w->stack_count];
	(void)pthread_mutex_unlock(&w->lock);
	return f;
}

static void tell_progress(struct worker *k, struct timespec *last)
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

static void *work(void *arg)
{
	struct worker *k = arg;
	struct walk *w = k->walk;
	struct timespec last = {0};
	struct folder *f;

	k->reader = reader_new(READER_DEPTH, w->plain);
	for (;;) {
		f = pop(w, false);
		if (!f) {
			/* Own reads first: they may finish folders that
			 * others wait for. */
			if (worker_collect(k))
				continue;
			f = pop(w, true);
		}
		if (!f)
			break;
		folder_scan(k, f);
		tell_progress(k, &last);
	}
	while (worker_collect(k))
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

int walk_run(struct walk *w, struct err *err)
{
	struct worker other = {.walk = w};
	struct worker own = {.walk = w, .is_caller = true};
	struct folder *root = mem_zalloc(sizeof(*root));
	pthread_t thread;
	bool two;

	(void)pthread_mutex_init(&w->lock, NULL);
	(void)pthread_cond_init(&w->wake, NULL);
	w->fd_limit = fd_limit();
	w->builder = cache_builder_new();
	w->root = root;
	root->fd = -1;
	root->name = "";
	root->old = w->cache ? statcache_root(w->cache) : NULL;
	root->skips = w->skip_count >= SKIP_MAX
			      ? UINT64_MAX
			      : ((uint64_t)1 << w->skip_count) - 1;
	atomic_init(&root->pending, 1);
	atomic_init(&root->fd_users, 1);
	walk_push(w, root);
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

void walk_root(const struct walk *w, struct entry *ret_entry,
	       struct cache_item *ret_item, bool *ret_changed)
{
	const struct folder *root = w->root;
	struct reading r = {
		.meta = root->meta,
		.content = root->tree,
		.attrs = root->attrs,
		.incomplete = root->incomplete,
	};

	reading_entry(&r, "", ret_entry);
	*ret_changed = !child_unchanged(root);
	*ret_item = (struct cache_item){
		.name = "",
		.meta = &root->meta,
		.attrs = root->attrs,
		.flags = root->untrusted || root->incomplete ? CACHE_UNTRUSTED
							     : 0,
		.folder = root->items ? root->number + 1 : 0,
	};
}

void walk_done(struct walk *w)
{
	size_t i;

	if (w->root) {
		free_children(w->root);
		folder_free(w->root);
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
