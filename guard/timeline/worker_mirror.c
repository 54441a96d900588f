#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/beneath.h"
#include "base/dirtree.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/sorted.h"
#include "guard/timeline/worker_private.h"
#include "overlay/session.h"
#include "overlay/whiteout.h"
#include "snapshot/store/hash.h"

/* IN_MODIFY and IN_CLOSE_WRITE come since Linux 6.5. Before, the break of a
 * lease tells that a file changes. */
#define EVENTS                                                                 \
	(IN_ATTRIB | IN_MODIFY | IN_CLOSE_WRITE | IN_CREATE | IN_DELETE |      \
	 IN_MOVED_FROM | IN_MOVED_TO | IN_ONLYDIR | IN_EXCL_UNLINK)
/* More entries than any project has: some 400 MB of memory. */
#define NAMES_MAX 1000000
/* The worker takes this part of the free watches. */
#define WATCHES_SHARE 4
/* A renamed file may be without a name for so long. */
#define NAMELESS_MS 1000
/* Longest part of a tick: a run may create directories without end. */
#define REFRESH_MS 400

/* --- names and files --- */

static int compare_names(const void *pa, const void *pb)
{
	const struct worker_name *a = pa, *b = pb;

	if (a->parent != b->parent)
		return (uintptr_t)a->parent < (uintptr_t)b->parent ? -1 : 1;
	return strcmp(a->name, b->name);
}

static struct worker_name *find_name(struct worker *w, struct worker_name *in,
				     const char *name)
{
	const struct worker_name key = {.parent = in, .name = name};
	struct worker_name **found = tfind(&key, &w->names, compare_names);

	return found ? *found : NULL;
}

static struct worker_dir *find_watch(struct worker *w, uint64_t watch)
{
	struct worker_dir **found =
		tfind(&watch, &w->watches, sorted_compare_numbers);

	return found ? *found : NULL;
}

static void queue_dir(struct worker *w, struct worker_dir *d, bool all)
{
	d->all = d->all || all;
	if (d->queued)
		return;
	d->queued = true;
	TAILQ_INSERT_TAIL(&w->queue, d, queue);
}

/* The directory of the name has to look at it. */
static void queue_name(struct worker *w, const struct worker_name *n)
{
	if (!n->parent)
		return;
	names_add(&n->parent->dir->changed, n->name);
	queue_dir(w, n->parent->dir, false);
}

static void end_watch(struct worker *w, struct worker_dir *d, bool remove)
{
	if (!d->watch)
		return;
	(void)tdelete(d, &w->watches, sorted_compare_numbers);
	if (remove)
		(void)inotify_rm_watch(w->inotify_fd, (int)d->watch);
	d->watch = 0;
	w->watch_count--;
}

static void free_dir(struct worker *w, struct worker_dir *d)
{
	end_watch(w, d, true);
	TAILQ_REMOVE(&w->dirs, d, entry);
	if (d->queued)
		TAILQ_REMOVE(&w->queue, d, queue);
	names_free(&d->changed);
	free(d);
	w->dir_count--;
}

static void unlink_file(struct worker *w, struct worker_name *n)
{
	struct worker_file *f = n->file;

	LIST_REMOVE(n, same_file);
	n->file = NULL;
	if (!LIST_EMPTY(&f->names))
		return;
	f->due = timestamp_monotonic_ms() + NAMELESS_MS;
	worker_hold_move(w, f, FILE_NAMELESS);
}

static void link_file(struct worker *w, struct worker_name *n,
		      const struct meta *m)
{
	struct worker_file **found =
		tfind(&m->ino, &w->files, sorted_compare_numbers);
	struct worker_file *f = found ? *found : NULL;

	if (!f) {
		f = mem_zalloc(sizeof(*f));
		f->ino = m->ino;
		f->meta = *m;
		f->fd = -1;
		TAILQ_INSERT_TAIL(&w->lists[FILE_IDLE], f, entry);
		(void)tsearch(f, &w->files, sorted_compare_numbers);
	} else if (f->state == FILE_NAMELESS) {
		/* The file has another name, or its number is another file's.
		 */
		if (!f->leased &&
		    (f->meta.size != m->size ||
		     timestamp_compare(f->meta.mtime, m->mtime))) {
			worker_hold_missed(w, f, f->due - NAMELESS_MS);
			f->content = f->rested = f->kept = f->stale = 0;
		}
		worker_hold_move(w, f, f->leased ? FILE_HELD : FILE_IDLE);
		if (!f->leased && S_ISREG(f->meta.mode))
			worker_hold_wait(w, f);
	}
	f->path = hash_check(n->name, strlen(n->name)) ^
		  (n->parent ? n->parent->file->ino : 0);
	n->file = f;
	LIST_INSERT_HEAD(&f->names, n, same_file);
}

