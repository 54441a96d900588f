#include "snapshot/walk/walk_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/text.h"
#include "snapshot/store/content.h"
#include "snapshot/walk/stable_read.h"

/* --- contents --- */

/* A pending read. */
struct read_job {
	struct walk_dir *dir;
	size_t index;
};

/* Ends the walk because name in f could not be stored. */
static void fail_item(struct walk *w, struct walk_dir *f, const char *name,
		      struct err *err)
{
	auto_free char *path = walk_path(f, name);

	(void)err_context(err, "store %s", text_quote(path));
	walk_fail(w, err);
}

static void take_stable_read(struct walk *w, struct walk_dir *f,
			     struct walk_item *it, struct stable_read *r)
{
	it->meta = r->meta;
	it->content = r->content;
	it->attrs = r->attrs;
	it->link = TAKE(r->link);
	it->size = r->content.type == OBJECT_NONE ? r->meta.size : r->size;
	it->incomplete = r->incomplete;
	it->untrusted = r->incomplete || walk_is_racy(w, &r->meta) ||
			(walk_is_young(w, &r->meta) &&
			 !(r->no_writers && w->mmap_updates_times));
	if (r->incomplete)
		walk_add_note(w, NOTE_INCOMPLETE, f, it->name, r->why);
	if (walk_is_moved(w, &r->meta))
		walk_add_note(w, NOTE_MOVED, f, it->name, "");
	/* stat failed: a tree cannot hold the entry. */
	it->absent = !r->meta.mode;
	f->incomplete |= it->absent;
}

/* Reads one entry with plain calls and all retries of stable_read_entry(). */
static void read_item_alone(struct walk *w, struct walk_dir *f,
			    struct walk_item *it, const struct oid *before)
{
	struct longfile_hints hints = {.chunk_mac_cache = w->chunk_mac_cache,
				       .before = before};
	AUTO(stable_read) struct stable_read r = {0};
	struct err err;
	int got = stable_read_entry(w->store, f->fd, it->name, NULL, &hints, &r,
				    &err);

	if (got == -ENOENT || got == -ENOTDIR) {
		it->absent = true;
	} else if (got < 0) {
		fail_item(w, f, it->name, &err);
	} else if (S_ISDIR(r.meta.mode) || !r.meta.mode) {
		/* The name became a directory while it was examined. */
		(void)stable_read_add_fault(&r, "changed while it was read", 0,
					    &err);
		take_stable_read(w, f, it, &r);
	} else {
		if (S_ISREG(r.meta.mode)) {
			atomic_fetch_add(&w->read_files, 1);
			atomic_fetch_add(&w->read_bytes, r.size);
		}
		take_stable_read(w, f, it, &r);
	}
}

/* 1: stored; 0: the file changed while it was read; negative: the store
 * failed. */
static int store_small_file(struct walk *w, struct walk_dir *f,
			    struct walk_item *it,
			    const struct reader_file *file, struct err *err)
{
	struct stable_read r = {.meta = it->meta,
				.size = file->len,
				.no_writers = file->no_writers,
				.ask_chattr = f->meta.chattr != 0};
	struct meta after;

	if (file->error || file->grew || file->len != it->meta.size)
		return 0;
	if (stable_read_attrs(w->store, f->fd, it->name, NULL, &r, err) < 0)
		return -err->num;
	if (meta_get(f->fd, it->name, &after) < 0 || after.mount ||
	    !meta_same(&it->meta, &after))
		return 0;
	if (content_put_bytes(w->store, file->data, file->len, &r.content,
			      err) < 0)
		return -err->num;
	atomic_fetch_add(&w->read_files, 1);
	atomic_fetch_add(&w->read_bytes, file->len);
	take_stable_read(w, f, it, &r);
	return 1;
}

/* The i-th item of f, which differs from the cache from there on. */
static struct walk_item *make_item_at(const struct walk *w, struct walk_dir *f,
				      size_t i)
{
	walk_make_items(w, f, i);
	return &f->items[i];
}

