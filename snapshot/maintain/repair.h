/*
 * Mends a store as far as it can be mended; never makes bytes up.
 *
 *	a damaged or missing FORMAT is written anew from the packs' headers
 *	every object of every pack is read
 *	packs in which anything is damaged: all that is whole is copied into
 *	  new packs, synced; then they, and snapshots whose file is damaged, go
 *	  to the trash
 *	a damaged copy of the secret is written anew from the good one
 *	what a snapshot since the damage has stored again under another
 *	  ordinal gets its lost name, too (see twins.h)
 *	snapshots that miss something: their folder, where it is still there,
 *	  is stored anew without the stat cache; what has the same bytes gets
 *	  the same name, and is there again
 *	what stays lost is told, and noted, so that prune can go on
 *
 * Killed anywhere: nothing is lost that was not, and the next one goes on.
 */
#ifndef GUARD_SNAPSHOT_MAINTAIN_REPAIR_H
#define GUARD_SNAPSHOT_MAINTAIN_REPAIR_H

#include "snapshot/tree/catalog.h"

struct repair_result {
	uint64_t packs; /* moved to the trash */
	uint64_t objects; /* saved from them */
	uint64_t snapshots; /* moved to the trash: their files are damaged */
	uint64_t secrets; /* written anew */
	uint64_t formats; /* FORMAT, written anew: 1 */
	uint64_t again; /* objects, from what was stored since */
	uint64_t roots; /* folders stored anew */
	uint64_t lost; /* (snapshot, path) that stay lost */
};

struct repair_options {
	struct timestamp now;
	/* Paths that are left out of what is stored (guard's state), or NULL.
	 */
	const char *const *skip;
	/* What goes wrong on the way but ends nothing; may be NULL. */
	void (*warn)(void *arg, const char *text);
	/* Each path that stays lost. */
	int (*lost)(void *arg, uint64_t seq, const char *path, const char *why,
		    struct err *err);
	/* As in prune.h. */
	void (*busy)(void *arg, const char *who);
	void *arg;
};

/* dir: the store's folder; this process must not have it open. 0 or negative.
 */
int repair_store(const char *dir, const struct repair_options *options,
		 struct repair_result *ret, struct err *err);

#endif
