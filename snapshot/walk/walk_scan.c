#include "snapshot/walk/walk_scan.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/path.h"
#include "snapshot/walk/walk_end.h"
#include "snapshot/walk/walk_list.h"
#include "snapshot/walk/walk_partial.h"
#include "snapshot/walk/walk_read.h"
#include "snapshot/walk/stable_read.h"

/* Counters of one scan, added to the walk's at its end. */
struct counts {
	uint64_t files, dirs, bytes;
};

/* State of one pass over the names. */
struct dir_scan {
	struct walk_worker *worker;
	struct walk *walk;
	struct walk_dir *dir;
	struct counts counts;
	uint32_t group; /* group of the previous entry */
};

static struct walk_item *make_item_at(struct dir_scan *s, size_t i)
{
	walk_make_items(s->walk, s->dir, i);
	return &s->dir->items[i];
}

static void note_stat_failure(struct dir_scan *s, size_t i,
			      const struct meta *meta, const char *why)
{
	struct walk_item *it = make_item_at(s, i);

	it->meta = *meta;
	it->incomplete = it->untrusted = true;
	walk_add_note(s->walk, NOTE_INCOMPLETE, s->dir, it->name, why);
}

/* The stat is of the mounted directory. The directory below it is not
 * visible and cannot get this metadata back, so all mount points get the
 * same metadata. */
static void note_mount_point(struct dir_scan *s, size_t i, struct meta meta)
{
	meta.mode = (meta.mode & S_IFMT) | 0755;
	meta.mtime = (struct timestamp){0};
	note_stat_failure(s, i, &meta, "another file system");
}

static void add_child_dir(struct dir_scan *s, size_t i, const char *name,
			  const struct meta *meta,
			  const struct cache_entry *old)
{
	struct walk_dir *f = s->dir, *child = mem_zalloc(sizeof(*child));
	struct walk *w = s->walk;
	size_t len, k;

	child->parent = f;
	child->name = name;
	child->index = i;
	child->fd = -1;
	child->meta = *meta;
	child->old = old;
	atomic_init(&child->pending, 1);
	atomic_init(&child->fd_users, 1);
	if (f->skips) {
		len = strlen(name);
		child->path_len = f->path_len + (f->path_len > 0) + len;
		for (k = 0; k < w->skip_count; k++)
			if ((f->skips >> k & 1) &&
			    path_below(w->skips[k] + f->path_len +
					       (f->path_len > 0),
				       name))
				child->skips |= (uint64_t)1 << k;
	}
	atomic_fetch_add(&f->pending, 1);
	atomic_fetch_add(&f->fd_users, 1);
	child->next = f->children;
	f->children = child;
	if (f->items)
		f->items[i].meta = *meta;
	child->ancestor_only = walk_partial_is_ancestor(w, f, name);
}

/* e: entry of this name in the cache, or NULL. */
static void scan_dir_name(struct dir_scan *s, size_t i, const char *name,
			  const struct cache_entry *e)
{
	struct walk_dir *f = s->dir;
	struct walk *w = s->walk;
	const struct ingest_hint *hints;
	struct meta meta;
	bool mount, is_dir;

	if (walk_read_stat(f->fd, name, &meta, &mount) < 0) {
		struct walk_item *it = make_item_at(s, i);

		it->absent = true;
		if (errno == ENOENT)
			return;
		f->incomplete = true;
		walk_add_note(w, NOTE_INCOMPLETE, f, name, strerror(errno));
		return;
	}
	walk_add_gid(w, &meta, &s->group);
	is_dir = S_ISDIR(meta.mode);
	if (walk_is_moved(w, &meta) &&
	    !(is_dir && walk_partial_is_ancestor(w, f, name)))
		walk_add_note(w, NOTE_MOVED, f, name, "");
	s->counts.dirs += is_dir;
	s->counts.files += !is_dir;
	s->counts.bytes += S_ISREG(meta.mode) ? meta.size : 0;
	/* Only directories: overlayfs reports files with the device number of
	 * their layer. */
	if (mount || (is_dir && meta.dev != w->dev)) {
		note_mount_point(s, i, meta);
		return;
	}
	if (is_dir) {
		if (!e || !S_ISDIR(e->mode))
			(void)make_item_at(s, i);
		add_child_dir(s, i, name, &meta,
			      e && S_ISDIR(e->mode) ? e : NULL);
		return;
	}
	if (!e || (e->flags & CACHE_UNTRUSTED) ||
	    !statcache_same(w->cache, e, &meta)) {
		hints = ingest_hint_find(w->hints, w->hint_count, &meta);
		/* Where times prove nothing, a readable file is read. */
		if (hints && (w->mmap_updates_times || !hints->ctime.sec))
			walk_read_hint(w, f, i, &meta, hints);
		else
			walk_read_item(s->worker, f, i, &meta, e);
		return;
	}
	if (f->items) {
		struct walk_item *it = &f->items[i];

		it->meta = meta;
		it->meta.chattr = statcache_chattr(w->cache, e);
		it->content = statcache_content(e);
		it->attrs = statcache_attrs(w->cache, e);
		it->size = meta.size;
		if (S_ISLNK(meta.mode))
			it->link = mem_strdup(statcache_link(w->cache, e));
	}
}

