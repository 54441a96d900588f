/*
 * The marks (mark.h) of the chunks of long files, kept beside a workspace's
 * stat cache so that the next snapshot knows them again. A cache like that
 * one: what is damaged or foreign is not used, nothing is synced, and without
 * it bytes are compared. It is secret like the store's own secret.
 *
 *	marks = "GUARDMK1" key:16 *list check:8
 *	list  = hash:16 length:var ordinal:var count:var *mark:16
 *
 * hash, length and ordinal name a chunk list; it has a mark for each of its
 * runs, zeros for a hole. check: XXH3-64 of all before it.
 *
 * Thread-safe. The file is read when it is needed for the first time.
 */
#ifndef GUARD_SNAPSHOT_STORE_CHUNK_MAC_CACHE_H
#define GUARD_SNAPSHOT_STORE_CHUNK_MAC_CACHE_H

#include "snapshot/store/chunk_mac.h"
#include "snapshot/store/store.h"

struct chunk_mac_cache;

struct chunk_mac_cache *chunk_mac_cache_new(const char *path);
void chunk_mac_cache_free(struct chunk_mac_cache **m);

/* The key of all marks in it; valid as long as it lives. */
const unsigned char *chunk_mac_cache_key(struct chunk_mac_cache *m);

/*
 * The marks of the list, CHUNK_MAC_LEN bytes each; NULL when it has none for
 * this many runs. Valid until chunk_mac_cache_free().
 */
const unsigned char *chunk_mac_cache_find(struct chunk_mac_cache *m,
					  const struct oid *list, size_t count);

/* Takes over count marks. What it had of the list `before` (may be NULL), of
 * an older version of the file, is not saved any more. */
void chunk_mac_cache_put(struct chunk_mac_cache *m, const struct oid *list,
			 const struct oid *before, unsigned char *macs,
			 size_t count);

/* Writes and renames, when there is something new. */
int chunk_mac_cache_save(struct chunk_mac_cache *m, struct err *err);

#endif