/* Waits for one pending read of this worker and stores its result; false when
 * none is pending. */
static bool collect_read(struct walk_worker *k)
{
	struct walk *w = k->walk;
	struct reader_file file;
	struct walk_dir *f;
	struct walk_item *it;
	struct read_job *read_job;
	struct err err;
	int got;

	if (!reader_next(k->reader, &file))
		return false;
	read_job = (struct read_job *)(uintptr_t)file.cookie;
	f = read_job->dir;
	it = &f->items[read_job->index];
	free(read_job);
	if (!atomic_load(&w->failed)) {
		got = store_small_file(w, f, it, &file, &err);
		if (got < 0)
			fail_item(w, f, it->name, &err);
		else if (got == 0)
			read_item_alone(w, f, it, NULL);
	}
	walk_release_fd(w, f);
	walk_end_part(w, f);
	return true;
}

/* Reads the i-th name of f, which is no directory, or starts the read. A young
 * file is opened here, to ask for its writers. meta: its stat; old: its entry
 * in the stat cache, or NULL. */
static void read_item(struct walk_worker *k, struct walk_dir *f, size_t i,
		      const struct meta *meta, const struct cache_entry *old)
{
	struct walk_item *it = make_item_at(k->walk, f, i);
	bool ask_writers =
		k->walk->mmap_updates_times && walk_is_young(k->walk, meta);
	struct read_job *read_job;
	struct oid before;

	it->meta = *meta;
	if (!S_ISREG(meta->mode) || !meta->size ||
	    meta->size > READER_LEN_MAX) {
		before = old ? statcache_content(old) : (struct oid){0};
		read_item_alone(k->walk, f, it, &before);
		return;
	}
	read_job = mem_alloc(sizeof(*read_job));
	*read_job = (struct read_job){.dir = f, .index = i};
	atomic_fetch_add(&f->pending, 1);
	atomic_fetch_add(&f->fd_users, 1);
	while (!reader_add(k->reader, f->fd, it->name, meta->size, ask_writers,
			   (uint64_t)(uintptr_t)read_job))
		(void)collect_read(k);
}

/*
 * Stores the i-th name of f with the content of hints, without reading the
 * file. A change since the file was synced would show: the first store through
 * a mapping into a clean page changes the file's times.
 */
static void take_hint(struct walk *w, struct walk_dir *f, size_t i,
		      const struct meta *meta, const struct ingest_hint *hints)
{
	AUTO(stable_read)
	struct stable_read r = {.meta = *meta,
				.size = hints->size,
				.content = hints->content,
				.ask_chattr = f->meta.chattr != 0};
	/* Setting an attribute would change the ctime. */
	bool no_attrs = hints->no_attrs && hints->ctime.sec && !meta->chattr &&
			!f->meta.chattr;
	struct walk_item *it = make_item_at(w, f, i);
	struct err err;

	if (!no_attrs &&
	    stable_read_attrs(w->store, f->fd, it->name, NULL, &r, &err) < 0) {
		fail_item(w, f, it->name, &err);
		return;
	}
	take_stable_read(w, f, it, &r);
	/* A file without read permission is not read again: its known content
	 * would be lost. */
	it->untrusted = r.incomplete ||
			(walk_is_racy(w, meta) && (meta->mode & S_IRUSR));
}

/* --- one directory --- */

/* Puts a chain of directories (linked by next) on the stack. */
static void push_walk_dirs(struct walk *w, struct walk_dir *chain)
{
	if (!chain)
		return;
	(void)pthread_mutex_lock(&w->lock);
	for (; chain; chain = chain->next)
		*VEC_ADD(&w->stack) = chain;
	(void)pthread_cond_broadcast(&w->wake);
	(void)pthread_mutex_unlock(&w->lock);
}

