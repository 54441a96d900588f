/*
 * The authentication tags (chunk_mac.h) of the chunks of long files, kept
 * beside a workspace's stat cache for the next snapshot. The file is a cache: a
 * damaged or foreign file is ignored, nothing is synced, and without it bytes
 * are compared. It is secret like the store's own secret.
 *
 *	marks = "GUARDMK1" key:16 *list check:8
 *	list  = hash:16 length:var ordinal:var count:var *mark:16
 *
 * hash, length and ordinal name a chunk list; mark is the tag of one of its
 * runs, zeros for a hole. check: XXH3-64 of all bytes before it.
 *
 * Thread-safe. The file is read at the first use.
 */
#ifndef GUARD_SNAPSHOT_STORE_CHUNK_MAC_CACHE_H
#define GUARD_SNAPSHOT_STORE_CHUNK_MAC_CACHE_H

#include "snapshot/store/chunk_mac.h"
#include "snapshot/store/store.h"

struct chunk_mac_cache;

/* Makes a cache for the file at path, which may be missing. Never fails. */
struct chunk_mac_cache *chunk_mac_cache_new(const char *path);
void chunk_mac_cache_free(struct chunk_mac_cache **m);

/* The key of all tags in the cache, valid until chunk_mac_cache_free(). */
const unsigned char *chunk_mac_cache_key(struct chunk_mac_cache *m);

/* The tags of the list, CHUNK_MAC_LEN bytes each; NULL when the cache has none
 * for this number of runs. Valid until chunk_mac_cache_free(). */
const unsigned char *chunk_mac_cache_find(struct chunk_mac_cache *m,
					  const struct oid *list, size_t count);

/* Adds `count` tags, which the cache owns from now on. The tags of the list
 * `before` (may be NULL), of an older version of the file, are not saved again.
 */
void chunk_mac_cache_put(struct chunk_mac_cache *m, const struct oid *list,
			 const struct oid *before, unsigned char *macs,
			 size_t count);

/* Writes the file through a rename when the cache has changed. */
int chunk_mac_cache_save(struct chunk_mac_cache *m, struct err *err);

#endif
