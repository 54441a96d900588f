/*
 * The walk of a snapshot, what its parts share. Two threads go through a
 * folder, depth first, from one stack of folders (walk_run); each opens and
 * lists a folder (crawl_list), looks at what it names (walk_scan) and reads
 * contents through a reader of its own (crawl_read). A folder is ended by
 * whoever ends its last part, and encoded only when something in it is not as
 * in the stat cache (walk_end_part).
 *
 * take.c fills the first part of struct crawl and calls walk_run() and then
 * walk_run_done(), whatever the former said.
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
	/* Given. */
	struct store *store;
	int root_fd;
	uint64_t dev;
	const struct statcache *cache; /* or NULL */
	struct chunk_mac_cache *chunk_mac_cache; /* of long files, or NULL */
	char *skips[SKIP_MAX]; /* paths in the root that are left out */
	size_t skip_count;
	const char *skip_prefix; /* of names in the root, or NULL */
	const char *const *only; /* sorted paths in the root, or NULL: all */
	size_t only_count;
	const char *const *excludes; /* globs, or NULL */
	const struct ingest_hint *hints; /* sorted */
	size_t hint_count;
	struct timestamp moved_since;
	struct timestamp start; /* by the file systems' clock */
	bool trusted_fs; /* its clock and its folders' times are known */
	bool mmap_updates_times; /* take_mmap_updates_times() */
	bool local_clock; /* its times are this machine's, to the tick */
	int64_t slack_nsec; /* what is younger than start - slack is racy */
	int64_t writeback_sec; /* contents younger than this may change unseen
				*/
	bool plain;
	void (*progress)(void *arg, uint64_t files, uint64_t bytes);
	void *progress_arg;
	struct gid_summary *gid_summary; /* groups.h: uid's; or NULL */
	uint32_t uid;

	/* Made. */
	struct cache_builder *builder;
	struct note *notes; /* not sorted */
	size_t note_count, note_capacity;
	atomic_ullong files, dirs, bytes;
	atomic_ullong read_files, read_bytes, listed, encoded;
	struct walk_dir *root;

	/* The threads' own. */
	pthread_mutex_t lock; /* stack, notes, groups, builder, err, done */
	pthread_cond_t wake;
	struct walk_dir **stack;
	size_t stack_count, stack_capacity;
	bool done;
	atomic_bool failed;
	struct err err;
	atomic_int open_fds;
	int fd_limit;
};

/* What a name turned out to be. */
struct walk_item {
	const char *name; /* the list's or the cache's */
	struct meta meta;
	struct oid content, attrs;
	char *link;
	uint64_t size;
	struct walk_dir *child;
	bool absent; /* not in the tree: vanished, or nothing is known of it */
	bool incomplete;
	bool untrusted; /* to be read again next time */
};

/*
 * A folder under way. Lives until its parent is finished, since its name may
 * lie in the parent's list and its results are the parent's to collect.
 *
 * pending: what must end before it can be finished: its own scan, the folders
 * in it, reads under way. fd_users: what still needs fd: its own scan, the
 * folders in it that are not open yet, reads under way.
 */
struct walk_dir {
	struct walk_dir *parent, *children, *next;
	const char *name;
	size_t index; /* in the parent */
	int fd; /* -1: closed; reached by path then */
	bool closed_early;
	atomic_int pending, fd_users;
	struct meta meta;
	const struct cache_entry *old; /* the same name in the cache, NULL */
	const struct cache_dir *record; /* its folder record, NULL */
	const struct cache_entry *entries;
	size_t entry_count;
	bool same; /* as in the cache, by what stat says of itself */
	bool absent, incomplete, untrusted;
	struct dirlist list;
	bool listed; /* names come from list, not from the cache */
	size_t count; /* names */
	struct walk_item *items; /* NULL: all as in the cache */
	struct oid tree, attrs;
	uint32_t number; /* in the builder, when items is set */
	bool ancestor_only; /* only some of what is in it is wanted (crawl.only)
			     */
	uint64_t skips; /* bits of walk.skips that lie below it */
	size_t path_len; /* of its path; counted only while skips */
};

/* One thread's things. */
struct walk_worker {
	struct walk *walk;
	struct reader *reader;
	bool is_caller;
};

/* The path of name in f, of f itself when name is "". To free. */
char *walk_path(const struct walk_dir *f, const char *name);
void walk_add_note(struct walk *w, enum note_kind kind,
		   const struct walk_dir *f, const char *name,
		   const char *text);
/* Ends the walk: the first failure is the one that counts. */
void walk_fail(struct walk *w, const struct err *err);
/* For w->groups. last: the one that this thread saw before, UINT32_MAX at
 * first: nearly always the same again. */
void walk_add_gid(struct walk *w, const struct meta *m, uint32_t *last);
/* Puts a chain (by next) of folders on the stack. */
void walk_push_dirs(struct walk *w, struct walk_dir *chain);
/* One user of f's descriptor less. */
void walk_release_fd(struct walk *w, struct walk_dir *f);

/* Changed since the run began (moved_since). */
bool walk_is_moved(const struct walk *w, const struct meta *m);
/* So young that a later change may have left the same times. */
bool walk_is_racy(const struct walk *w, const struct meta *m);
/* Too young to be believed next time. */
bool walk_is_untrusted(const struct walk *w, const struct meta *m);

const char *walk_item_name(const struct walk *w, const struct walk_dir *f,
			   size_t i);
/* From here on the folder differs from the cache: items for all its names,
 * the first `known` of them as in the cache. */
void walk_make_items(const struct walk *w, struct walk_dir *f, size_t hints);

void walk_dir_free(struct walk_dir *f);
/* All folders below f, not f. */
void walk_dir_free_below(struct walk_dir *f);

#endif
