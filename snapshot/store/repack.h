/*
 * Copies objects of packs that will be removed into new packs, under the same
 * names. Records with only wanted objects are copied unchanged; the wanted
 * objects of other blocks are packed into new blocks. Every byte is compared
 * with its hash on the way.
 */
#ifndef GUARD_SNAPSHOT_STORE_REPACK_H
#define GUARD_SNAPSHOT_STORE_REPACK_H

#include "snapshot/store/inventory.h"

/*
 * Copies from each of the packs (numbers in the inventory) the objects for
 * which wanted() returns true, and flushes the store: the new packs are durable
 * when it returns 0. *ret_bytes: their size without the indexes. -EBADMSG: one
 * of the packs is damaged; the packs that were full until then remain, with
 * copies that the next prune removes.
 */
int repack(struct store *s, struct inventory *inv, const size_t *packs,
	   size_t count,
	   bool (*wanted)(void *arg, const struct oid *id,
			  const struct copy *copy),
	   void *arg, uint64_t *ret_bytes, struct err *err);

#endif
