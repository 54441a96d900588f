/*
 * The bytes of a pack, shared by its one encoder and its one decoder. Only
 * for pack.c and packwrite.c.
 *
 * Numbers are little-endian; a check is XXH3-64 of what stands before it.
 *
 *	pack    = header *record index footer
 *	header  = "GUARDPK1" version:2 kind:1 0:1 header-length:4 uuid:16
 *	          created-ns:8 0:16 check:8                     ; 64 bytes
 *	record  = head payload *0                               ; 8-aligned
 *	head    = "GREC" type:1 codec:1 ord:2 plain-length:8 stored-length:8
 *	          hash:16 payload-check:8 count:4 head-check:4  ; 56 bytes
 *	payload = stored-length bytes; as codec says plain-length bytes of
 *	          either one object (type 1-4), or
 *	          *object *line                                 ; type 0x40
 *	line    = hash:16 length:4 ord:2 type:1 0:1             ; `count` times
 *	index   = fanout:4[256] hash:16[n] meta:24[n]
 *	meta    = record-offset:8 length:4 inner-offset:4 stored-length:4
 *	          ord:2 type:1 flags:1                 ; flags 1: in a block
 *	footer  = "GUARDPKE" index-offset:8 n:4 0:4 index-check:8
 *	          plain-bytes:8 0:16 check:8                    ; 64 bytes
 *
 * fanout[b] counts the hashes whose first byte is <= b. Hashes are sorted by
 * bytes, equal ones by type and ord. The objects of a block follow each other
 * without gaps in the order of its lines.
 */
#ifndef GUARD_SNAPSHOT_PACKFORMAT_H
#define GUARD_SNAPSHOT_PACKFORMAT_H

#include "snapshot/pack.h"

#define PACK_VERSION 1
#define HEADER_LEN 64
#define HEAD_LEN 56
#define FANOUT_LEN 1024
#define META_LEN 24
#define INDEX_ENTRY (HASH_LEN + META_LEN)
#define FOOTER_LEN 64
#define META_IN_BLOCK 1

static inline void put_le(unsigned char *to, uint64_t v, int len)
{
	int i;

	for (i = 0; i < len; i++)
		to[i] = (unsigned char)(v >> 8 * i);
}

static inline uint64_t get_le(const unsigned char *from, int len)
{
	uint64_t v = 0;
	int i;

	for (i = 0; i < len; i++)
		v |= (uint64_t)from[i] << 8 * i;
	return v;
}

/* Bytes that a record takes in the file. */
static inline uint64_t record_room(uint64_t stored_len)
{
	return HEAD_LEN + ((stored_len + 7) & ~(uint64_t)7);
}

/* False: no head, or a damaged one, or lengths that no writer makes. */
bool record_head_get(const unsigned char *from, struct record_head *ret);

/*
 * Checks a payload against its head and unpacks it, to be freed: -EBADMSG.
 * name: of the pack, for the message.
 */
int record_unpack(const char *name, uint64_t offset,
		  const struct record_head *head, const unsigned char *payload,
		  unsigned char **ret, struct err *err);

/* Sorts the entries and makes the index of them (fanout, hashes, metas). */
void pack_index_make(struct pack_entry *entries, size_t count, struct buf *to);

#endif
