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
 * trash_put().
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

/*
 * Moves snapshots and packs to a new directory of the trash, named after word
 * and now, and adds the tombstones of the snapshots; durable on return. Called
 * with the commit lock and exclusive use of the store. Without snapshots and
 * packs nothing is changed.
 */
int trash_put(struct store *s, int trash_fd, const char *word,
	      struct timestamp now, const uint64_t *seqs, size_t count,
	      const struct names *packs, struct err *err);

/* Deletes files that have been in the trash for more than max_age seconds; -1:
 * all. */
int trash_purge(int trash_fd, int64_t max_age, struct timestamp now,
		struct err *err);

/* A snapshot in the trash. */
struct trash_item {
	struct snapshot snapshot; /* notes left out */
	struct timestamp since;
};

struct trash_list {
	struct trash_item *items; /* sorted by number */
	size_t count, capacity;
};

/* Lists the snapshots in the trash; *ret is the caller's to free. Needs no
 * lock. Unreadable snapshots are left out. */
int trash_snapshots(struct store *s, struct trash_list *ret, struct err *err);
void trash_list_free(struct trash_list *list);

/*
 * Brings snapshots back with all packs that they need, durably. No file is
 * moved unless all of them can be restored completely. -ENOENT: a snapshot is
 * not in the trash; -EBADMSG: an object is lost; -EEXIST: objects collide with
 * others in the store; -EBUSY: see trash_open().
 */
int trash_undelete(struct store *s, const uint64_t *seqs, size_t count,
		   struct err *err);

#endif
