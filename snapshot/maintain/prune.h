/*
 * Frees space: moves snapshots that no rule keeps to the trash, together with
 * the packs that no remaining snapshot needs.
 *
 * Marking is exact: every object that a remaining snapshot refers to is looked
 * up first, and a missing object ends the prune before anything is moved. Packs
 * of which less than half is needed are repacked, that is, written again
 * without the rest. Small packs are merged when there are many. Nothing is
 * deleted until it has been in the trash for seven days (except for
 * prune_options.thorough; nothing with prune_options.keep_trash).
 *
 *	mark; copy needed objects to new packs, sync; mark again
 *	lock exclusive; mark once more if another process added objects
 *	snapshots -> trash/, sync; packs -> trash/, sync
 *	delete trash older than seven days
 *
 * A kill at any point leaves at most duplicate objects, which the next prune
 * removes.
 *
 * Call prune_plan() to show the result, then prune_run() with that plan.
 */
#ifndef GUARD_SNAPSHOT_MAINTAIN_PRUNE_H
#define GUARD_SNAPSHOT_MAINTAIN_PRUNE_H

#include "snapshot/maintain/retain.h"
#include "snapshot/tree/catalog.h"

struct prune_options {
	struct retain_policy policy;
	/* Snapshots with one of these tags stay; NULL-terminated, or NULL. */
	char *const *keep_tags;
	/* Budget in bytes, or 0 for none: the oldest snapshots that no floor
	 * keeps are removed until the objects of the others fit. */
	uint64_t max_size;
	/* Snapshots that are needed for other reasons (undo, runs). */
	const uint64_t *pins;
	size_t pin_count;
	/* Removes every object that no snapshot needs from all packs, and
	 * empties the trash. */
	bool thorough;
	/* Expired trash stays, because the age of files is not believed. */
	bool keep_trash;
	struct timestamp now;
	/* Called with the names of the processes that have the store locked,
	 * before the wait for them; NULL: no wait, -EBUSY. */
	void (*busy)(void *arg, const char *who);
	/* Reports progress: `done` of `total` nouns; noun NULL: bytes. May be
	 * NULL. */
	void (*progress)(void *arg, const char *noun, uint64_t done,
			 uint64_t total);
	void *arg;
};

/* The changes that a prune would make. */
struct prune_plan {
	struct snapshot *snapshots; /* sorted by number, without notes */
	struct retain_item *items; /* one per snapshot; why 0: it is removed */
	size_t count, drop_snapshots;
	uint64_t packs, bytes; /* all packs of the store */
	uint64_t drop_packs, drop_bytes; /* packs without a needed object */
	uint64_t repack_packs, repack_bytes; /* packs to repack */
	uint64_t needed; /* estimate: bytes that remaining snapshots need */
	uint64_t frees; /* estimate: bytes freed once the trash is empty */
};

/* Frees the content and empties *plan. */
void prune_plan_free(struct prune_plan *plan);

/* Computes the plan and changes nothing; the store may be open for reading
 * only. *ret is the caller's to free. -EBADMSG: an object or snapshot that has
 * to stay is damaged or missing. */
int prune_plan(struct store *s, const struct prune_options *options,
	       struct prune_plan *ret, struct err *err);

struct prune_result {
	uint64_t snapshots; /* moved to the trash */
	uint64_t packs, bytes;
	uint64_t written; /* bytes of new packs */
};

/*
 * Prunes. Only snapshots that the plan removes are removed (NULL: no limit).
 * The store must be open for writing; on return this process has it locked
 * exclusively and must only free it. -EBUSY: see trash_open() and
 * trash_exclusive(); -EBADMSG: as for prune_plan().
 */
int prune_run(struct store *s, const struct prune_options *options,
	      const struct prune_plan *plan, struct prune_result *ret,
	      struct err *err);

#endif
