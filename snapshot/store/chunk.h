/*
 * Content-defined chunking: long runs of bytes are cut where their content says
 * so, and an insertion moves only the cuts next to it (FastCDC: Xia et al.,
 * USENIX ATC 2016, with normalized chunking).
 *
 * Chunks have 64 KiB to 1 MiB, about 256 KiB on average. The table is made from
 * the store's secret: an attacker can neither choose bytes whose chunks are all
 * small nor tell from sizes what a store holds.
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

/* Fills the table from the SECRET_LEN bytes of a store's secret. */
void gear_make(struct gear *gear, const void *secret);

struct store;

/* The table of an open store, valid until store_free(). */
const struct gear *store_gear(const struct store *s);

/* The length of the first chunk of data. data must hold CHUNK_MAX bytes or the
 * rest of the file; the rest may be one chunk. */
size_t chunk_cut(const struct gear *gear, const unsigned char *data,
		 size_t len);

#endif
