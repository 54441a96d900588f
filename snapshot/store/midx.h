/*
 * The index over many packs (`midx`): which of them may have an object of a
 * certain hash, so that neither opening a store nor looking for an object
 * costs something for each of them. A cache: where it is missing, damaged or
 * of a newer guard every pack is asked, and the next writer makes it anew.
 *
 *	midx   = header *name *start *number
 *	header = "GUARDMX1" version:2 0:2 names:4 starts:8 uuid:16
 *	         body-check:8 0:8 check:8                       ; 64 bytes
 *	name   = 32 bytes: of a pack, ascending
 *	start  = first 8 bytes of a hash, ascending
 *	number = of the pack that has an object of such a hash:4, in the order
 *	         of the starts, equal starts by number
 *
 * body-check: of all behind the header. It says nothing of where an object
 * lies: that is for the pack's own index, so it stays true as long as packs
 * never change, and one that is in no folder any more does no harm.
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

/*
 * Opens name in dirfd; it must be of the store `uuid`. Its body is not read
 * (but for the names): ask midx_is_intact(). -ENOENT, -EBADMSG: not one of this
 * store; -EPROTO: of a newer guard.
 */
int midx_open(int dirfd, const char *name, const unsigned char *uuid,
	      struct midx **ret, struct err *err);
void midx_free(struct midx **m);

/* Reads all of it. */
bool midx_is_intact(const struct midx *m);

size_t midx_count(const struct midx *m); /* of packs */
/* Terminated; it lives as long as m. */
const char *midx_name(const struct midx *m, size_t pack);
/* The pack's number, or midx_count(). */
size_t midx_number(const struct midx *m, const char *name);

/* The entries of hashes that begin like this one, [*first, *end); false: none.
 * Thread-safe, like all that follows. */
bool midx_find(const struct midx *m, const unsigned char *hash, size_t *first,
	       size_t *end);
/* The pack of an entry; midx_count(): damaged. */
size_t midx_pack(const struct midx *m, size_t entry);

/* --- making one --- */

struct midx_entry {
	uint64_t start; /* of the hash, as a big-endian number */
	uint32_t pack; /* in `names` */
};

uint64_t midx_start(const unsigned char *hash);

/*
 * The bytes of one: names (sorted, `count`), entries of packs that are not in
 * old (in any order; they are sorted) and those of old (may be NULL), whose
 * pack i is now number[i], or not there any more: UINT32_MAX.
 */
void midx_make(const unsigned char *uuid, char *const *names, size_t count,
	       struct midx_entry *entries, size_t entry_count,
	       const struct midx *old, const uint32_t *number, struct buf *to);

#endif
