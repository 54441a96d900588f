/*
 * Makes room: snapshots that no rule keeps go to the trash, with the packs
 * that nothing refers to any more.
 *
 * Marking is exact: every object that a snapshot which stays refers to is
 * looked for first, and one that is missing ends it before anything is moved.
 * Packs of which less than half is needed are written anew without the rest,
 * and small ones together, when there are many.
 * Nothing is ever deleted but what has been in the trash for seven days.
 *
 *	marked; needed objects into new packs, synced; marked again
 *	lock exclusive; marked once more if anybody has added meanwhile
 *	snapshots -> trash/, synced; packs -> trash/, synced
 *	trash older than seven days deleted
 *
 * Killed anywhere: objects twice at most, which the next prune finds.
 */
#ifndef GUARD_SNAPSHOT_MAINTAIN_PRUNE_H
#define GUARD_SNAPSHOT_MAINTAIN_PRUNE_H

#include "snapshot/maintain/retain.h"
#include "snapshot/tree/catalog.h"

struct prune_options {
	struct retain_policy policy;
	/* Snapshots with one of these stay; NULL-terminated, or NULL. */
	char *const *keep_tags;
	/* Not 0: the oldest that no floor keeps go until what the others need
	 * fits in this many bytes. */
	uint64_t max_size;
	/* Snapshots that somebody needs for other reasons (undo, runs). */
	const uint64_t *pins;
	size_t pin_count;
	/* Nothing that no snapshot needs is to be left, in no pack and not in
	 * the trash, which is emptied. */
	bool thorough;
	struct timestamp now;
	/* Who has the store open; NULL: do not wait for them, -EBUSY. */
	void (*busy)(void *arg, const char *who);
	/* Now and then: so many of all, noun NULL: bytes; may be NULL. */
	void (*progress)(void *arg, const char *noun, uint64_t done,
			 uint64_t total);
	void *arg;
};

/* What would be done. */
struct prune_plan {
	struct snapshot *snapshots; /* by number, without notes */
	struct retain_item *items; /* the same; why 0: it goes */
	size_t count, drop_snapshots;
	uint64_t packs, bytes; /* all there are */
	uint64_t drop_packs, drop_bytes; /* nothing in them is needed */
	uint64_t repack_packs, repack_bytes; /* written anew */
	uint64_t needed; /* about: bytes that snapshots which stay need */
	uint64_t frees; /* about: bytes less, once the trash is empty */
};

void prune_plan_free(struct prune_plan *plan);

/* Changes nothing; a store opened for reading will do. -EBADMSG: something
 * that has to stay is damaged or missing. */
int prune_plan(struct store *s, const struct prune_options *options,
	       struct prune_plan *ret, struct err *err);

struct prune_result {
	uint64_t snapshots; /* moved to the trash */
	uint64_t packs, bytes;
	uint64_t written; /* bytes of new packs */
};

/*
 * Does it: no snapshot goes that is not gone in the plan (NULL: no limit). The
 * store is opened for writing; afterwards it is this process's alone and only
 * to be freed. -EBUSY: see trash.h.
 */
int prune_run(struct store *s, const struct prune_options *options,
	      const struct prune_plan *plan, struct prune_result *ret,
	      struct err *err);

#endif
