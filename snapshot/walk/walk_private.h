/*
 * The walk of a snapshot, private to take.c, walk_run.c (threads, the scan of a
 * directory, contents) and walk.c (the state of the walk and of a directory).
 * Two threads process directories depth first, from one stack. Each opens and
 * lists a directory, examines its names and reads contents through a reader of
 * its own. The thread that ends the last part of a directory ends the
 * directory. A directory is encoded only when something in it differs from the
 * stat cache (walk_end_part()).
 *
 * take.c fills the first part of struct walk, calls walk_run(), and after it
 * always walk_run_done(), also on failure.
 */
#ifndef GUARD_SNAPSHOT_WALK_WALK_PRIVATE_H
#define GUARD_SNAPSHOT_WALK_WALK_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/dirtree.h"
#include "base/pathset.h"
#include "base/vec.h"
#include "snapshot/walk/statcache.h"
#include "snapshot/walk/take.h"
#include "snapshot/store/chunk_mac_cache.h"
#include "snapshot/store/ring.h"

struct walk_dir;

struct walk {
	/* Set by take.c. */
	const struct take_options *options;
	struct store *store;
	int root_fd;
	uint64_t dev;
	const struct statcache *cache; /* or NULL */
	struct chunk_mac_cache *chunk_mac_cache; /* for long files, or NULL */
	struct pathset skip; /* paths in the root to leave out */
	struct pathset only; /* of options->only */
	struct timestamp start; /* on the file systems' clock */
	bool trusted_fs; /* the clock and the directories' times are reliable */
	bool mmap_updates_times; /* see take_mmap_updates_times() */
	bool local_clock; /* times are this machine's, exact to the tick */
	int64_t slack_nsec; /* entries younger than start - slack are racy */
	int64_t writeback_sec; /* younger contents may change unnoticed */
	uint32_t uid, gid; /* for options->foreign */

	/* Results. */
	struct cache_builder *builder;
	VEC(struct note) notes; /* not sorted */
	atomic_ullong files, dirs, bytes;
	atomic_ullong read_files, read_bytes, listed, encoded;
	struct walk_dir *root;

	/* State of the threads; the lock is for stack, notes,
	 * builder, err and done. */
	pthread_mutex_t lock;
	pthread_cond_t wake;
	VEC(struct walk_dir *) stack;
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
	bool above_skipped; /* a path of walk.skip lies below it */
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
/* Notes that name in f (or f itself when name is "") cannot be read. Ends the
 * walk for err_is_exhaustion(). */
void walk_add_fault(struct walk *w, struct walk_dir *f, const char *name,
		    int num);
/* Ends the walk. Only the first failure is kept. */
void walk_fail(struct walk *w, const struct err *err);
/* Ends one use of f's descriptor. */
void walk_release_fd(struct walk *w, struct walk_dir *f);

/* Whether the entry changed since the run began (moved_since). */
bool walk_is_moved(const struct walk *w, const struct meta *m);
/* Whether the entry is so young that a later change may leave the same
 * times. */
bool walk_is_racy(const struct walk *w, const struct meta *m);
/* Whether the entry is a file so young that a store through a mapping may leave
 * the same times (take.c: writeback_seconds()). */
bool walk_is_young(const struct walk *w, const struct meta *m);

/* The i-th name of f; valid as long as f and the cache. */
const char *walk_item_name(const struct walk *w, const struct walk_dir *f,
			   size_t i);
/* Records that the directory differs from the cache: creates items for all its
 * names. The first item_count items get the values of the cache. No effect when
 * f has items. */
void walk_make_items(const struct walk *w, struct walk_dir *f,
		     size_t item_count);

/* Fills an item with the values of its entry in the cache. */
void walk_take_cached(const struct walk *w, struct walk_item *it,
		      const struct cache_entry *e);

/* Whether the directory of this path, or of this name in f, is above a wanted
 * path (options->only), and not wanted itself. */
bool walk_is_above_wanted(const struct walk *w, const char *path);
bool walk_is_ancestor(const struct walk *w, const struct walk_dir *f,
		      const char *name);
/* Opens f and fills f->fd and f->meta. 0, or -1: nothing to scan, and a note or
 * failure was recorded. */
int walk_open_dir(struct walk *w, struct walk_dir *f);
/* Lists the open directory, again when it changed during the call. Names to
 * leave out are not in the list. */
void walk_list_names(struct walk *w, struct walk_dir *f);
/*
 * Fills the list of f, which is open and above a wanted path, with the wanted
 * names, without reading the directory: a name in the list need not exist.
 * False: the directory has to be read, because its file system may ignore case
 * and have a name in another spelling. The directories above the wanted paths
 * are flagged as incomplete, so that no reader takes their missing entries for
 * deleted.
 */
bool walk_list_wanted(const struct walk *w, struct walk_dir *f);
/* Ends one part that f waits for (see walk_dir.pending). The last part ends f
 * itself, which is in turn a part of its parent. f may be freed on return. */
void walk_end_part(struct walk *w, struct walk_dir *f);
/* Whether an ended directory is the same as in the cache in all respects, so
 * that its parent need not change. */
bool walk_is_unchanged(const struct walk_dir *f);

/* Frees f and its items, but no directory below it. */
void walk_dir_free(struct walk_dir *f);
/* Frees all directories below f, but not f. */
void walk_dir_free_below(struct walk_dir *f);

/* --- walk_run.c --- */

/* Walks the whole tree and returns when all reads have ended. 0, or the failure
 * of the store or of the root. */
int walk_run(struct walk *w, struct err *err);
/* The root's entry, to free; *ret_item for cache_builder_save(), with strings
 * that are valid until walk_run_done(); and whether the stat cache must be
 * written again. */
void walk_run_root(const struct walk *w, struct entry *ret_entry,
		   struct cache_item *ret_item, bool *ret_changed);
/* Frees all that the walk made, also after a failed walk_run(). */
void walk_run_done(struct walk *w);

#endif