static void add_dir(struct worker *w, struct worker_name *n)
{
	n->dir = mem_zalloc(sizeof(*n->dir));
	n->dir->name = n;
	TAILQ_INSERT_TAIL(&w->dirs, n->dir, entry);
	w->dir_count++;
}

static struct worker_name *add_name(struct worker *w, struct worker_name *in,
				    size_t root, const char *name)
{
	struct worker_name *n = mem_zalloc(sizeof(*n) + strlen(name) + 1);

	n->name = strcpy((char *)(n + 1), name);
	n->parent = in;
	n->root = root;
	w->name_count++;
	if (in)
		LIST_INSERT_HEAD(&in->dir->children, n, sibling);
	(void)tsearch(n, &w->names, compare_names);
	return n;
}

static void record(struct worker *w, const struct worker_name *n,
		   enum timeline_kind kind)
{
	auto_free char *path = worker_hold_path(n);
	struct timeline_record r = {
		.kind = kind, .root = n->root, .path = path};
	char target[PATH_MAX];

	if (w->loading)
		return;
	if (n->file && kind != TIMELINE_NONE) {
		const struct meta *m = &n->file->meta;

		r.mode = m->mode;
		r.uid = m->uid;
		r.gid = m->gid;
		r.size = m->size;
		r.mtime = m->mtime;
		r.ino = m->ino;
		r.content = n->file->content;
	}
	if (S_ISLNK(r.mode)) {
		struct err ignored;
		auto_close int fd = beneath_open(w->roots.items[n->root].fd,
						 path, O_PATH, 0, &ignored);
		ssize_t len =
			fd < 0 ? -1
			       : readlinkat(fd, "", target, sizeof(target) - 1);

		if (len > 0) {
			target[len] = '\0';
			r.text = target;
		}
	}
	(void)timeline_add(&w->out, &r);
	if (r.content)
		n->file->content = r.content;
}

/* Forgets the name and all below it, deepest first. A name that another file
 * has taken stays. */
static void remove_name(struct worker *w, struct worker_name *top, bool taken)
{
	struct worker_name *n = top, *up;

	do {
		while (n->dir && !LIST_EMPTY(&n->dir->children))
			n = LIST_FIRST(&n->dir->children);
		if (n->dir)
			free_dir(w, TAKE(n->dir));
		if (n->file)
			unlink_file(w, n);
		if (n == top && taken)
			return;
		up = n->parent;
		record(w, n, TIMELINE_NONE);
		(void)tdelete(n, &w->names, compare_names);
		LIST_REMOVE(n, sibling);
		w->name_count--;
		free(n);
	} while (n != top && (n = up));
}

static void record_name(struct worker *w, const struct worker_name *n)
{
	const struct meta *m = &n->file->meta;

	record(w, n,
	       whiteout_is(m)		  ? TIMELINE_GONE
	       : n->dir && n->dir->opaque ? TIMELINE_OPAQUE
					  : TIMELINE_ENTRY);
}

void worker_mirror_record(struct worker *w, struct worker_file *f)
{
	const struct worker_name *n;

	if (f->stale) {
		f->content = 0;
		f->kept = f->stale = false;
	}
	LIST_FOREACH(n, &f->names, same_file)
	record_name(w, n);
}

/* --- differences --- */

bool worker_mirror_update(struct worker *w, struct worker_file *f,
			  const struct meta *m)
{
	const struct meta old = f->meta;
	bool other =
		old.mode != m->mode || old.uid != m->uid || old.gid != m->gid;
	/* A link that is made anew often has the inode number of the old one.
	 */
	bool link = S_ISLNK(m->mode) &&
		    (timestamp_compare(old.mtime, m->mtime) != 0 ||
		     timestamp_compare(old.ctime, m->ctime) != 0);
	bool bytes = S_ISREG(m->mode) &&
		     (old.size != m->size ||
		      timestamp_compare(old.mtime, m->mtime) != 0);

	f->meta = *m;
	if (bytes && f->leased && old.size == m->size) {
		/* utimensat(2): an open for writing would break the lease. */
		bytes = false;
		other = true;
	}
	/* The mtime may have been set back. 0: as the timeline has it. */
	if (S_ISREG(m->mode) && !f->leased && old.ctime.sec &&
	    timestamp_compare(old.ctime, m->ctime) != 0)
		bytes = true;
	if (bytes && !f->leased) {
		worker_hold_missed(w, f, timestamp_monotonic_ms());
		worker_hold_wait(w, f);
	}
	if (bytes && !f->rested) {
		/* One record when a file begins to change, one at rest. */
		f->stale = f->content != 0;
		bytes = !f->stale;
	} else if (bytes) {
		if (f->leased && !f->kept)
			worker_hold_note(w, TIMELINE_GAP, f,
					 "truncated by path");
		f->content = 0;
		f->kept = false;
		f->rested = f->leased;
	}
	if (!bytes && !other && !link)
		return false;
	worker_mirror_record(w, f);
	return true;
}