/* State of one pass over the names. */
struct dir_scan {
	struct walk_worker *worker;
	struct walk *walk;
	struct walk_dir *dir;
	uint64_t files, dirs, bytes; /* added to the walk's at the end */
};

static void add_child_dir(struct dir_scan *s, size_t i, const char *name,
			  const struct meta *meta,
			  const struct cache_entry *old)
{
	struct walk_dir *f = s->dir, *child = mem_zalloc(sizeof(*child));
	struct walk *w = s->walk;

	child->parent = f;
	child->name = name;
	child->index = i;
	child->fd = -1;
	child->meta = *meta;
	child->old = old;
	atomic_init(&child->pending, 1);
	atomic_init(&child->fd_users, 1);
	if (f->above_skipped || f->ancestor_only) {
		auto_free char *path = walk_path(f, name);

		child->above_skipped = pathset_has_below(&w->skip, path);
		child->ancestor_only =
			f->ancestor_only && walk_is_above_wanted(w, path);
	}
	atomic_fetch_add(&f->pending, 1);
	atomic_fetch_add(&f->fd_users, 1);
	child->next = f->children;
	f->children = child;
	if (f->items)
		f->items[i].meta = *meta;
}

/* e: entry of this name in the cache, or NULL. */
static void scan_dir_name(struct dir_scan *s, size_t i, const char *name,
			  const struct cache_entry *e)
{
	struct walk_dir *f = s->dir;
	struct walk *w = s->walk;
	const struct ingest_hint *hints;
	struct meta meta;
	bool is_dir;

	if (meta_get(f->fd, name, &meta) < 0) {
		int num = errno;

		make_item_at(w, f, i)->absent = true;
		if (num != ENOENT)
			walk_add_fault(w, f, name, num);
		return;
	}
	if (w->options->foreign && meta_foreign(&meta, w->uid, w->gid))
		*w->options->foreign = true;
	is_dir = S_ISDIR(meta.mode);
	if (walk_is_moved(w, &meta) &&
	    !(is_dir && walk_is_ancestor(w, f, name)))
		walk_add_note(w, NOTE_MOVED, f, name, "");
	s->dirs += is_dir;
	s->files += !is_dir;
	s->bytes += S_ISREG(meta.mode) ? meta.size : 0;
	/* Only directories: overlayfs reports files with the device number of
	 * their layer. */
	/* A bind mount of the same file system has the same device. */
	if (meta.mount || (is_dir && meta.dev != w->dev)) {
		struct walk_item *it = make_item_at(w, f, i);

		/* The stat is of the mounted directory. The directory below it
		 * is not visible and cannot get this metadata back, so all
		 * mount points get the same metadata. */
		it->meta = meta;
		it->meta.mode = (meta.mode & S_IFMT) | 0755;
		it->meta.mtime = (struct timestamp){0};
		it->incomplete = it->untrusted = true;
		walk_add_note(w, NOTE_INCOMPLETE, f, name, NOTE_FILE_SYSTEM);
		return;
	}
	if (is_dir) {
		if (!e || !S_ISDIR(e->mode))
			(void)make_item_at(w, f, i);
		add_child_dir(s, i, name, &meta,
			      e && S_ISDIR(e->mode) ? e : NULL);
		return;
	}
	if (!e || (e->flags & CACHE_UNTRUSTED) ||
	    !statcache_same(w->cache, e, &meta)) {
		hints = ingest_hint_find(w->options->hints,
					 w->options->hint_count, &meta);
		/* Where times prove nothing, a readable file is read. */
		if (hints && (w->mmap_updates_times || !hints->ctime.sec))
			take_hint(w, f, i, &meta, hints);
		else
			read_item(s->worker, f, i, &meta, e);
		return;
	}
	if (f->items)
		walk_take_cached(w, &f->items[i], e);
}

/* The first of f's entries in the cache, from `at` on, whose name is not before
 * name: mostly the one at `at`, but a wanted name may be far behind it. */
