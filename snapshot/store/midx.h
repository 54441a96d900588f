/*
 * The index over many packs (`midx`): which packs may have an object with a
 * given hash, so that opening a store and looking for an object do not cost
 * time for every pack. The file is a cache: when it is missing, damaged or
 * written by a newer guard, every pack is searched, and the next writer
 * recreates the file.
 *
 *	midx   = header *name *start *number
 *	header = "GUARDMX1" version:2 0:2 names:4 starts:8 uuid:16
 *	         body-check:8 0:8 check:8                       ; 64 bytes
 *	name   = 32 bytes: of a pack, ascending
 *	start  = first 8 bytes of a hash, ascending
 *	number = of the pack that has an object of such a hash:4, in the order
 *	         of the starts, equal starts by number
 *
 * body-check covers all bytes behind the header. The index does not say where
 * in a pack an object lies; that is in the pack's own index. So it stays valid
 * as long as packs never change, and a pack that was removed since does no
 * harm.
 */
#ifndef GUARD_SNAPSHOT_STORE_MIDX_H
#define GUARD_SNAPSHOT_STORE_MIDX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"

#define MIDX_FILE "midx"
#define MIDX_NAME_LEN 32

struct midx;

/* Opens name in dirfd, which must belong to the store `uuid`. Reads only the
 * header and the names; midx_is_intact() checks the rest. -ENOENT: no such
 * file. -EBADMSG: damaged or of another store. -EPROTO: of a newer guard. */
int midx_open(int dirfd, const char *name, const unsigned char *uuid,
	      struct midx **ret, struct err *err);
void midx_free(struct midx **m);

/* Reads and checks the whole index. */
bool midx_is_intact(const struct midx *m);

size_t midx_count(const struct midx *m); /* number of packs */
/* The name of a pack, NUL-terminated, valid as long as m. */
const char *midx_name(const struct midx *m, size_t pack);
/* The number of the pack with this name; midx_count() when there is none. */
size_t midx_number(const struct midx *m, const char *name);

/* The entries of hashes with the same first 8 bytes, [*first, *end); false:
 * none. Thread-safe, like all functions below. */
bool midx_find(const struct midx *m, const unsigned char *hash, size_t *first,
	       size_t *end);
/* The pack of an entry; midx_count(): the index is damaged. */
size_t midx_pack(const struct midx *m, size_t entry);

/* --- making an index --- */

struct midx_entry {
	uint64_t start; /* hash_prefix() of 64 bits */
	uint32_t pack; /* index in `names` */
};

/*
 * Appends the bytes of an index to `to`. names: sorted, `count` of them.
 * entries: of the packs that are not in old, in any order; they are sorted. old
 * (may be NULL): its entries are taken over; its pack i is now number[i], or
 * removed (UINT32_MAX).
 */
void midx_make(const unsigned char *uuid, char *const *names, size_t count,
	       struct midx_entry *entries, size_t entry_count,
	       const struct midx *old, const uint32_t *number, struct buf *to);

#endif
