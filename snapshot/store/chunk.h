/*
 * Cutting long runs of bytes where their content says so, so that an
 * insertion moves no cut but those next to it (FastCDC: Xia et al., USENIX
 * ATC 2016, with normalized chunking).
 *
 * Chunks have 64 KiB to 1 MiB, about 256 KiB on the average. The table is
 * made from the store's secret: nobody outside can choose bytes whose chunks
 * are all small, or tell from sizes what a store holds.
 */
#ifndef GUARD_SNAPSHOT_STORE_CHUNK_H
#define GUARD_SNAPSHOT_STORE_CHUNK_H

#include <stddef.h>
#include <stdint.h>

#define CHUNK_MIN ((size_t)64 << 10)
#define CHUNK_AVG ((size_t)256 << 10)
#define CHUNK_MAX ((size_t)1 << 20)

struct gear {
	uint64_t table[256];
};

void gear_make(struct gear *gear, const void *secret);

struct store;

/* The table of an open store, valid until store_free(). */
const struct gear *store_gear(const struct store *s);

/*
 * The length of the first chunk. data must hold CHUNK_MAX bytes, or all that
 * is left; then the rest may be one chunk.
 */
size_t chunk_cut(const struct gear *gear, const unsigned char *data,
		 size_t len);

#endif
