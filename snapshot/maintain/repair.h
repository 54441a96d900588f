/*
 * Repairs a store as far as possible; never invents bytes.
 *
 *	a damaged or missing FORMAT is written again from the packs' headers
 *	every object of every pack is read
 *	the intact objects of damaged packs are copied into new packs, synced;
 *	  then damaged packs, and snapshots whose file is damaged, go to the
 *	  trash
 *	a damaged copy of the secret is written again from the good one
 *	objects that a snapshot since the damage has stored again under
 *	  another ordinal get their lost name, too (see inventory.h)
 *	for snapshots with lost objects: their directory, if it still exists,
 *	  is stored again without the stat cache; equal bytes get the same
 *	  name, and the object is there again
 *	paths that stay lost are reported and recorded, so that prune can
 *	  continue (see missing.h)
 *
 * A kill at any point loses no intact object; the next repair continues.
 */
#ifndef GUARD_SNAPSHOT_MAINTAIN_REPAIR_H
#define GUARD_SNAPSHOT_MAINTAIN_REPAIR_H

#include "snapshot/tree/catalog.h"

struct repair_result {
	uint64_t packs; /* damaged packs, moved to the trash */
	uint64_t objects; /* intact objects copied from them */
	uint64_t snapshots; /* damaged snapshot files, moved to the trash */
	uint64_t secrets; /* copies of the secret written again */
	uint64_t formats; /* 1: FORMAT was written again */
	uint64_t again; /* objects recovered from replicas */
	uint64_t roots; /* directories stored again */
	uint64_t lost; /* (snapshot, path) pairs that stay lost */
};

struct repair_options {
	struct timestamp now;
	/* Paths to leave out when directories are stored again (guard's state),
	 * or NULL. */
	const char *const *skip;
	/* Called for each failure that does not end the repair; may be NULL. */
	void (*warn)(void *arg, const char *text);
	/* Called for each path that stays lost; may be NULL. A negative result
	 * ends the repair. */
	int (*lost)(void *arg, uint64_t seq, const char *path, const char *why,
		    struct err *err);
	/* See prune_options. */
	void (*busy)(void *arg, const char *who);
	void *arg;
};

/* Repairs the store in directory dir, which this process must not have open. 0
 * also when paths stay lost (see repair_result.lost), or a negative errno.
 * -EBUSY: see trash_open() and trash_exclusive(). */
int repair_store(const char *dir, const struct repair_options *options,
		 struct repair_result *ret, struct err *err);

#endif
