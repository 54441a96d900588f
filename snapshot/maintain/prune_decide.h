/*
 * The decision of a prune: the snapshots to remove, the objects that the
 * remaining snapshots need, and the fate of each pack. Changes nothing. Private
 * to prune.c.
 */
#ifndef GUARD_SNAPSHOT_MAINTAIN_PRUNE_DECIDE_H
#define GUARD_SNAPSHOT_MAINTAIN_PRUNE_DECIDE_H

#include "snapshot/maintain/prune.h"
#include "snapshot/store/inventory.h"
#include "snapshot/store/known_missing.h"

enum prune_fate { PRUNE_KEEP, PRUNE_DROP, PRUNE_REPACK };

/* Initialized with zeros. */
struct prune_decision {
	const struct prune_options *options; /* borrowed */
	struct prune_plan plan;
	struct inventory inv;
	struct known_missing_list lost; /* paths that are known to be lost */
	enum prune_fate *fates; /* for each pack of inv */
	uint64_t *needed; /* needed bytes of each pack */
};

/* Frees the content and empties *d. */
void prune_decide_free(struct prune_decision *d);

/* Fills *d; frees its previous content first. limit: only snapshots that this
 * plan removes may be removed; NULL: any. -EBADMSG: an object or snapshot that
 * has to stay is damaged or missing. */
int prune_decide(struct store *s, const struct prune_options *o,
		 const struct prune_plan *limit, struct prune_decision *d,
		 struct err *err);

/*
 * Whether this copy of an object is the one to keep: 1 or 0. Of several copies
 * one is kept: the first (newest) readable one. -EBADMSG: no copy can be read.
 */
int prune_decide_chosen(struct inventory *inv, const struct oid *id,
			const struct copy *copy, struct err *err);

#endif
