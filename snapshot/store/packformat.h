/*
 * The bytes of a pack.
 *
 * Numbers are little-endian; a check is XXH3-64 of all bytes before it.
 *
 *	pack    = header *record index footer
 *	header  = "GUARDPK1" version:2 kind:1 hash:1 header-length:4 uuid:16
 *	          created-ns:8 0:16 check:8                     ; 64 bytes
 *	record  = head payload *0                               ; 8-aligned
 *	head    = "GREC" type:1 codec:1 ord:2 plain-length:8 stored-length:8
 *	          hash:16 payload-check:8 count:4 head-check:4  ; 56 bytes
 *	payload = stored-length bytes; as codec says plain-length bytes of
 *	          either one object (type 1-4), or
 *	          *object *line                                 ; type 0x40
 *	line    = hash:16 length:4 ord:2 type:1 flags:1         ; `count` times
 *	index   = fanout:4[256] hash:16[n] meta:24[n]
 *	meta    = record-offset:8 length:4 inner-offset:4 stored-length:4
 *	          ord:2 type:1 flags:1   ; 1 in a block, 2 again; a line: 2 only
 *	footer  = "GUARDPKE" index-offset:8 n:4 0:4 index-check:8
 *	          plain-bytes:8 0:16 check:8                    ; 64 bytes
 *
 * fanout[b] counts the hashes whose first byte is <= b. Hashes are sorted by
 * bytes, equal hashes by type and ord. `again` is set on an object that was
 * stored while an object of the same hash and a lower ord could not be read and
 * may have had the same bytes. The objects of a block follow each other without
 * gaps, in the order of the lines.
 */
#ifndef GUARD_SNAPSHOT_STORE_PACKFORMAT_H
#define GUARD_SNAPSHOT_STORE_PACKFORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/codec.h"
#include "base/err.h"
#include "base/mem.h"
#include "snapshot/store/hash.h"
#include "snapshot/store/store.h"

#define PACK_UUID_LEN 16
#define OBJECT_LEN_MAX ((uint64_t)1 << 30)
#define BLOCK_TABLE_ENTRY 24 /* bytes an object in a block's table */
#define BLOCK_OBJECTS_MAX (1u << 20)
#define BLOCK_LEN_MAX (64u << 20) /* objects and table; readers refuse more */

enum pack_kind {
	PACK_DATA = 0,
	PACK_META = 1, /* trees, chunk lists, attribute sets */
	PACK_KINDS = 2,
};

/*
 * The size from which a block is full. Data: large blocks are smaller and
 * faster than single objects. Trees: a lookup of one path unpacks a block for
 * each directory on the path, which costs more than large blocks would save: a
 * hundredth of a pack that is a hundredth of the store.
 */
static inline size_t block_full(enum pack_kind kind)
{
	return (size_t)(kind == PACK_DATA ? 256 : 32) << 10;
}

enum pack_codec { CODEC_RAW = 0, CODEC_ZSTD = 1 };

/* Type of a record that is a block; other types are those of enum object_type.
 */
#define RECORD_BLOCK 0x40

/* Identity of a store, in FORMAT and in every pack. */
struct format {
	unsigned char uuid[PACK_UUID_LEN];
	enum hash_kind hash;
	bool has_tombstones; /* FORMAT only: see maintain/missing.h */
};

/* The head of a record. */
struct record_head {
	uint8_t type, codec;
	uint16_t ord; /* ordinal of a single object */
	uint32_t count; /* number of objects; 1 for a single object */
	uint64_t plain_len, stored_len;
	unsigned char hash[HASH_LEN]; /* hash of a single object, else zeros */
	uint64_t check; /* check of the payload as stored */
};

/* Location of an object. */
struct pack_entry {
	struct oid id;
	uint64_t offset; /* offset of its record */
	uint32_t inner; /* offset of the object in the block */
	uint32_t stored_len; /* length of the record's whole payload */
	bool in_block;
	bool again; /* see the top of this file */
};

struct pack_entries {
	struct pack_entry *items;
	size_t count, capacity;
};

#define PACK_VERSION 1
#define HEADER_LEN 64
#define HEAD_LEN 56
#define FANOUT_LEN 1024
#define META_LEN 24
#define INDEX_ENTRY (HASH_LEN + META_LEN)
#define FOOTER_LEN 64
#define META_IN_BLOCK 1
#define META_AGAIN 2

/* Bytes of a record in the file. */
static inline uint64_t record_file_len(uint64_t stored_len)
{
	return HEAD_LEN + ((stored_len + 7) & ~(uint64_t)7);
}

/* Decodes a pack's header. False: damaged, or of a newer guard. */
bool pack_header_get(const unsigned char *header, struct format *ret);

/* --- a block's table --- */

/* Encodes an object's line: hash, len, ord, type and again. */
void block_table_add(unsigned char *at, const struct pack_entry *e);
/* Appends the objects of a block with their places, which lie within the block.
 * record: offset and stored_len of its record. -EBADMSG: the table is invalid.
 */
int block_entries(const unsigned char *plain, size_t len, uint32_t count,
		  const struct pack_entry *record, struct pack_entries *to,
		  struct err *err);

#endif