static size_t cached_index(const struct walk *w, const struct walk_dir *f,
			   size_t at, const char *name)
{
	size_t end = f->entry_count, middle;

	for (middle = at; at < end; middle = at + (end - at) / 2)
		if (strcmp(statcache_name(w->cache, &f->entries[middle]),
			   name) < 0)
			at = middle + 1;
		else
			end = middle;
	return at;
}

static void scan_dir_names(struct dir_scan *s)
{
	struct walk_dir *f = s->dir;
	struct walk *w = s->walk;
	size_t at = 0, i;

	for (i = 0; i < f->count && !atomic_load(&w->failed); i++) {
		const char *name = walk_item_name(w, f, i);
		const struct cache_entry *e = NULL;

		at = f->listed ? cached_index(w, f, at, name) : i;
		if (at < f->entry_count &&
		    strcmp(statcache_name(w->cache, &f->entries[at]), name) ==
			    0)
			e = &f->entries[at++];
		/* All names so far are the cache's, in the same order. */
		if (!f->items && (!e || at != i + 1))
			walk_make_items(w, f, i);
		scan_dir_name(s, i, name, e);
	}
	/* The rest of the names was not compared with the cache's. */
	if (atomic_load(&w->failed))
		return;
	if (f->count != f->entry_count || !f->record)
		walk_make_items(w, f, f->items ? 0 : f->count);
}

/* Reads the directory's own attributes unless the cache has them. */
static void read_dir_attrs(struct walk *w, struct walk_dir *f)
{
	struct stable_read r = {.meta = f->meta};
	struct err err;

	if (f->same) {
		f->attrs = statcache_attrs(w->cache, f->old);
		f->meta.chattr = statcache_chattr(w->cache, f->old);
		return;
	}
	if (stable_read_attrs(w->store, f->fd, "", NULL, &r, &err) < 0) {
		fail_item(w, f, "", &err);
		return;
	}
	f->attrs = r.attrs;
	f->meta.chattr = r.meta.chattr;
	if (r.incomplete) {
		f->incomplete = true;
		walk_add_note(w, NOTE_INCOMPLETE, f, "", r.why);
	}
}

/* Lists f's names, examines each, puts its subdirectories on the stack and
 * starts reads. Ends its own part of f->pending, so f may be freed on return.
 */
static void scan_dir(struct walk_worker *k, struct walk_dir *f)
{
	struct walk *w = k->walk;
	struct dir_scan s = {.worker = k, .walk = w, .dir = f};

	if (walk_open_dir(w, f) == 0) {
		if (f->old) {
			f->same = !(f->old->flags & CACHE_UNTRUSTED) &&
				  statcache_same(w->cache, f->old, &f->meta);
			f->record = statcache_dir(w->cache, f->old);
		}
		if (f->record)
			f->entries = statcache_entries(w->cache, f->record,
						       &f->entry_count);
		/*
		 * A directory's ctime changes with every name that comes or
		 * goes. When it is the same, the names are the cache's, and
		 * getdents is not needed. Only where the file system is known
		 * to do so.
		 */
		if (!f->ancestor_only && f->same && f->record && w->trusted_fs)
			f->count = f->entry_count;
		else if (!f->ancestor_only || !w->trusted_fs ||
			 !walk_list_wanted(w, f))
			walk_list_names(w, f);
		read_dir_attrs(w, f);
		f->untrusted = walk_is_racy(w, &f->meta);
		scan_dir_names(&s);
		atomic_fetch_add(&w->files, s.files);
		atomic_fetch_add(&w->dirs, s.dirs);
		atomic_fetch_add(&w->bytes, s.bytes);
		/*
		 * When descriptors run short, a directory is closed before its
		 * subdirectories are open; they are opened by path then.
		 */
		if (f->children && atomic_load(&w->open_fds) >= w->fd_limit) {
			while (collect_read(k))
				;
			f->closed_early = true;
			atomic_store(&f->fd_users, 1);
			walk_release_fd(w, f);
		}
	}
	if (f->fd >= 0 && !f->closed_early)
		walk_release_fd(w, f);
	push_walk_dirs(w, f->children);
	walk_end_part(w, f);
}

