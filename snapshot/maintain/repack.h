/*
 * Writes objects of packs that are to go into new packs, under the names they
 * have: records that stay whole are copied as they are, the rest of a block is
 * packed anew. Every byte is compared with its hash on the way.
 */
#ifndef GUARD_SNAPSHOT_MAINTAIN_REPACK_H
#define GUARD_SNAPSHOT_MAINTAIN_REPACK_H

#include "snapshot/store/inventory.h"

/*
 * Copies from each of the packs (numbers in the inventory) the objects for
 * which wanted() says so, and publishes the new packs: durable when this
 * returns 0. -EBADMSG: one of them is damaged; nothing was published then.
 * *ret_bytes: what was written.
 */
int repack(struct store *s, struct inventory *inv, const size_t *packs,
	   size_t count,
	   bool (*wanted)(void *arg, const struct oid *id,
			  const struct copy *copy),
	   void *arg, uint64_t *ret_bytes, struct err *err);

#endif
