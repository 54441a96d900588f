#include "snapshot/crawl_scan.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/beneath.h"
#include "base/path.h"
#include "base/text.h"
#include "snapshot/content.h"
#include "snapshot/crawl_end.h"
#include "snapshot/crawl_only.h"
#include "snapshot/reading.h"

#define LISTING_TRIES 3

/* Counters of one scan, added up once at its end. */
struct tally {
	uint64_t files, folders, bytes;
};

struct job {
	struct crawl_folder *folder;
	size_t index;
};

/* What one pass over the names hands around. */
struct scan {
	struct crawl_worker *worker;
	struct crawl *crawl;
	struct crawl_folder *folder;
	struct tally tally;
};

/*
 * meta_get() that also says whether something is mounted on the name: a bind
 * mount of the same file system has the same device.
 */
static int look(int dirfd, const char *name, struct meta *ret, bool *ret_mount)
{
	struct statx st;

	if (statx(dirfd, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT,
		  STATX_BASIC_STATS, &st) < 0)
		return -1;
	*ret = (struct meta){
		.mode = st.stx_mode,
		.uid = st.stx_uid,
		.gid = st.stx_gid,
		.nlink = st.stx_nlink,
		.size = st.stx_size,
		.dev = makedev(st.stx_dev_major, st.stx_dev_minor),
		.ino = st.stx_ino,
		.rdev = makedev(st.stx_rdev_major, st.stx_rdev_minor),
		.mtime = {st.stx_mtime.tv_sec, st.stx_mtime.tv_nsec},
		.ctime = {st.stx_ctime.tv_sec, st.stx_ctime.tv_nsec},
	};
	*ret_mount = (st.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
	return 0;
}

static struct crawl_item *item_at(struct scan *s, size_t i)
{
	crawl_items(s->crawl, s->folder, i);
	return &s->folder->items[i];
}

/* --- contents --- */

static void fatal(struct crawl *w, struct crawl_folder *f, const char *name,
		  struct err *err)
{
	auto_free char *path = crawl_path(f, name);

	(void)err_context(err, "keep %s", text_quote(path));
	crawl_fail(w, err);
}

static void keep_reading(struct crawl *w, struct crawl_folder *f,
			 struct crawl_item *it, struct reading *r)
{
	it->meta = r->meta;
	it->content = r->content;
	it->attrs = r->attrs;
	it->link = TAKE(r->link);
	it->size = r->content.type == OBJECT_NONE ? r->meta.size : r->size;
	it->incomplete = r->incomplete;
	it->untrusted = r->incomplete || crawl_untrusted(w, &r->meta);
	if (r->incomplete)
		crawl_note(w, NOTE_INCOMPLETE, f, it->name, r->why);
	if (crawl_moved(w, &r->meta))
		crawl_note(w, NOTE_MOVED, f, it->name, "");
	/* stat itself failed: nothing that a tree could hold. */
	it->gone = !r->meta.mode;
	f->incomplete |= it->gone;
}

/* Reads one thing by plain calls, with all the patience there is. */
static void read_slowly(struct crawl *w, struct crawl_folder *f,
			struct crawl_item *it)
{
	AUTO(reading) struct reading r = {0};
	struct err err;
	int got = reading_take(w->store, f->fd, it->name, NULL, &w->dev, &r,
			       &err);

	if (got == -ENOENT || got == -ENOTDIR) {
		it->gone = true;
	} else if (got == -EXDEV) {
		it->incomplete = it->untrusted = true;
		crawl_note(w, NOTE_INCOMPLETE, f, it->name,
			   "another file system");
	} else if (got < 0) {
		fatal(w, f, it->name, &err);
	} else if (S_ISDIR(r.meta.mode) || !r.meta.mode) {
		/* It became a folder while it was looked at. */
		reading_fault(&r, "changed while it was read", 0);
		keep_reading(w, f, it, &r);
	} else {
		if (S_ISREG(r.meta.mode)) {
			atomic_fetch_add(&w->read_files, 1);
			atomic_fetch_add(&w->read_bytes, r.size);
		}
		keep_reading(w, f, it, &r);
	}
}

/* 1: kept; 0: it was not at rest; negative: the store failed. */
static int keep_bytes(struct crawl *w, struct crawl_folder *f,
		      struct crawl_item *it, const struct reader_file *file,
		      struct err *err)
{
	struct reading r = {.meta = it->meta, .size = file->len};
	struct meta after;
	bool mount;

	if (file->error || file->grew || file->len != it->meta.size)
		return 0;
	if (reading_attrs(w->store, f->fd, it->name, NULL, &r, err) < 0)
		return -err->num;
	reading_call_hook(f->fd, it->name);
	if (look(f->fd, it->name, &after, &mount) < 0 || mount ||
	    !meta_same(&it->meta, &after))
		return 0;
	if (content_put_bytes(w->store, file->data, file->len, &r.content,
			      err) < 0)
		return -err->num;
	atomic_fetch_add(&w->read_files, 1);
	atomic_fetch_add(&w->read_bytes, file->len);
	keep_reading(w, f, it, &r);
	return 1;
}

bool crawl_scan_collect(struct crawl_worker *k)
{
	struct crawl *w = k->crawl;
	struct reader_file file;
	struct crawl_folder *f;
	struct crawl_item *it;
	struct job *job;
	struct err err;
	int got;

	if (!reader_next(k->reader, &file))
		return false;
	job = (struct job *)(uintptr_t)file.cookie;
	f = job->folder;
	it = &f->items[job->index];
	free(job);
	if (!atomic_load(&w->failed)) {
		got = keep_bytes(w, f, it, &file, &err);
		if (got < 0)
			fatal(w, f, it->name, &err);
		else if (got == 0)
			read_slowly(w, f, it);
	}
	crawl_release(w, f);
	crawl_end(w, f);
	return true;
}

static void read_item(struct scan *s, size_t i, const struct meta *meta)
{
	struct crawl_folder *f = s->folder;
	struct crawl_item *it = item_at(s, i);
	struct job *job;

	it->meta = *meta;
	if (!S_ISREG(meta->mode) || !meta->size ||
	    meta->size > READER_LEN_MAX) {
		read_slowly(s->crawl, f, it);
		return;
	}
	job = mem_alloc(sizeof(*job));
	*job = (struct job){.folder = f, .index = i};
	atomic_fetch_add(&f->pending, 1);
	atomic_fetch_add(&f->fd_users, 1);
	while (!reader_add(s->worker->reader, f->fd, it->name, meta->size,
			   (uint64_t)(uintptr_t)job))
		(void)crawl_scan_collect(s->worker);
}

/*
 * Its bytes need not be read. Nor can they have changed unseen since they were
 * synced: the first store through a mapping gives a clean page a new time.
 */
static void keep_known(struct scan *s, size_t i, const struct meta *meta,
		       const struct known_file *known)
{
	struct crawl_folder *f = s->folder;
	struct crawl *w = s->crawl;
	struct crawl_item *it = item_at(s, i);
	AUTO(reading)
	struct reading r = {
		.meta = *meta, .size = known->size, .content = known->content};
	struct err err;

	if (reading_attrs(w->store, f->fd, it->name, NULL, &r, &err) < 0) {
		fatal(w, f, it->name, &err);
		return;
	}
	keep_reading(w, f, it, &r);
	/* Reading one again that nobody may read would lose what is known. */
	it->untrusted =
		r.incomplete || (crawl_racy(w, meta) && (meta->mode & S_IRUSR));
}

/* --- names --- */

static void note_unlooked(struct scan *s, size_t i, const struct meta *meta,
			  const char *why)
{
	struct crawl_item *it = item_at(s, i);

	it->meta = *meta;
	it->incomplete = it->untrusted = true;
	crawl_note(s->crawl, NOTE_INCOMPLETE, s->folder, it->name, why);
}

static void add_child(struct scan *s, size_t i, const char *name,
		      const struct meta *meta, const struct cache_entry *old)
{
	struct crawl_folder *f = s->folder, *child = mem_zalloc(sizeof(*child));
	struct crawl *w = s->crawl;
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
	child->way = crawl_only_way(w, f, name);
}

/* e: the cache's entry of this name, NULL when it has none. */
static void scan_name(struct scan *s, size_t i, const char *name,
		      const struct cache_entry *e)
{
	struct crawl_folder *f = s->folder;
	struct crawl *w = s->crawl;
	const struct known_file *known;
	struct meta meta;
	bool mount, folder;

	if (look(f->fd, name, &meta, &mount) < 0) {
		struct crawl_item *it = item_at(s, i);

		it->gone = true;
		if (errno == ENOENT)
			return;
		f->incomplete = true;
		crawl_note(w, NOTE_INCOMPLETE, f, name, strerror(errno));
		return;
	}
	folder = S_ISDIR(meta.mode);
	if (crawl_moved(w, &meta) && !(folder && crawl_only_way(w, f, name)))
		crawl_note(w, NOTE_MOVED, f, name, "");
	s->tally.folders += folder;
	s->tally.files += !folder;
	s->tally.bytes += S_ISREG(meta.mode) ? meta.size : 0;
	/* An overlay gives its files the number of the layer they are in. */
	if (mount || (folder && meta.dev != w->dev)) {
		note_unlooked(s, i, &meta, "another file system");
		return;
	}
	if (folder) {
		if (!e || !S_ISDIR(e->mode))
			(void)item_at(s, i);
		add_child(s, i, name, &meta, e && S_ISDIR(e->mode) ? e : NULL);
		return;
	}
	if (!e || (e->flags & CACHE_UNTRUSTED) ||
	    !statcache_same(w->cache, e, &meta)) {
		known = known_find(w->known, w->known_count, &meta);
		if (known)
			keep_known(s, i, &meta, known);
		else
			read_item(s, i, &meta);
		return;
	}
	if (f->items) {
		struct crawl_item *it = &f->items[i];

		it->meta = meta;
		it->content = statcache_content(e);
		it->attrs = statcache_attrs(w->cache, e);
		it->size = meta.size;
		if (S_ISLNK(meta.mode))
			it->link = mem_strdup(statcache_link(w->cache, e));
	}
}

static void drop_skipped(const struct crawl *w, struct crawl_folder *f)
{
	size_t offset = f->path_len + (f->path_len > 0), kept = 0, i, k;

	for (i = 0; i < f->list.count; i++) {
		bool skip = false;

		for (k = 0; k < w->skip_count && !skip; k++)
			skip = (f->skips >> k & 1) &&
			       strcmp(w->skips[k] + offset,
				      f->list.items[i].name) == 0;
		if (!skip && f == w->root && w->skip_prefix)
			skip = strncmp(f->list.items[i].name, w->skip_prefix,
				       strlen(w->skip_prefix)) == 0;
		if (!skip)
			f->list.items[kept++] = f->list.items[i];
	}
	f->list.count = kept;
}

/* The glob that leaves it out, or NULL. */
static const char *excluding(const struct crawl *w,
			     const struct crawl_folder *f, const char *name)
{
	auto_free char *path = NULL;
	size_t i;

	for (i = 0; w->excludes[i]; i++) {
		const char *glob = w->excludes[i];
		bool whole = strchr(glob, '/') != NULL;

		if (whole && !path)
			path = crawl_path(f, name);
		glob += *glob == '/';
		if (fnmatch(glob, whole ? path : name,
			    whole ? FNM_PATHNAME : 0) == 0)
			return w->excludes[i];
	}
	return NULL;
}

static void drop_excluded(struct crawl *w, struct crawl_folder *f)
{
	size_t kept = 0, i;

	for (i = 0; i < f->list.count; i++) {
		const char *name = f->list.items[i].name;
		const char *glob = excluding(w, f, name);

		if (glob) {
			auto_free char *why =
				mem_printf(NOTE_EXCLUSION "%s", glob);

			f->incomplete = true;
			crawl_note(w, NOTE_INCOMPLETE, f, name, why);
		} else {
			f->list.items[kept++] = f->list.items[i];
		}
	}
	f->list.count = kept;
}

/* Lists the folder until it is at rest meanwhile. */
static void list_folder(struct crawl *w, struct crawl_folder *f)
{
	struct meta before = f->meta;
	struct err err;
	int tries;

	f->listed = true;
	atomic_fetch_add(&w->listed, 1);
	for (tries = 0; tries < LISTING_TRIES; tries++) {
		dirlist_free(&f->list);
		if (dirlist_read(f->fd, &f->list, &err) < 0) {
			f->incomplete = true;
			crawl_note(w, NOTE_INCOMPLETE, f, "",
				   strerror(err.num));
			break;
		}
		if (meta_get(f->fd, "", &f->meta) == 0 &&
		    meta_same(&before, &f->meta))
			break;
		f->same = false;
		before = f->meta;
	}
	if (tries == LISTING_TRIES) {
		f->incomplete = true;
		crawl_note(w, NOTE_INCOMPLETE, f, "",
			   "changed while it was read");
	}
	if (f->skips || (f == w->root && w->skip_prefix))
		drop_skipped(w, f);
	if (f->way)
		crawl_only_keep(w, f);
	if (w->excludes)
		drop_excluded(w, f);
	f->count = f->list.count;
}

static void scan_names(struct scan *s)
{
	struct crawl_folder *f = s->folder;
	struct crawl *w = s->crawl;
	size_t at = 0, i;

	for (i = 0; i < f->count && !atomic_load(&w->failed); i++) {
		const char *name = crawl_name(w, f, i);
		const struct cache_entry *e = NULL;
		int order = -1;

		while (at < f->entry_count &&
		       (order = strcmp(
				statcache_name(w->cache, &f->entries[at]),
				name)) < 0)
			at++;
		if (at < f->entry_count && order == 0)
			e = &f->entries[at++];
		/* Until now the names are the cache's, one by one. */
		if (!f->items && (!e || at != i + 1))
			crawl_items(w, f, i);
		scan_name(s, i, name, e);
	}
	if (f->count != f->entry_count || !f->record)
		crawl_items(w, f, f->items ? 0 : f->count);
}

/* --- one folder --- */

static int open_below(struct crawl *w, struct crawl_folder *f)
{
	int flags =
		O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
	auto_free char *path = NULL;
	struct err err;
	int fd;

	if (!f->parent)
		return openat(w->root_fd, ".", flags);
	if (f->parent->fd >= 0) {
		fd = openat(f->parent->fd, f->name, flags | O_NOATIME);
		return fd < 0 && errno == EPERM
			       ? openat(f->parent->fd, f->name, flags)
			       : fd;
	}
	path = crawl_path(f, "");
	fd = beneath_open(w->root_fd, path, flags, 0, &err);
	if (fd < 0)
		errno = err.num;
	return fd < 0 ? -1 : fd;
}

/* 0, or -1: there is nothing to scan, and it was said why. */
static int open_folder(struct crawl *w, struct crawl_folder *f)
{
	struct meta seen = f->meta;
	int num;

	f->fd = open_below(w, f);
	num = errno;
	if (f->fd >= 0)
		atomic_fetch_add(&w->open_fds, 1);
	if (f->parent)
		crawl_release(w, f->parent);
	if (f->fd < 0 && (num == ENOENT || num == ENOTDIR || num == ELOOP)) {
		f->gone = true;
		return -1;
	}
	if (f->fd >= 0)
		num = meta_get(f->fd, "", &f->meta) < 0 ? errno : 0;
	if (num) {
		f->incomplete = true;
		crawl_note(w, NOTE_INCOMPLETE, f, "", strerror(num));
		return -1;
	}
	if (f->meta.dev != w->dev) {
		f->meta = seen;
		f->incomplete = true;
		crawl_note(w, NOTE_INCOMPLETE, f, "", "another file system");
		return -1;
	}
	return 0;
}

/* Its own attributes, as far as they are not known. */
static void take_attrs(struct crawl *w, struct crawl_folder *f)
{
	struct reading r = {0};
	struct err err;

	if (f->same) {
		f->attrs = statcache_attrs(w->cache, f->old);
		return;
	}
	if (reading_attrs(w->store, f->fd, "", NULL, &r, &err) < 0) {
		fatal(w, f, "", &err);
		return;
	}
	f->attrs = r.attrs;
	if (r.incomplete) {
		f->incomplete = true;
		crawl_note(w, NOTE_INCOMPLETE, f, "", r.why);
	}
}

static void find_in_cache(struct crawl *w, struct crawl_folder *f)
{
	if (!f->old)
		return;
	f->same = !(f->old->flags & CACHE_UNTRUSTED) &&
		  statcache_same(w->cache, f->old, &f->meta);
	f->record = statcache_folder(w->cache, f->old);
	if (f->record)
		f->entries =
			statcache_entries(w->cache, f->record, &f->entry_count);
}

/*
 * With descriptors running short a folder closes its own before those in it
 * were opened; they are opened by path then.
 */
static void close_early(struct crawl_worker *k, struct crawl_folder *f)
{
	struct crawl *w = k->crawl;

	if (!f->children || atomic_load(&w->open_fds) < w->fd_limit)
		return;
	while (crawl_scan_collect(k))
		;
	f->closed_early = true;
	atomic_store(&f->fd_users, 1);
	crawl_release(w, f);
}

void crawl_scan(struct crawl_worker *k, struct crawl_folder *f)
{
	struct crawl *w = k->crawl;
	struct scan s = {.worker = k, .crawl = w, .folder = f};

	if (open_folder(w, f) == 0) {
		find_in_cache(w, f);
		/*
		 * A folder's ctime moves with every name that comes or goes,
		 * so the names of one that is the same are the cache's: no
		 * getdents. Only where the file system is known for it.
		 */
		if (f->same && f->record && w->trusted_fs)
			f->count = f->entry_count;
		else
			list_folder(w, f);
		take_attrs(w, f);
		f->untrusted = crawl_untrusted(w, &f->meta);
		scan_names(&s);
		atomic_fetch_add(&w->files, s.tally.files);
		atomic_fetch_add(&w->folders, s.tally.folders);
		atomic_fetch_add(&w->bytes, s.tally.bytes);
		close_early(k, f);
	}
	if (f->fd >= 0 && !f->closed_early)
		crawl_release(w, f);
	crawl_push(w, f->children);
	crawl_end(w, f);
}
