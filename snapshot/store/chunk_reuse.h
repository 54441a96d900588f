/*
 * Reuse of the chunks of a long file's previous version. Chunks are identified
 * by their tags (chunk_mac.h), so that only changed ranges are chunked,
 * compared and stored.
 *
 * chunk_reuse_check() reads the file and compares each run of the old list with
 * the bytes at its old offset. A run is reusable when it and the next two runs
 * are unchanged, up to the end of a file of the same length: chunking the whole
 * file would then produce the same run. A cut depends on the bytes before it,
 * and a hole that begins or ends in a changed range cannot reach the run: two
 * chunks without a hole between them contain non-zero bytes. So equal bytes
 * give equal lists, with and without reuse.
 */
#ifndef GUARD_SNAPSHOT_STORE_CHUNK_REUSE_H
#define GUARD_SNAPSHOT_STORE_CHUNK_REUSE_H

#include "snapshot/store/chunklist.h"
#include "snapshot/store/chunk_mac_cache.h"

struct chunk_reuse {
	struct chunk_mac_cache *chunk_mac_cache;
	struct chunklist list; /* list of the previous version, may be empty */
	const unsigned char *macs; /* CHUNK_MAC_LEN bytes a run, owned by the
				      cache */
	uint64_t *starts; /* offsets of the runs */
	bool *reusable;
	size_t *order; /* indexes of the runs, sorted by tag */
};

/* before: the list of the previous version, may be NULL. Without tags for it
 * nothing is reused. */
struct chunk_reuse *chunk_reuse_new(struct store *s,
				    struct chunk_mac_cache *chunk_mac_cache,
				    const struct oid *before);
void chunk_reuse_free(struct chunk_reuse **p);

/* cached: most of the file is in the page cache. Returns 0, or a negative errno
 * when the file cannot be read. */
int chunk_reuse_check(struct chunk_reuse *p, int fd, uint64_t size, bool cached,
		      struct err *err);

/* The reusable chunk that begins at pos; list.count when there is none. */
size_t chunk_reuse_at(const struct chunk_reuse *p, uint64_t pos);

/* The chunk with this tag and length, or NULL. Thread-safe. */
const struct chunk_run *
chunk_reuse_find(const struct chunk_reuse *p,
		 const unsigned char mark[CHUNK_MAC_LEN], uint64_t len);

#endif