static void check_name(struct worker *w, struct worker_name *in, int dir_fd,
		       const char *name)
{
	struct worker_name *n = find_name(w, in, name);
	struct worker_file *f;
	bool added = !n;
	struct meta m;

	if (meta_get(dir_fd, name, &m) < 0) {
		if (n && errno == ENOENT)
			remove_name(w, n, false);
		return;
	}
	if (n &&
	    (n->file->ino != m.ino || (n->file->meta.mode ^ m.mode) & S_IFMT)) {
		remove_name(w, n, true);
		added = true;
	}
	if (!n && w->name_count >= NAMES_MAX) {
		worker_hold_gap(w, in->dir, "too many files");
		return;
	}
	if (!n)
		n = add_name(w, in, in->root, name);
	if (added)
		link_file(w, n, &m);
	f = n->file;
	n->seen = w->scans;
	if (S_ISDIR(m.mode)) {
		if (!n->dir)
			add_dir(w, n);
		if (f->meta.mode != m.mode || f->meta.uid != m.uid ||
		    f->meta.gid != m.gid)
			n->dir->recorded = false;
		f->meta = m;
		queue_dir(w, n->dir, !n->dir->watch);
		return;
	}
	if (!worker_mirror_update(w, f, &m) && added) {
		if (f->stale)
			worker_mirror_record(w, f);
		else
			record_name(w, n);
	}
	if (S_ISREG(m.mode) && f->state == FILE_IDLE && !f->rested)
		worker_hold_wait(w, f);
	else if (f->state == FILE_WAITING)
		worker_hold_event(w, f);
}

static void count_watches_of(int proc_fd, const char *pid, uint64_t *ret)
{
	auto_free char *path = mem_printf("%s/fdinfo", pid);
	auto_close int fd = fd_open_dir(proc_fd, path);
	AUTO(dirlist) struct dirlist list = {0};
	struct err ignored;
	size_t i;

	(void)dirlist_read(fd, &list, &ignored);
	for (i = 0; i < list.count; i++) {
		AUTO(buf) struct buf text = {0};
		const char *at;

		(void)fd_slurp_at(fd, list.items[i].name, 64 << 20, &text,
				  &ignored);
		for (at = buf_text(&text); (at = strstr(at, "inotify wd:"));
		     at++)
			(*ret)++;
	}
}

/* The watches of this user's processes; of another user's nothing is shown. */
static uint64_t count_watches(void)
{
	auto_close int fd = fd_open_dir(AT_FDCWD, "/proc");
	AUTO(dirlist) struct dirlist list = {0};
	struct err ignored;
	uint64_t count = 0;
	size_t i;

	(void)dirlist_read(fd, &list, &ignored);
	for (i = 0; i < list.count; i++)
		if (*list.items[i].name >= '1' && *list.items[i].name <= '9')
			count_watches_of(fd, list.items[i].name, &count);
	return count;
}

static void limit_watches(struct worker *w)
{
	uint64_t most, used;

	if (w->watch_count < w->watch_max || w->watches_counted)
		return;
	w->watches_counted = true;
	most = (uint64_t)fd_read_number("/proc/sys/fs/inotify/max_user_watches",
					0);
	used = count_watches();
	most = used < most ? (most - used) / WATCHES_SHARE : 0;
	if (most > w->watch_max)
		w->watch_max = most;
}

static void watch_dir(struct worker *w, struct worker_dir *d, int fd)
{
	struct worker_dir *other;
	int watch = -1;

	limit_watches(w);
	if (w->watch_count < w->watch_max)
		watch = inotify_add_watch(w->inotify_fd, fd_proc_path(fd).text,
					  EVENTS);
	if (watch < 0) {
		worker_hold_gap(w, d, "not watched: no inotify watch is free");
		return;
	}
	/* A renamed directory keeps its watch. */
	other = find_watch(w, (uint64_t)watch);
	if (other)
		end_watch(w, other, false);
	d->watch = (uint64_t)watch;
	(void)tsearch(d, &w->watches, sorted_compare_numbers);
	w->watch_count++;
}

