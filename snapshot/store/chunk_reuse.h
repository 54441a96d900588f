/*
 * What is still in a long file of its version before: chunks that are known
 * by their marks (mark.h), so that only what changed is cut, compared and
 * stored.
 *
 * chunk_reuse_check() reads the file and marks each run of the old list where
 * it was. A run counts as kept when it and the two behind it are as they were,
 * up to the end of a file whose length is the same: then cutting the whole
 * file anew would come to the same run. Its cut depends on the bytes before
 * it, and holes that begin or end in what changed cannot reach it: two chunks
 * without a hole have bytes other than zero between them. So equal bytes give
 * equal lists, with a past and without.
 */
#ifndef GUARD_SNAPSHOT_STORE_CHUNK_REUSE_H
#define GUARD_SNAPSHOT_STORE_CHUNK_REUSE_H

#include "snapshot/store/chunklist.h"
#include "snapshot/store/chunk_mac_cache.h"

struct chunk_reuse {
	struct chunk_mac_cache *chunk_mac_cache;
	struct chunklist list; /* of the version before, may be empty */
	const unsigned char *macs; /* CHUNK_MAC_LEN a run, of marks */
	uint64_t *starts; /* of the runs */
	bool *reusable;
	size_t *order; /* of the runs, by their marks */
};

/* before: the version before; a list without marks is as good as none. */
struct chunk_reuse *chunk_reuse_new(struct store *s,
				    struct chunk_mac_cache *chunk_mac_cache,
				    const struct oid *before);
void chunk_reuse_free(struct chunk_reuse **p);

/* cached: most of it is in memory. -errno: the file cannot be read. */
int chunk_reuse_check(struct chunk_reuse *p, int fd, uint64_t size, bool cached,
		      struct err *err);

/* The kept chunk that begins there, or list.count. */
size_t chunk_reuse_at(const struct chunk_reuse *p, uint64_t pos);

/* The chunk of this mark and length, or NULL. Thread-safe. */
const struct chunk_run *
chunk_reuse_find(const struct chunk_reuse *p,
		 const unsigned char mark[CHUNK_MAC_LEN], uint64_t len);

#endif