static void scan_dir_names(struct dir_scan *s)
{
	struct walk_dir *f = s->dir;
	struct walk *w = s->walk;
	size_t at = 0, i;

	for (i = 0; i < f->count && !atomic_load(&w->failed); i++) {
		const char *name = walk_item_name(w, f, i);
		const struct cache_entry *e = NULL;
		int order = -1;

		while (at < f->entry_count &&
		       (order = strcmp(
				statcache_name(w->cache, &f->entries[at]),
				name)) < 0)
			at++;
		if (at < f->entry_count && order == 0)
			e = &f->entries[at++];
		/* All names so far are the cache's, in the same order. */
		if (!f->items && (!e || at != i + 1))
			walk_make_items(w, f, i);
		scan_dir_name(s, i, name, e);
	}
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
		walk_read_failed(w, f, "", &err);
		return;
	}
	f->attrs = r.attrs;
	f->meta.chattr = r.meta.chattr;
	if (r.incomplete) {
		f->incomplete = true;
		walk_add_note(w, NOTE_INCOMPLETE, f, "", r.why);
	}
}

static void find_dir_in_cache(struct walk *w, struct walk_dir *f)
{
	if (!f->old)
		return;
	f->same = !(f->old->flags & CACHE_UNTRUSTED) &&
		  statcache_same(w->cache, f->old, &f->meta);
	f->record = statcache_dir(w->cache, f->old);
	if (f->record)
		f->entries =
			statcache_entries(w->cache, f->record, &f->entry_count);
}

/*
 * When descriptors run short, a directory is closed before its subdirectories
 * are open; they are opened by path then.
 */
static void close_dir_early(struct walk_worker *k, struct walk_dir *f)
{
	struct walk *w = k->walk;

	if (!f->children || atomic_load(&w->open_fds) < w->fd_limit)
		return;
	while (walk_read_collect(k))
		;
	f->closed_early = true;
	atomic_store(&f->fd_users, 1);
	walk_release_fd(w, f);
}

void walk_scan(struct walk_worker *k, struct walk_dir *f)
{
	struct walk *w = k->walk;
	struct dir_scan s = {
		.worker = k, .walk = w, .dir = f, .group = UINT32_MAX};

	if (walk_list_open(w, f) == 0) {
		find_dir_in_cache(w, f);
		/*
		 * A directory's ctime changes with every name that comes or
		 * goes. When it is the same, the names are the cache's, and
		 * getdents is not needed. Only where the file system is known
		 * to do so.
		 */
		if (!f->ancestor_only && f->same && f->record && w->trusted_fs)
			f->count = f->entry_count;
		else if (!f->ancestor_only || !w->trusted_fs ||
			 !walk_partial_names(w, f))
			walk_list_names(w, f);
		read_dir_attrs(w, f);
		f->untrusted = walk_is_untrusted(w, &f->meta);
		scan_dir_names(&s);
		atomic_fetch_add(&w->files, s.counts.files);
		atomic_fetch_add(&w->dirs, s.counts.dirs);
		atomic_fetch_add(&w->bytes, s.counts.bytes);
		close_dir_early(k, f);
	}
	if (f->fd >= 0 && !f->closed_early)
		walk_release_fd(w, f);
	walk_push_dirs(w, f->children);
	walk_end_part(w, f);
}