static void scan_dir(struct worker *w, struct worker_dir *d, int fd)
{
	int again = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	DIR *dir = again < 0 ? NULL : fdopendir(again);
	struct worker_name *n, *next;
	const struct dirent *e;

	if (!dir)
		return;
	w->scans++;
	for (;;) {
		errno = 0;
		e = readdir(dir);
		if (!e)
			break;
		if (path_name_ok(e->d_name, strlen(e->d_name)))
			check_name(w, d->name, fd, e->d_name);
		worker_hold_breathe(w);
	}
	for (n = errno ? NULL : LIST_FIRST(&d->children); n; n = next) {
		next = LIST_NEXT(n, sibling);
		/* Created since, or deleted. */
		if (n->seen != w->scans)
			check_name(w, d->name, fd, n->name);
	}
	(void)closedir(dir);
}

static void check_names(struct worker *w, struct worker_dir *d, int fd,
			struct names *names)
{
	size_t i;

	sorted_sort(names->items, names->count, sizeof(*names->items), 0,
		    strcmp);
	for (i = 0; i < names->count; i++) {
		if (i && strcmp(names->items[i - 1], names->items[i]) == 0)
			continue;
		check_name(w, d->name, fd, names->items[i]);
		worker_hold_breathe(w);
	}
}

int worker_mirror_open(struct worker *w, const struct worker_name *n, int flags)
{
	auto_free char *path = worker_hold_path(n);
	int upper = w->roots.items[n->root].fd, fd;
	struct err ignored;

	/* O_NONBLOCK: a FIFO may have taken the name. */
	flags |= O_RDONLY | O_NONBLOCK;
	fd = beneath_open(upper, path, flags | O_NOATIME, 0, &ignored);
	return fd == -EPERM ? beneath_open(upper, path, flags, 0, &ignored)
			    : fd;
}

static void refresh_dir(struct worker *w, struct worker_dir *d)
{
	struct worker_name *n = d->name;
	AUTO(names) struct names changed = TAKE(d->changed);
	auto_close int fd = worker_mirror_open(w, n, O_DIRECTORY);
	bool all = TAKE(d->all), opaque;
	struct err ignored;
	struct meta m;

	if (fd >= 0 && (meta_get(fd, "", &m) < 0 || m.ino != n->file->ino)) {
		fd_close(&fd);
		fd = -ESTALE;
	}
	if (fd < 0 && fd != -EACCES && !d->missed) {
		/* The name may have gone, or be another directory's. */
		d->missed = true;
		d->all = true;
		queue_name(w, n);
		return;
	}
	opaque = fd < 0 ? d->opaque : opaque_is_set(fd, &ignored) > 0;
	if (!d->recorded || opaque != d->opaque) {
		d->opaque = opaque;
		d->recorded = true;
		record_name(w, n);
	}
	if (fd < 0) {
		worker_hold_gap(w, d, "the directory is unreadable");
		return;
	}
	d->missed = false;
	if (!d->watch)
		watch_dir(w, d, fd);
	if (all)
		scan_dir(w, d, fd);
	else
		check_names(w, d, fd, &changed);
}

static void end_nameless(struct worker *w, void *arg)
{
	struct worker_file *f = arg;
	struct meta m;

	/* The file's new name may come in the next tick. */
	if (!w->ended && timestamp_monotonic_ms() < f->due &&
	    (f->fd < 0 || (meta_get(f->fd, "", &m) == 0 && m.nlink > 0)))
		return;
	worker_hold_end(w, f, f->due - NAMELESS_MS);
	TAILQ_REMOVE(&w->lists[FILE_NAMELESS], f, entry);
	(void)tdelete(f, &w->files, sorted_compare_numbers);
	free(f);
	worker_hold_breathe(w);
}

void worker_mirror_refresh(struct worker *w, bool last)
{
	int64_t began = timestamp_monotonic_ms();
	struct worker_dir *d;
	struct worker_file *f, *next;

	while ((d = TAILQ_FIRST(&w->queue)) &&
	       timestamp_monotonic_ms() < began + REFRESH_MS) {
		TAILQ_REMOVE(&w->queue, d, queue);
		d->queued = false;
		refresh_dir(w, d);
	}
	w->ended = last && TAILQ_EMPTY(&w->queue);
	for (f = TAILQ_FIRST(&w->lists[FILE_NAMELESS]); f; f = next) {
		next = TAILQ_NEXT(f, entry);
		worker_table_call(w, f->table, end_nameless, f);
	}
}

