/*
 * The store's trash: what prune and repair took away, to be brought back for
 * some days.
 *
 *	trash/<unix time>-<word>[-<n>]/		*.gpk *.gsn
 *
 * Things go in and out by rename only. A snapshot's file leaves before the
 * packs that only it needs, and comes back after them, each step synced, so
 * whoever is killed in between leaves a whole store.
 */
#ifndef GUARD_SNAPSHOT_MAINTAIN_TRASH_H
#define GUARD_SNAPSHOT_MAINTAIN_TRASH_H

#include "snapshot/tree/catalog.h"

/* How long things stay there. */
#define TRASH_SECONDS ((int64_t)7 * 24 * 3600)

/* The folder, locked by this process until it is closed: one at a time moves
 * things in and out. -EBUSY: another one does. */
int trash_open(struct store *s, struct err *err);

/*
 * Makes this process the only one that has the store open for writing, until
 * store_free(). Others are waited for; busy() is told once who they are
 * ("process 12 (guard)"), NULL: -EBUSY instead. What was read of the store
 * before may be old when this returns.
 */
int trash_exclusive(struct store *s, void (*busy)(void *arg, const char *who),
		    void *arg, struct err *err);

/* A new folder in the trash; its descriptor. */
int trash_make(int trash_fd, const char *word, struct timestamp now,
	       struct err *err);
/* Renames names from one folder of the store into another; both are durable
 * when it returns. Under the commit lock. */
int trash_move(int from_fd, int to_fd, char *const *names, size_t count,
	       struct err *err);

/* Deletes what lies there for longer than max_age seconds. */
int trash_purge(int trash_fd, int64_t max_age, struct timestamp now,
		struct err *err);

/* A snapshot in the trash. */
struct trash_item {
	struct snapshot snapshot; /* notes left out */
	struct timestamp since;
	char *store_dir; /* in trash/ */
};

struct trash_list {
	struct trash_item *items; /* by number */
	size_t count, capacity;
};

/* Needs no lock. One that cannot be read is left out. */
int trash_snapshots(struct store *s, struct trash_list *ret, struct err *err);
void trash_list_free(struct trash_list *list);

/* The folders in it that are ours, the oldest first: opened, to be closed. */
int trash_open_dirs(int trash_fd, int **ret, size_t *ret_count,
		    struct err *err);

#endif
