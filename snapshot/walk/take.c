#include "snapshot/walk/take.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/fstype.h"
#include "base/path.h"
#include "base/text.h"
#include "snapshot/tree/changed_paths.h"
#include "snapshot/walk/stable_read.h"
#include "snapshot/walk/walk_private.h"

#define SLACK_FINE_NSEC 20000000L
#define SLACK_COARSE_NSEC 3000000000L
/* The kernel's defaults: a thread that wakes up every 5 s writes back pages
 * that have been dirty for 30 s. */
#define EXPIRE_DEFAULT 3000
#define WAKEUP_DEFAULT 500
#define WRITEBACK_SLACK 2
#define WRITEBACK_NEVER (INT64_MAX / 4)

#define START_WAITS 200
#define START_WAIT_NSEC 500000

/* All files count as at rest for long. Set by tests, which include this file.
 */
static bool assume_stable;

static struct timestamp now_by_coarse_clock(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME_COARSE, &now);
	return (struct timestamp){.sec = now.tv_sec,
				  .nsec = (uint32_t)now.tv_nsec};
}

struct timestamp take_start_time(struct timestamp since)
{
	struct timespec pause = {.tv_nsec = START_WAIT_NSEC};
	struct timestamp now;
	int waits = 0;

	if (!since.sec && !since.nsec)
		since = timestamp_now();
	/* Bounded, because the clock may be set back during the wait. */
	while (now = now_by_coarse_clock(),
	       timestamp_compare(now, since) <= 0 && waits++ < START_WAITS)
		(void)nanosleep(&pause, NULL);
	return now;
}

/* --- how far what stat says can be trusted --- */

/*
 * Age in seconds from which equal times prove equal contents.
 *
 * A store through a shared mapping into a page that is already dirty changes
 * neither mtime nor ctime; the times change again at the first store after the
 * page was written back, which faults. Contents whose ctime is younger than the
 * kernel's writeback interval may therefore change unnoticed after they were
 * read. They are stored, and the next snapshot reads them again, unless no
 * process had the file open for writing when the read began (fd.h): a later
 * store needs a new mapping, and its first store faults. Nearly all files of a
 * clone or an install are closed, so they are read once.
 *
 * fdatasync(2) or syncfs(2) before the read would arm the fault too, but writes
 * the user's data to disk without a request, and other programs wait for it. On
 * tmpfs a fault changes no time: contents there are never trusted.
 */
static int64_t writeback_seconds(bool is_tmpfs)
{
	int64_t expire, wakeup;

	if (assume_stable)
		return -WRITEBACK_NEVER;
	if (is_tmpfs)
		return WRITEBACK_NEVER;
	expire = fd_read_number("/proc/sys/vm/dirty_expire_centisecs",
				EXPIRE_DEFAULT);
	wakeup = fd_read_number("/proc/sys/vm/dirty_writeback_centisecs",
				WAKEUP_DEFAULT);
	if (wakeup <= 0 || expire < 0)
		return WRITEBACK_NEVER; /* no periodic writeback */
	return (expire + wakeup + 99) / 100 + WRITEBACK_SLACK;
}

static void set_clock_rules(struct walk *w)
{
	unsigned int traits = fstype_of_fd(w->root_fd)->traits, major, minor;
	bool memory = traits & FSTYPE_MEMORY;
	struct utsname u;

	w->local_clock = traits & FSTYPE_KERNEL_TIMES;
	w->trusted_fs = w->local_clock && !(traits & FSTYPE_OVERLAY);
	/* Since 6.13 the kernel has timestamps finer than the clock's tick
	 * (multigrain). */
	w->slack_nsec =
		w->trusted_fs && uname(&u) == 0 &&
				sscanf(u.release, "%u.%u", &major, &minor) ==
					2 &&
				(major > 6 || (major == 6 && minor >= 13))
			? SLACK_FINE_NSEC
			: SLACK_COARSE_NSEC;
	w->writeback_sec = writeback_seconds(memory);
	w->mmap_updates_times = w->trusted_fs && !memory;
}

bool take_mmap_updates_times(int root_fd)
{
	struct walk w = {.root_fd = root_fd};

	set_clock_rules(&w);
	return w.mmap_updates_times;
}

struct timestamp take_unmodified_before(int root_fd, struct timestamp start)
{
	struct walk w = {.root_fd = root_fd};