/* --- the threads --- */

/* Depths of 16 to 32 are fastest with a warm cache (measured). */
#define READER_DEPTH 32
#define FD_LIMIT_MAX 4096
#define PROGRESS_NSEC 50000000

static struct walk_dir *pop_walk_dir(struct walk *w, bool wait)
{
	struct walk_dir *f = NULL;

	(void)pthread_mutex_lock(&w->lock);
	while (wait && !w->stack.count && !w->done && !atomic_load(&w->failed))
		(void)pthread_cond_wait(&w->wake, &w->lock);
	if (w->stack.count && !atomic_load(&w->failed))
		f = w->stack.items[--w->stack.count];
	(void)pthread_mutex_unlock(&w->lock);
	return f;
}

static void *run_walk_worker(void *arg)
{
	struct walk_worker *k = arg;
	struct walk *w = k->walk;
	struct timespec last = {0}, now;
	struct walk_dir *f;

	k->reader = reader_new(READER_DEPTH, w->options->plain);
	for (;;) {
		f = pop_walk_dir(w, false);
		if (!f) {
			/* Own reads first: they may finish directories that the
			 * other thread waits for. */
			if (collect_read(k))
				continue;
			f = pop_walk_dir(w, true);
		}
		if (!f)
			break;
		scan_dir(k, f);
		if (!k->is_caller || !w->options->progress)
			continue;
		(void)clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
		if ((now.tv_sec - last.tv_sec) * 1000000000L + now.tv_nsec -
			    last.tv_nsec <
		    PROGRESS_NSEC)
			continue;
		last = now;
		w->options->progress(w->options->progress_arg,
				     atomic_load(&w->files),
				     atomic_load(&w->bytes));
	}
	while (collect_read(k))
		;
	reader_free(&k->reader);
	return NULL;
}

int walk_run(struct walk *w, struct err *err)
{
	struct walk_worker other = {.walk = w};
	struct walk_worker own = {.walk = w, .is_caller = true};
	struct walk_dir *root = mem_zalloc(sizeof(*root));
	struct rlimit limit;
	pthread_t thread;
	bool two;

	(void)pthread_mutex_init(&w->lock, NULL);
	(void)pthread_cond_init(&w->wake, NULL);
	w->fd_limit = 128;
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
		w->fd_limit = limit.rlim_cur > 2 * FD_LIMIT_MAX ? FD_LIMIT_MAX
			      : limit.rlim_cur > 64 ? (int)limit.rlim_cur / 2
						    : 16;
	w->builder = cache_builder_new();
	w->root = root;
	root->fd = -1;
	root->name = "";
	root->ancestor_only = !pathset_contains(&w->only, "");
	root->above_skipped = w->skip.count;
	root->old = w->cache ? statcache_root(w->cache) : NULL;
	atomic_init(&root->pending, 1);
	atomic_init(&root->fd_users, 1);
	push_walk_dirs(w, root);
	two = pthread_create(&thread, NULL, run_walk_worker, &other) == 0;
	(void)run_walk_worker(&own);
	if (two)
		(void)pthread_join(thread, NULL);
	if (atomic_load(&w->failed)) {
		*err = w->err;
		return -err->num;
	}
	if (root->absent || !root->meta.mode)
		return fail(err, ENOENT, "the directory cannot be read");
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
	*ret_changed = !walk_is_unchanged(root);
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
	for (i = 0; i < w->notes.count; i++) {
		free(w->notes.items[i].path);
		free(w->notes.items[i].text);
	}
	VEC_FREE(&w->notes);
	pathset_free(&w->skip);
	pathset_free(&w->only);
	VEC_FREE(&w->stack);
	w->root = NULL;
}
