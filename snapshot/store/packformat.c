#include "snapshot/store/packformat.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/text.h"
#include "snapshot/store/compress.h"

bool pack_header_get(const unsigned char *header, struct format *ret)
{
	if (memcmp(header, "GUARDPK1", 8) != 0 ||
	    get_le(header + 8, 2) > PACK_VERSION ||
	    get_le(header + 56, 8) != hash_check(header, 56) ||
	    header[11] > HASH_XXH3_64X2)
		return false;
	ret->hash = header[11];
	memcpy(ret->uuid, header + 16, PACK_UUID_LEN);
	return true;
}

void record_head_put(unsigned char *to, const struct record_head *head)
{
	memcpy(to, "GREC", 4);
	to[4] = head->type;
	to[5] = head->codec;
	put_le(to + 6, head->ord, 2);
	put_le(to + 8, head->plain_len, 8);
	put_le(to + 16, head->stored_len, 8);
	memcpy(to + 24, head->hash, HASH_LEN);
	put_le(to + 40, head->check, 8);
	put_le(to + 48, head->count, 4);
	put_le(to + 52, hash_check(to, 52), 4);
}

bool record_head_get(const unsigned char *from, struct record_head *ret)
{
	struct record_head h = {
		.type = from[4],
		.codec = from[5],
		.ord = (uint16_t)get_le(from + 6, 2),
		.plain_len = get_le(from + 8, 8),
		.stored_len = get_le(from + 16, 8),
		.check = get_le(from + 40, 8),
		.count = (uint32_t)get_le(from + 48, 4),
	};

	memcpy(h.hash, from + 24, HASH_LEN);
	if (memcmp(from, "GREC", 4) != 0 ||
	    get_le(from + 52, 4) != (uint32_t)hash_check(from, 52))
		return false;
	if (h.codec > CODEC_ZSTD || h.stored_len > OBJECT_LEN_MAX ||
	    (h.codec == CODEC_RAW && h.stored_len != h.plain_len))
		return false;
	if (h.type == RECORD_BLOCK) {
		if (!h.count || h.count > BLOCK_OBJECTS_MAX ||
		    h.plain_len > BLOCK_LEN_MAX ||
		    h.plain_len < (uint64_t)h.count * BLOCK_TABLE_ENTRY)
			return false;
	} else if (!h.type || h.type > 4 || h.count != 1 ||
		   h.plain_len > OBJECT_LEN_MAX) {
		return false;
	}
	*ret = h;
	return true;
}

int record_unpack(const char *name, uint64_t offset,
		  const struct record_head *head, const unsigned char *payload,
		  unsigned char **ret, struct err *err)
{
	auto_free unsigned char *plain = NULL;

	if (hash_check(payload, head->stored_len) != head->check)
		return fail(err, EBADMSG, "pack %s is damaged at byte %llu",
			    text_quote(name), (unsigned long long)offset);
	plain = mem_alloc(head->plain_len);
	if (head->codec == CODEC_RAW)
		memcpy(plain, payload, head->plain_len);
	else if (!decompress_bytes(plain, head->plain_len, payload,
				   head->stored_len))
		return fail(err, EBADMSG,
			    "pack %s: the record at byte %llu does not unpack",
			    text_quote(name), (unsigned long long)offset);
	*ret = TAKE(plain);
	return 0;
}

static int entry_compare(const void *pa, const void *pb)
{
	const struct pack_entry *a = pa, *b = pb;
	int d = memcmp(a->id.hash, b->id.hash, HASH_LEN);

	if (!d)
		d = (a->id.type > b->id.type) - (a->id.type < b->id.type);
	return d ? d : (a->id.ord > b->id.ord) - (a->id.ord < b->id.ord);
}

void pack_index_make(struct pack_entry *entries, size_t count, struct buf *to)
{
	unsigned char *fanout, *hash, *meta;
	size_t i, b;

	if (count)
		qsort(entries, count, sizeof(*entries), entry_compare);
	fanout = buf_reserve(to, FANOUT_LEN + count * INDEX_ENTRY);
	hash = fanout + FANOUT_LEN;
	meta = hash + count * HASH_LEN;
	for (i = b = 0; b < 256; b++) {
		while (i < count && entries[i].id.hash[0] == b)
			i++;
		put_le(fanout + 4 * b, i, 4);
	}
	for (i = 0; i < count; i++, hash += HASH_LEN, meta += META_LEN) {
		const struct pack_entry *e = &entries[i];

		memcpy(hash, e->id.hash, HASH_LEN);
		put_le(meta, e->offset, 8);
		put_le(meta + 8, e->id.len, 4);
		put_le(meta + 12, e->inner, 4);
		put_le(meta + 16, e->stored_len, 4);
		put_le(meta + 20, e->id.ord, 2);
		meta[22] = e->id.type;
		meta[23] = (e->in_block ? META_IN_BLOCK : 0) |
			   (e->again ? META_AGAIN : 0);
	}
	to->len += FANOUT_LEN + count * INDEX_ENTRY;
}

/* --- blocks --- */

void block_table_add(unsigned char *at, const struct pack_entry *e)
{
	memcpy(at, e->id.hash, HASH_LEN);
	put_le(at + 16, e->id.len, 4);
	put_le(at + 20, e->id.ord, 2);
	at[22] = e->id.type;
	at[23] = e->again ? META_AGAIN : 0;
}

int block_each(const unsigned char *plain, size_t len, uint32_t count,
	       int (*each)(void *arg, const struct pack_entry *entry,
			   struct err *err),
	       void *arg, struct err *err)
{
	struct pack_entry e = {.in_block = true};
	const unsigned char *line;
	uint64_t table = (uint64_t)count * BLOCK_TABLE_ENTRY, at = 0;
	uint32_t i;

	if (table > len)
		return fail(err, EBADMSG, "a block's table does not fit");
	for (i = 0; i < count; i++) {
		line = plain + len - table + (size_t)i * BLOCK_TABLE_ENTRY;
		memcpy(e.id.hash, line, HASH_LEN);
		e.id.len = (uint32_t)get_le(line + 16, 4);
		e.id.ord = (uint16_t)get_le(line + 20, 2);
		e.id.type = line[22];
		e.again = line[23] & META_AGAIN;
		e.inner = (uint32_t)at;
		at += e.id.len;
		if (at > len - table || !e.id.type || e.id.type > 4)
			return fail(err, EBADMSG, "a block is damaged");
		if (each(arg, &e, err) < 0)
			return -err->num;
	}
	if (at != len - table)
		return fail(err, EBADMSG, "a block's objects do not fill it");
	return 0;
}