	set_clock_rules(&w);
	if (assume_stable)
		return start;
	if (!w.mmap_updates_times)
		return (struct timestamp){0};
	start.sec -= w.writeback_sec;
	return start.sec > 0 ? start : (struct timestamp){0};
}

/* --- the stat cache --- */

static int make_cache_key(struct store *store, const struct take_options *o,
			  const struct meta *root, struct cache_key *ret,
			  struct err *err)
{
	AUTO(buf) struct buf format = {0}, path = {0};
	size_t i;

	/* The excludes belong to the key: other excludes give another tree. */
	buf_add_text(&path, o->root_path);
	for (i = 0; o->excludes && o->excludes[i]; i++)
		buf_printf(&path, "\n%s", o->excludes[i]);
	if (fd_slurp_at(store_root_fd(store), "FORMAT", 65536, &format, err) <
	    0)
		return -err->num;
	*ret = (struct cache_key){
		.store = store_hash_text(buf_text(&format)),
		.path = store_hash_text(buf_text(&path)),
		.dev = root->dev,
		.ino = root->ino,
	};
	return 0;
}

/*
 * Whether all objects that the cache refers to are in the store: the snapshot
 * that it was made with is there, or another one with the same root tree.
 */
static bool is_cached_root_stored(struct store *store,
				  const struct statcache *c,
				  const struct snapshot *parent)
{
	const struct cache_dir *root = statcache_dir(c, statcache_root(c));
	AUTO(snapshot) struct snapshot s = {0};
	struct err ignored;

	if (!root)
		return false;
	if (parent->seq && oid_equal(&parent->root.content, &root->tree))
		return true;
	return catalog_load(store, statcache_seq(c), &s, &ignored) == 0 &&
	       oid_equal(&s.root.content, &root->tree);
}

/* --- one snapshot --- */

static int compare_note_paths(const void *a, const void *b)
{
	const struct note *p = a, *q = b;
	int order = path_compare(p->path, q->path);

	return order ? order : (int)p->kind - (int)q->kind;
}

static int set_skipped_paths(struct walk *w, const struct take_options *o,
			     struct err *err)
{
	VEC(const char *) paths = {0};
	size_t i;
	int got = 0;

	for (i = 0; o->skip && o->skip[i] && got == 0; i++) {
		if (!path_below(o->skip[i], o->root_path))
			continue;
		*VEC_ADD(&paths) = path_rest(o->skip[i], o->root_path);
		if (!*paths.items[paths.count - 1])
			got = fail(
				err, EINVAL,
				"%s cannot be excluded from its own snapshot",
				text_quote(o->root_path));
	}
	*VEC_ADD(&paths) = NULL;
	w->skip = pathset_make(paths.items);
	VEC_FREE(&paths);
	return got;
}

static char *text_or_empty(const char *text)
{
	return mem_strdup(text ? text : "");
}

static void fill_snapshot(struct walk *w, const struct take_options *o,
			  struct snapshot *s)
{
	size_t i;

	s->uid = geteuid();
	s->reason = text_or_empty(o->reason);
	s->run_id = text_or_empty(o->run_id);
	s->command = text_or_empty(o->command);
	s->message = text_or_empty(o->message);
	s->root_path = mem_strdup(o->root_path);
	s->tags = snapshot_copy_texts(o->tags);
	s->excludes = snapshot_copy_texts(o->excludes);
	s->root_dev = w->dev;
	s->files = atomic_load(&w->files);
	s->dirs = atomic_load(&w->dirs);
	s->bytes = atomic_load(&w->bytes);
	if (o->stats)
		*o->stats = (struct take_stats){
			.read_files = atomic_load(&w->read_files),
			.read_bytes = atomic_load(&w->read_bytes),
			.listed = atomic_load(&w->listed),
			.encoded = atomic_load(&w->encoded),
			.cache_used = w->cache != NULL,
		};
	/* The snapshot's notes are sorted and without duplicates. */
	VEC_SORT(&w->notes, compare_note_paths);
	for (i = 0; i < w->notes.count; i++) {
		struct note *n = &w->notes.items[i];

		if (s->note_count &&
		    compare_note_paths(&s->notes[s->note_count - 1], n) == 0) {
			free(n->path);
			free(n->text);
			continue;
		}
		GROW(s->notes, s->note_count, s->note_capacity);
		s->notes[s->note_count++] = *n;
	}
	w->notes.count = 0;
	if (o->progress)
		o->progress(o->progress_arg, s->files, s->bytes);
}