void worker_mirror_rescan(struct worker *w, bool unwatched)
{
	struct worker_dir *d;

	TAILQ_FOREACH(d, &w->dirs, entry)
	if (!unwatched || !d->watch)
		queue_dir(w, d, true);
}

static void take_event(struct worker *w, const struct inotify_event *e)
{
	struct worker_dir *d = find_watch(w, (uint64_t)e->wd);

	if (e->mask & IN_Q_OVERFLOW)
		worker_mirror_rescan(w, false);
	if (!d)
		return;
	if (e->mask & IN_IGNORED) {
		end_watch(w, d, false);
		queue_name(w, d->name);
	} else if (e->len && !(d->changed.count &&
			       strcmp(d->changed.items[d->changed.count - 1],
				      e->name) == 0)) {
		names_add(&d->changed, e->name);
	}
	queue_dir(w, d, e->mask & IN_IGNORED);
}

void worker_mirror_events(struct worker *w)
{
	static char events[1 << 16]
		__attribute__((aligned(__alignof__(struct inotify_event))));
	const struct inotify_event *e;
	ssize_t len, at;
	int i;

	for (i = 0; i < 16; i++) {
		len = read(w->inotify_fd, events, sizeof(events));
		for (at = 0; at < len; at += (ssize_t)(sizeof(*e) + e->len)) {
			e = (const struct inotify_event *)(events + at);
			take_event(w, e);
		}
		if (len <= 0)
			break;
	}
}

/* --- the picture that the timeline has --- */

static struct worker_name *make_path(struct worker *w, size_t root,
				     const char *path)
{
	static const struct meta unknown = {.mode = S_IFDIR};
	struct worker_name *in = w->roots.items[root].top, *n;

	while (*path) {
		auto_free char *name = mem_strndup(path, strcspn(path, "/"));

		if (!in->dir) {
			remove_name(w, in, true);
			link_file(w, in, &unknown);
			add_dir(w, in);
		}
		n = find_name(w, in, name);
		in = n ? n : add_name(w, in, root, name);
		if (!in->file)
			link_file(w, in, &unknown);
		path += strlen(name);
		path += *path == '/';
	}
	return in;
}

static void load_record(struct worker *w, const struct timeline_record *r)
{
	struct meta m = {.mode = r->kind == TIMELINE_GONE ? S_IFCHR : r->mode,
			 .uid = r->uid,
			 .gid = r->gid,
			 .size = r->size,
			 .mtime = r->mtime,
			 .ino = r->ino};
	struct worker_name *n;

	if (r->root >= w->roots.count || !timeline_is_state(r) || !*r->path)
		return;
	n = make_path(w, r->root, r->path);
	if (r->kind == TIMELINE_NONE) {
		remove_name(w, n, false);
		return;
	}
	if (n->file->ino != m.ino || (n->file->meta.mode ^ m.mode) & S_IFMT) {
		remove_name(w, n, true);
		link_file(w, n, &m);
	}
	n->file->meta = m;
	n->file->content = S_ISREG(m.mode) ? r->content : 0;
	if (S_ISDIR(m.mode) && !n->dir)
		add_dir(w, n);
	if (n->dir) {
		n->dir->recorded = true;
		n->dir->opaque = r->kind == TIMELINE_OPAQUE;
	}
}

int worker_mirror_load(struct worker *w, struct err *err)
{
	AUTO(timeline) struct timeline t = {0};
	size_t i;

	if (timeline_load(&t, w->options->run_fd, err) < 0)
		return -err->num;
	for (i = 0; i < w->options->root_count; i++) {
		auto_free char *name = session_root_dir(i, "upper");
		struct worker_root *root = VEC_ADD(&w->roots);
		struct meta m;

		root->fd = fd_open_dir(w->options->run_fd, name);
		if (root->fd < 0 || meta_get(root->fd, "", &m) < 0)
			return fail_errno(err, "open '%s'", name);
		root->top = add_name(w, NULL, i, "");
		link_file(w, root->top, &m);
		add_dir(w, root->top);
		root->top->dir->recorded = true;
	}
	w->loading = true;
	for (i = 0; i < t.count; i++)
		load_record(w, &t.items[i]);
	w->loading = false;
	for (i = 0; i < w->roots.count; i++)
		queue_dir(w, w->roots.items[i].top->dir, true);
	return 0;
}
