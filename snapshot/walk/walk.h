/*
 * The walk of a snapshot: the state that its modules share. Two threads process
 * directories depth first, from one stack (walk_run()). Each opens and lists a
 * directory (walk_list), examines its names (walk_scan) and reads contents
 * through a reader of its own (walk_read). The thread that ends the last part
 * of a directory ends the directory. A directory is encoded only when something
 * in it differs from the stat cache (walk_end_part()).
 *
 * take.c fills the first part of struct walk, calls walk_run(), and after it
 * always walk_run_done(), also on failure.
 */
#ifndef GUARD_SNAPSHOT_WALK_WALK_H
#define GUARD_SNAPSHOT_WALK_WALK_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/dirtree.h"
#include "snapshot/walk/gid_summary.h"
#include "snapshot/walk/statcache.h"
#include "snapshot/store/ingest_hint.h"
#include "snapshot/store/chunk_mac_cache.h"
#include "snapshot/store/ring.h"
#include "snapshot/tree/catalog.h"

#define SKIP_MAX 64

struct walk_dir;

struct walk {
	/* Set by take.c. */
	struct store *store;
	int root_fd;
	uint64_t dev;
	const struct statcache *cache; /* or NULL */
	struct chunk_mac_cache *chunk_mac_cache; /* for long files, or NULL */
	char *skips[SKIP_MAX]; /* paths in the root to leave out */
	size_t skip_count;
	/* prefix of names in the root to leave out, or NULL */
	const char *skip_prefix;
	/* sorted paths in the root; NULL: everything */
	const char *const *only;
	size_t only_count;
	const char *const *excludes; /* globs, or NULL */
	const struct ingest_hint *hints; /* sorted */
	size_t hint_count;
	struct timestamp moved_since;
	struct timestamp start; /* on the file systems' clock */
	bool trusted_fs; /* the clock and the directories' times are reliable */
	bool mmap_updates_times; /* see take_mmap_updates_times() */
	bool local_clock; /* times are this machine's, exact to the tick */
	int64_t slack_nsec; /* entries younger than start - slack are racy */
	int64_t writeback_sec; /* younger contents may change unnoticed */
	bool plain;
	void (*progress)(void *arg, uint64_t files, uint64_t bytes);
	void *progress_arg;
	/* for entries that uid may write; or NULL */
	struct gid_summary *gid_summary;
	uint32_t uid;

	/* Results. */
	struct cache_builder *builder;
	struct note *notes; /* not sorted */
	size_t note_count, note_capacity;
	atomic_ullong files, dirs, bytes;
	atomic_ullong read_files, read_bytes, listed, encoded;
	struct walk_dir *root;

	/* State of the threads; the lock is for stack, notes, gid_summary,
	 * builder, err and done. */
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct walk_dir **stack;
	size_t stack_count, stack_capacity;
	bool done;
	atomic_bool failed;
	struct err err;
	atomic_int open_fds;
	int fd_limit;
};

/* A name of a directory, with its values after the scan. */
struct walk_item {
	const char *name; /* points into the list or the cache */
	struct meta meta;
	struct oid content, attrs;
	char *link;
	uint64_t size;
	struct walk_dir *child;
	bool absent; /* not in the tree: vanished, or stat failed */
	bool incomplete;
	bool untrusted; /* the next snapshot reads it again */
};

/*
 * A directory in the walk. Lives until its parent is finished: its name may
 * point into the parent's list, and the parent collects its results.
 *
 * pending counts the parts that must end before the directory can: its own
 * scan, its subdirectories, pending reads. fd_users counts the users of fd: its
 * own scan, subdirectories that are not open yet, pending reads.
 */
struct walk_dir {
	struct walk_dir *parent, *children, *next;
	const char *name;
	size_t index; /* in the parent's items */
	int fd; /* -1: closed; entries are opened by path then */
	bool closed_early;
	atomic_int pending, fd_users;
	struct meta meta;
	const struct cache_entry *old; /* the same name in the cache, or NULL */
	const struct cache_dir *record; /* directory record of old, or NULL */
	const struct cache_entry *entries;
	size_t entry_count;
	bool same; /* stat of the directory itself is as in the cache */
	bool absent, incomplete, untrusted;
	struct dirlist list;
	bool listed; /* names come from list, not from the cache */
	size_t count; /* number of names */
	struct walk_item *items; /* NULL: all names are as in the cache */
	struct oid tree, attrs;
	uint32_t number; /* number in the builder; valid if items is set */
	bool ancestor_only; /* only a part of it is wanted (walk.only) */
	uint64_t skips; /* bit i: walk.skips[i] lies below it */
	size_t path_len; /* length of its path; valid if skips is not 0 */
};

/* State of one thread. */
struct walk_worker {
	struct walk *walk;
	struct reader *reader;
	bool is_caller;
};

/* The path of name in f, or of f itself when name is "", to free. */
char *walk_path(const struct walk_dir *f, const char *name);
/* Adds a note about name in f, or about f itself when name is "". */
void walk_add_note(struct walk *w, enum note_kind kind,
		   const struct walk_dir *f, const char *name,
		   const char *text);
/* Ends the walk. Only the first failure is kept. */
void walk_fail(struct walk *w, const struct err *err);
/* Adds the group of an entry to w->gid_summary. *last caches the group of the
 * thread's previous call, which is nearly always the same; UINT32_MAX at the
 * start. */
void walk_add_gid(struct walk *w, const struct meta *m, uint32_t *last);
/* Puts a chain of directories (linked by next) on the stack. */
void walk_push_dirs(struct walk *w, struct walk_dir *chain);
/* Ends one use of f's descriptor. */
void walk_release_fd(struct walk *w, struct walk_dir *f);

/* Whether the entry changed since the run began (moved_since). */
bool walk_is_moved(const struct walk *w, const struct meta *m);
/* Whether the entry is so young that a later change may leave the same
 * times. */
bool walk_is_racy(const struct walk *w, const struct meta *m);
/* Whether the entry is too young for the next snapshot to rely on its times. */
bool walk_is_untrusted(const struct walk *w, const struct meta *m);

/* The i-th name of f; valid as long as f and the cache. */
const char *walk_item_name(const struct walk *w, const struct walk_dir *f,
			   size_t i);
/* Records that the directory differs from the cache: creates items for all its
 * names. The first item_count items get the values of the cache. No effect when
 * f has items. */
void walk_make_items(const struct walk *w, struct walk_dir *f,
		     size_t item_count);

/* Frees f and its items, but no directory below it. */
void walk_dir_free(struct walk_dir *f);
/* Frees all directories below f, but not f. */
void walk_dir_free_below(struct walk_dir *f);

#endif