static int walk_and_commit(struct walk *w, const struct take_options *o,
			   const struct cache_key *key, struct snapshot *s,
			   struct err *err)
{
	struct cache_item root;
	struct err ignored;
	bool changed;
	int amended = 0;

	if (walk_run(w, err) < 0)
		return err_context(err, "snapshot of %s",
				   text_quote(o->root_path));
	walk_run_root(w, &s->root, &root, &changed);
	if (w->cache && statcache_failed(w->cache))
		return fail(err, ESTALE, "the stat cache cannot be read");
	fill_snapshot(w, o, s);
	if (o->amend)
		amended = o->amend(o->amend_arg, w->store, s, err);
	if (amended < 0 || o->look)
		return amended < 0 ? amended : 0;
	if (catalog_add_with(w->store, s, o->with, o->with_arg, err) < 0)
		return -err->num;
	/* A failed write is ignored: without a cache the next snapshot is
	 * slower, and not wrong. */
	if (o->cache_path && !w->options->only && (changed || !w->cache) &&
	    root.dir && !amended)
		(void)cache_builder_save(w->builder, o->cache_path, key, s->seq,
					 &root, &ignored);
	if (w->chunk_mac_cache)
		(void)chunk_mac_cache_save(w->chunk_mac_cache, &ignored);
	return 0;
}

int take_snapshot(struct store *store, const struct take_options *options,
		  struct snapshot *ret, struct err *err)
{
	AUTO(snapshot) struct snapshot s = {.time = timestamp_now()};
	AUTO(snapshot) struct snapshot parent = {0};
	AUTO(chunk_mac_cache) struct chunk_mac_cache *chunk_mac_cache = NULL;
	struct statcache *cache = NULL;
	struct cache_key key;
	struct meta root;
	auto_close int fd =
		options->root_fd >= 0
			? openat(options->root_fd, ".",
				 O_RDONLY | O_DIRECTORY | O_CLOEXEC)
			: open(options->root_path,
			       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct walk w = {
		.options = options,
		.store = store,
		.root_fd = fd,
		.uid = geteuid(),
		.gid = getegid(),
	};
	int got;

	if (fd < 0 || meta_get(fd, "", &root) < 0)
		return fail_errno(err, "open %s",
				  text_quote(options->root_path));
	w.start = now_by_coarse_clock();
	if (make_cache_key(store, options, &root, &key, err) < 0 ||
	    changed_paths_find_newest(store, options->root_path, &parent, err) <
		    0)
		return -err->num;
	s.parent = parent.seq;
	w.dev = root.dev;
	set_clock_rules(&w);
	w.only = pathset_make(options->only);
	if (options->cache_path)
		cache = statcache_open(options->cache_path, &key);
	if (options->cache_path && !options->only) {
		auto_free char *path =
			mem_printf("%s-marks", options->cache_path);

		chunk_mac_cache = w.chunk_mac_cache = chunk_mac_cache_new(path);
	}
	if (cache && !is_cached_root_stored(store, cache, &parent))
		statcache_free(&cache);
	w.cache = cache;
	got = set_skipped_paths(&w, options, err);
	if (got == 0)
		got = walk_and_commit(&w, options, &key, &s, err);
	walk_run_done(&w);
	if (got == -ESTALE && cache && statcache_failed(cache)) {
		struct take_options plain = *options;

		plain.cache_path = NULL;
		statcache_free(&cache);
		return take_snapshot(store, &plain, ret, err);
	}
	statcache_free(&cache);
	if (got < 0)
		return got;
	*ret = TAKE(s);
	return 0;
}

int take_entry(struct store *store, int dirfd, const char *name,
	       const char *private_xattrs, struct entry *ret, struct err *err)
{
	AUTO(stable_read) struct stable_read r = {0};

	if (stable_read_entry(store, dirfd, name, private_xattrs, NULL, &r,
			      err) < 0)
		return -err->num;
	if (r.unstable)
		return fail(err, EBUSY, "%s changed while it was read",
			    text_quote(name));
	if (!r.meta.mode || r.incomplete)
		return fail(err, EACCES, "%s cannot be read (%s)",
			    text_quote(name), r.why);
	stable_read_make_entry(&r, name, ret);
	return 0;
}
