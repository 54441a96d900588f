/*
 * The walk of a snapshot: two threads go through a folder, depth first, from
 * one stack of folders; each reads contents through a reader of its own
 * (ring.h). A folder is finished by whoever ends its last part; it is encoded
 * only when something in it is not as in the stat cache.
 *
 * take.c fills the first part, walk_run() the second; walk_done() frees what
 * the walk made.
 */
#ifndef GUARD_SNAPSHOT_WALKER_H
#define GUARD_SNAPSHOT_WALKER_H

#include <pthread.h>
#include <stdatomic.h>

#include "snapshot/catalog.h"
#include "snapshot/statcache.h"
#include "snapshot/take.h"

#define SKIP_MAX 64

struct folder;

struct walk {
	/* Given. */
	struct store *store;
	int root_fd;
	uint64_t dev;
	const struct statcache *cache; /* or NULL */
	char *skips[SKIP_MAX]; /* paths in the root that are left out */
	size_t skip_count;
	struct moment moved_since;
	struct moment start; /* by the file systems' clock */
	bool trusted_fs; /* its clock and its folders' times are known */
	int64_t slack_nsec; /* what is younger than start - slack is racy */
	int64_t settle_sec; /* contents younger than this may change unseen */
	bool plain;
	void (*progress)(void *arg, uint64_t files, uint64_t bytes);
	void *progress_arg;

	/* Made. */
	struct cache_builder *builder;
	struct note *notes; /* not sorted */
	size_t note_count, note_room;
	atomic_ullong files, folders, bytes;
	atomic_ullong read_files, read_bytes, listed, encoded;
	struct folder *root;

	/* The threads' own. */
	pthread_mutex_t lock; /* stack, notes, builder, err, done */
	pthread_cond_t wake;
	struct folder **stack;
	size_t stack_count, stack_room;
	bool done;
	atomic_bool failed;
	struct err err;
	atomic_int open_fds;
	int fd_limit;
};

/* The walk itself. What it returns is the store's failure, or the root's. */
int walk_run(struct walk *w, struct err *err);

/* The root's entry as found, and whether the stat cache must be written anew.
 * item is what cache_builder_save() wants; its strings live until
 * walk_done(). */
void walk_root(const struct walk *w, struct entry *ret_entry,
	       struct cache_item *ret_item, bool *ret_changed);

void walk_done(struct walk *w);

#endif
