/*
 * What a prune is to do: which snapshots go, what those that stay need, and
 * so what becomes of each pack. Changes nothing. Only for prune.c.
 */
#ifndef GUARD_SNAPSHOT_MAINTAIN_PRUNE_DECIDE_H
#define GUARD_SNAPSHOT_MAINTAIN_PRUNE_DECIDE_H

#include "snapshot/maintain/prune.h"
#include "snapshot/store/inventory.h"
#include "snapshot/store/known_missing.h"

enum prune_fate { PRUNE_KEEP, PRUNE_DROP, PRUNE_REPACK };

/* Starts as zeros. */
struct prune_decision {
	const struct prune_options *options; /* borrowed */
	struct prune_plan plan;
	struct inventory inv;
	struct known_missing_list lost; /* what is known to be */
	enum prune_fate *fates; /* of each pack of inv */
	uint64_t *needed; /* bytes of each that are */
};

void prune_decide_free(struct prune_decision *d);

/* limit: what may go at most, or NULL. What *d held is freed first. */
int prune_decide(struct store *s, const struct prune_options *o,
		 const struct prune_plan *limit, struct prune_decision *d,
		 struct err *err);

/*
 * Of several copies of a name one is needed: the first (newest) that can be
 * read. Whether this copy is the one: 1 or 0; -EBADMSG: none can be read.
 */
int prune_decide_chosen(struct inventory *inv, const struct oid *id,
			const struct copy *copy, struct err *err);

#endif
