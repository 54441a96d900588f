/*
 * The store's trash: packs and snapshots that prune and repair removed, which
 * undelete can bring back for some days.
 *
 *	trash/<unix time>-<word>[-<n>]/		*.gpk *.gsn
 *
 * Files go in and out by rename only. A snapshot's file leaves before the packs
 * that only it needs, and comes back after them. Each step is synced, so a kill
 * at any point leaves an intact store.
 *
 * Order of calls to move files in: trash_open(), trash_exclusive(),
 * trash_make(), trash_move().
 */
#ifndef GUARD_SNAPSHOT_MAINTAIN_TRASH_H
#define GUARD_SNAPSHOT_MAINTAIN_TRASH_H

#include "snapshot/tree/catalog.h"

/* Time that files stay in the trash. */
#define TRASH_SECONDS ((int64_t)7 * 24 * 3600)

/* Opens the trash directory and locks it: one process at a time moves files in
 * and out. Returns a descriptor; closing it releases the lock. -EBUSY: another
 * process has the lock. */
int trash_open(struct store *s, struct err *err);

/*
 * Locks the store exclusively until store_free(): no other process has it open
 * for writing or verifies it. Waits for others: busy() is called once with
 * their names ("process 12 (guard)"). busy NULL: no wait, -EBUSY. Facts that
 * were read from the store before the call may be outdated on return.
 */
int trash_exclusive(struct store *s, void (*busy)(void *arg, const char *who),
		    void *arg, struct err *err);

/* Creates a directory in the trash, durably; returns a descriptor or a negative
 * errno. */
int trash_make(int trash_fd, const char *word, struct timestamp now,
	       struct err *err);
/* Renames files from one directory of the store to another; durable on
 * return. The caller has the commit lock. -EEXIST: the target has a file of
 * that name. */
int trash_move(int from_fd, int to_fd, char *const *names, size_t count,
	       struct err *err);

/* Deletes files that have been in the trash for more than max_age seconds; -1:
 * all. */
int trash_purge(int trash_fd, int64_t max_age, struct timestamp now,
		struct err *err);

/* A snapshot in the trash. */
struct trash_item {
	struct snapshot snapshot; /* notes left out */
	struct timestamp since;
	char *dir; /* name of its directory in trash/ */
};

struct trash_list {
	struct trash_item *items; /* sorted by number */
	size_t count, capacity;
};

/* Lists the snapshots in the trash; *ret is the caller's to free. Needs no
 * lock. Unreadable snapshots are left out. */
int trash_snapshots(struct store *s, struct trash_list *ret, struct err *err);
void trash_list_free(struct trash_list *list);

/* Opens the directories of the trash, oldest first. The array is the caller's
 * to free, and its descriptors to close. */
int trash_open_dirs(int trash_fd, int **ret, size_t *ret_count,
		    struct err *err);

#endif
