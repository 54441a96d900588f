#include "snapshot/walk/walk_private.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/beneath.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/sorted.h"
#include "base/text.h"
#include "snapshot/walk/stable_read.h"

char *walk_path(const struct walk_dir *f, const char *name)
{
	size_t len = strlen(name), at;
	const struct walk_dir *up;
	char *path;

	for (up = f; up->parent; up = up->parent)
		len += strlen(up->name) + 1;
	path = mem_alloc(len + 2);
	/* Filled from the end to the front. */
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

void walk_add_note(struct walk *w, enum note_kind kind,
		   const struct walk_dir *f, const char *name, const char *text)
{
	struct note n = {
		.kind = kind,
		.path = walk_path(f, name),
		.text = mem_strdup(text),
	};

	(void)pthread_mutex_lock(&w->lock);
	*VEC_ADD(&w->notes) = n;
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

void walk_add_fault(struct walk *w, struct walk_dir *f, const char *name,
		    int num)
{
	auto_free char *path = NULL;
	struct err err;

	f->incomplete = true;
	if (!err_is_exhaustion(num)) {
		walk_add_note(w, NOTE_INCOMPLETE, f, name, strerror(num));
		return;
	}
	path = walk_path(f, name);
	(void)fail_num(&err, num, "read %s", text_quote(*path ? path : "."));
	walk_fail(w, &err);
}

bool walk_is_moved(const struct walk *w, const struct meta *m)
{
	struct timestamp since = w->options->moved_since;

	if (!since.sec && !since.nsec)
		return false;
	if (!w->local_clock)
		return m->ctime.sec + 2 >= since.sec;
	/* The file system keeps whole seconds. */
	if (!m->ctime.nsec)
		return m->ctime.sec >= since.sec;
	return timestamp_compare(m->ctime, since) >= 0;
}

bool walk_is_racy(const struct walk *w, const struct meta *m)
{
	struct timestamp racy = w->start;
	int64_t nsec = (int64_t)racy.nsec - w->slack_nsec % 1000000000;

	racy.sec -= w->slack_nsec / 1000000000 + (nsec < 0);
	racy.nsec = (uint32_t)(nsec < 0 ? nsec + 1000000000 : nsec);
	return timestamp_compare(m->ctime, racy) >= 0 ||
	       (!w->trusted_fs && timestamp_compare(m->mtime, racy) >= 0);
}

bool walk_is_young(const struct walk *w, const struct meta *m)
{
	return S_ISREG(m->mode) && m->size &&
	       m->ctime.sec + w->writeback_sec >= w->start.sec;
}

/*
 * The last user closes the descriptor. Names that came or went during the walk
 * show in the directory's ctime. The ctime is checked here, because all entries
 * have been examined or opened by now.
 */
void walk_release_fd(struct walk *w, struct walk_dir *f)
{
	struct meta now;

	if (f->closed_early && f->fd < 0)
		return;
	if (atomic_fetch_sub(&f->fd_users, 1) != 1)
		return;
	if ((w->options->moved_since.sec || w->options->moved_since.nsec) &&
	    !f->ancestor_only &&
	    (meta_get(f->fd, "", &now) < 0 || walk_is_moved(w, &now))) {
		walk_add_note(w, NOTE_MOVED, f, "", "");
		/* A directory that closed early did not see this last swap. */
		if (f->parent && f->parent->closed_early &&
		    !f->parent->ancestor_only)
			walk_add_note(w, NOTE_MOVED, f->parent, "", "");
	}
	fd_close(&f->fd);
	atomic_fetch_sub(&w->open_fds, 1);
}

const char *walk_item_name(const struct walk *w, const struct walk_dir *f,
			   size_t i)
{
	return f->listed ? f->list.items[i].name
			 : statcache_name(w->cache, &f->entries[i]);
}

void walk_make_items(const struct walk *w, struct walk_dir *f,
		     size_t item_count)
{
	size_t i;

	if (f->items)
		return;
	f->items = mem_zalloc(f->count * sizeof(*f->items));
	for (i = 0; i < f->count; i++)
		f->items[i].name = walk_item_name(w, f, i);
	for (i = 0; i < item_count; i++)
		walk_take_cached(w, &f->items[i], &f->entries[i]);
}

void walk_take_cached(const struct walk *w, struct walk_item *it,
		      const struct cache_entry *e)
{
	statcache_meta(w->cache, e, &it->meta);
	it->content = statcache_content(e);
	it->attrs = statcache_attrs(w->cache, e);
	it->size = e->size;
	if (S_ISLNK(e->mode))
		it->link = mem_strdup(statcache_link(w->cache, e));
}

void walk_dir_free(struct walk_dir *f)
{
	size_t i;

	for (i = 0; f->items && i < f->count; i++)
		free(f->items[i].link);
	free(f->items);
	dirlist_free(&f->list);
	fd_close(&f->fd);
	free(f);
}

/* Frees all directories below f (not f), without recursion: the children of the
 * first child are inserted into the list. */
void walk_dir_free_below(struct walk_dir *f)
{
	struct walk_dir *todo = f->children, *last, *next;

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
		walk_dir_free(todo);
		todo = next;
	}
}

/* --- partial snapshots --- */

bool walk_is_above_wanted(const struct walk *w, const char *path)
{
	return pathset_has_below(&w->only, path) &&
	       !pathset_contains(&w->only, path);
}

bool walk_is_ancestor(const struct walk *w, const struct walk_dir *f,
		      const char *name)
{
	auto_free char *path = f->ancestor_only ? walk_path(f, name) : NULL;

	return path && walk_is_above_wanted(w, path);
}

bool walk_list_wanted(const struct walk *w, struct walk_dir *f)
{
	auto_free char *path = walk_path(f, "");
	size_t i = sorted_index(path, w->only.items, w->only.count,
				sizeof(*w->only.items), 0, path_compare),
	       skip = *path ? strlen(path) + 1 : 0;
	const char *last = NULL;
	size_t last_len = 0;
	int flags = 0;

	/* A directory that folds the case of names is listed. */
	if (ioctl(f->fd, FS_IOC_GETFLAGS, &flags) < 0 ||
	    (flags & FS_CASEFOLD_FL))
		return false;
	for (; i < w->only.count && path_below(w->only.items[i], path); i++) {
		const char *name = w->only.items[i] + skip;
		size_t len = strlen(w->only.items[i]) > skip
				     ? strcspn(name, "/")
				     : 0;

		if (!len ||
		    (last && len == last_len && memcmp(name, last, len) == 0))
			continue;
		dirlist_add(&f->list, name, len);
		last = name;
		last_len = len;
	}
	dirlist_sort(&f->list);
	f->listed = f->incomplete = true;
	f->count = f->list.count;
	return true;
}

/* --- opening and listing --- */

#define LISTING_TRIES 3

static int open_walked_dir(struct walk *w, struct walk_dir *f)
{
	int flags =
		O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
	auto_free char *path = NULL;
	struct err err;
	int fd;

	if (!f->parent)
		return RETRY_ENOENT(openat(w->root_fd, ".", flags));
	if (f->parent->fd >= 0)
		return reader_open(f->parent->fd, f->name, flags);
	path = walk_path(f, "");
	fd = beneath_open(w->root_fd, path, flags, 0, &err);
	if (fd < 0)
		errno = err.num;
	return fd < 0 ? -1 : fd;
}

int walk_open_dir(struct walk *w, struct walk_dir *f)
{
	struct meta seen = f->meta;
	int num;

	f->fd = open_walked_dir(w, f);
	num = errno;
	if (f->fd >= 0)
		atomic_fetch_add(&w->open_fds, 1);
	if (f->parent)
		walk_release_fd(w, f->parent);
	if (f->fd < 0 && (num == ENOENT || num == ENOTDIR || num == ELOOP)) {
		f->absent = true;
		return -1;
	}
	if (f->fd >= 0)
		num = meta_get(f->fd, "", &f->meta) < 0 ? errno : 0;
	if (num) {
		walk_add_fault(w, f, "", num);
		return -1;
	}
	if (f->meta.dev != w->dev) {
		f->meta = seen;
		f->incomplete = true;
		walk_add_note(w, NOTE_INCOMPLETE, f, "", NOTE_FILE_SYSTEM);
		return -1;
	}
	return 0;
}

/* The glob that excludes the path, or NULL. */
static const char *find_matching_exclude(const struct walk *w,
					 const struct walk_dir *f,
					 const char *name)
{
	auto_free char *path = NULL;
	size_t i;

	for (i = 0; w->options->excludes[i]; i++) {
		const char *glob = w->options->excludes[i];
		bool on_path = strchr(glob, '/') != NULL;

		if (on_path && !path)
			path = walk_path(f, name);
		glob += *glob == '/';
		if (fnmatch(glob, on_path ? path : name,
			    on_path ? FNM_PATHNAME : 0) == 0)
			return w->options->excludes[i];
	}
	return NULL;
}

/* Whether the snapshot excludes the name in the directory f: by a path or
 * prefix of the options, because only other paths are wanted, or by a pattern,
 * which is noted. */
static bool is_left_out(struct walk *w, struct walk_dir *f, const char *name)
{
	const char *prefix = w->options->skip_prefix, *glob;

	if (f == w->root && prefix &&
	    strncmp(name, prefix, strlen(prefix)) == 0)
		return true;
	if (f->above_skipped || f->ancestor_only) {
		auto_free char *path = walk_path(f, name);

		if (pathset_contains(&w->skip, path) ||
		    (f->ancestor_only && !pathset_contains(&w->only, path) &&
		     !pathset_has_below(&w->only, path)))
			return true;
	}
	glob = w->options->excludes ? find_matching_exclude(w, f, name) : NULL;
	if (glob) {
		auto_free char *why = mem_printf(NOTE_EXCLUSION "%s", glob);

		f->incomplete = true;
		walk_add_note(w, NOTE_INCOMPLETE, f, name, why);
	}
	return glob != NULL;
}

void walk_list_names(struct walk *w, struct walk_dir *f)
{
	size_t kept = 0, i;
	struct meta before = f->meta;
	struct err err;
	int tries;

	f->listed = true;
	atomic_fetch_add(&w->listed, 1);
	for (tries = 0; tries < LISTING_TRIES; tries++) {
		dirlist_free(&f->list);
		if (dirlist_read(f->fd, &f->list, &err) < 0) {
			walk_add_fault(w, f, "", err.num);
			break;
		}
		if (meta_get(f->fd, "", &f->meta) < 0) {
			walk_add_fault(w, f, "", errno);
			break;
		}
		if (meta_same(&before, &f->meta))
			break;
		f->same = false;
		before = f->meta;
	}
	if (tries == LISTING_TRIES) {
		f->incomplete = true;
		walk_add_note(w, NOTE_INCOMPLETE, f, "",
			      "changed while it was read");
	}
	/* Above a wanted path all other names are left out. */
	f->incomplete |= f->ancestor_only;
	if (f->above_skipped || f->ancestor_only || w->options->excludes ||
	    (f == w->root && w->options->skip_prefix)) {
		for (i = 0; i < f->list.count; i++)
			if (!is_left_out(w, f, f->list.items[i].name))
				f->list.items[kept++] = f->list.items[i];
		f->list.count = kept;
	}
	f->count = f->list.count;
}

/* --- the end of a directory --- */

bool walk_is_unchanged(const struct walk_dir *child)
{
	return child->same && !child->items && !child->absent &&
	       !child->incomplete;
}

static void collect_child_dirs(struct walk *w, struct walk_dir *f)
{
	struct walk_dir *child;

	for (child = f->children; child; child = child->next)
		if (!walk_is_unchanged(child))
			walk_make_items(w, f, f->count);
	/* The root's own record has the tree that identifies the cache. */
	if (!f->parent && !f->same && f->count)
		walk_make_items(w, f, f->count);
	if (!f->items)
		return;
	for (child = f->children; child; child = child->next) {
		struct walk_item *it = &f->items[child->index];

		it->child = child;
		it->absent = child->absent;
		it->meta = child->meta;
		it->content = child->tree;
		it->attrs = child->attrs;
		it->incomplete = child->incomplete;
		it->untrusted = child->untrusted || child->incomplete;
	}
}

static void make_item_entry(const struct walk_item *it, struct entry *ret)
{
	struct stable_read r = {
		.meta = it->meta,
		.content = it->content,
		.attrs = it->attrs,
		.link = mem_strdup(it->link),
		.size = it->size,
		.incomplete = it->incomplete,
	};

	stable_read_make_entry(&r, it->name, ret);
}

/* Removes items that a tree cannot hold; returns the number of others. */
static size_t drop_invalid_items(struct walk *w, struct walk_dir *f)
{
	size_t count = 0, i;

	for (i = 0; i < f->count; i++) {
		AUTO(entry) struct entry e = {0};
		struct walk_item *it = &f->items[i];

		if (it->absent)
			continue;
		make_item_entry(it, &e);
		if (entry_ok(&e, false)) {
			count++;
			continue;
		}
		it->absent = true;
		f->incomplete = true;
		walk_add_note(w, NOTE_INCOMPLETE, f, it->name,
			      "of a kind that is not known");
	}
	return count;
}

static int encode_dir_tree(struct walk *w, struct walk_dir *f, struct err *err)
{
	AUTO(tree_writer)
	struct tree_writer *t =
		tree_writer_new(w->store, drop_invalid_items(w, f));
	size_t i;

	atomic_fetch_add(&w->encoded, 1);
	for (i = 0; i < f->count; i++) {
		AUTO(entry) struct entry e = {0};

		if (f->items[i].absent)
			continue;
		make_item_entry(&f->items[i], &e);
		if (tree_writer_add(t, &e, err) < 0)
			return -err->num;
	}
	return tree_writer_end(t, &f->tree, err);
}

static void add_dir_to_cache(struct walk *w, struct walk_dir *f)
{
	size_t i;

	(void)pthread_mutex_lock(&w->lock);
	for (i = 0; i < f->count; i++) {
		const struct walk_item *it = &f->items[i];
		const struct walk_dir *child = it->child;
		struct cache_item item;

		if (it->absent)
			continue;
		item = (struct cache_item){
			.name = it->name,
			.link = it->link,
			.meta = &it->meta,
			.content = it->content,
			.attrs = it->attrs,
			.flags = it->untrusted ? CACHE_UNTRUSTED : 0,
			.dir = child && child->items ? child->number + 1 : 0,
			.old = child && !child->items && !child->incomplete
				       ? child->old
				       : NULL,
		};
		cache_builder_add(w->builder, &item);
	}
	f->number = cache_builder_end_dir(w->builder, &f->tree, w->cache);
	(void)pthread_mutex_unlock(&w->lock);
}

void walk_end_part(struct walk *w, struct walk_dir *f)
{
	struct err err;

	while (f && atomic_fetch_sub(&f->pending, 1) == 1) {
		bool failed = atomic_load(&w->failed);

		if (!failed)
			collect_child_dirs(w, f);
		if (!f->items || failed) {
			if (f->record)
				f->tree = f->record->tree;
		} else if (encode_dir_tree(w, f, &err) < 0) {
			auto_free char *path = walk_path(f, "");

			(void)err_context(&err, "store directory %s",
					  text_quote(path));
			walk_fail(w, &err);
		} else if (!w->options->only) {
			add_dir_to_cache(w, f);
		}
		walk_dir_free_below(f);
		if (!f->parent) {
			(void)pthread_mutex_lock(&w->lock);
			w->done = true;
			(void)pthread_cond_broadcast(&w->wake);
			(void)pthread_mutex_unlock(&w->lock);
		}
		f = f->parent;
	}
}
