#include "snapshot/store/pack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/text.h"
#include "base/vec.h"
#include "snapshot/store/mapping.h"

/* Shorter ranges are not worth a system call. */
#define DROP_PAGES_LEN ((uint64_t)32 << 10)

struct pack {
	char *name;
	struct mapping *mapping;
	const unsigned char *map; /* bytes of the file */
	uint64_t size;
	bool damaged;
	uint64_t records_end; /* records lie in [HEADER_LEN, records_end) */
	uint32_t count;
	/* Parts of the mapped index, or of the rebuilt index in `owned`. */
	const unsigned char *fanout, *hashes, *metas;
	unsigned char *owned;
};

void pack_free(struct pack **pack)
{
	struct pack *p = *pack;

	if (!p)
		return;
	mapping_free(&p->mapping);
	free(p->owned);
	free(p->name);
	free(p);
	*pack = NULL;
}

const char *pack_name(const struct pack *p)
{
	return p->name;
}

int pack_fail(const struct pack *p, struct err *err)
{
	return fail(err, EBADMSG,
		    "pack %s cannot be read any more: its disk fails, or "
		    "somebody has changed it",
		    text_quote(p->name));
}

bool pack_damaged(const struct pack *p)
{
	return p->damaged;
}

uint32_t pack_count(const struct pack *p)
{
	return p->count;
}

uint64_t pack_size(const struct pack *p)
{
	return p->size;
}

/* Reads the head at offset. False unless the whole record lies within the
 * pack's records. */
static bool read_record_head(const struct pack *p, uint64_t offset,
			     struct record_head *ret)
{
	if (offset < HEADER_LEN || offset % 8 || offset > p->records_end ||
	    p->records_end - offset < HEAD_LEN ||
	    !record_head_get(p->map + offset, ret))
		return false;
	return record_file_len(ret->stored_len) <= p->records_end - offset;
}

/* Pages of the map count as memory of this process, and comparing a huge file
 * with its last version reads gigabytes of them. */
static void drop_mapped_pages(const struct pack *p, uint64_t offset,
			      uint64_t len)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t start = (offset + page - 1) & ~(page - 1);
	uint64_t end = (offset + len) & ~(page - 1);

	if (end > start && end - start >= DROP_PAGES_LEN)
		(void)madvise((void *)(uintptr_t)(p->map + start),
			      (size_t)(end - start), MADV_DONTNEED);
}

int pack_read(const struct pack *p, uint64_t offset, struct record_head *head,
	      unsigned char **ret, size_t *ret_len, struct err *err)
{
	int got;

	if (read_record_head(p, offset, head))
		got = record_unpack(p->name, offset, head,
				    p->map + offset + HEAD_LEN, ret, err);
	else
		got = fail(err, EBADMSG, "pack %s has no record at byte %llu",
			   text_quote(p->name), (unsigned long long)offset);
	if (got < 0)
		return pack_failed(p) ? pack_fail(p, err) : got;
	drop_mapped_pages(p, offset + HEAD_LEN, head->stored_len);
	*ret_len = head->plain_len;
	return 0;
}

const unsigned char *pack_record(const struct pack *p, uint64_t offset,
				 struct record_head *head)
{
	return read_record_head(p, offset, head) ? p->map + offset + HEAD_LEN
						 : NULL;
}

/* --- walking the records --- */

struct record_scan {
	int (*each)(void *arg, const struct pack_entry *entry, struct err *err);
	void *arg;
	uint64_t offset, stored_len;
	bool ended; /* each() has ended the scan */
};

static int scan_entry(void *arg, const struct pack_entry *entry,
		      struct err *err)
{
	struct record_scan *record_scan = arg;
	struct pack_entry e = *entry;
	int got;

	e.offset = record_scan->offset;
	e.stored_len = (uint32_t)record_scan->stored_len;
	got = record_scan->each(record_scan->arg, &e, err);
	if (got < 0)
		record_scan->ended = true;
	return got;
}

/* Returns 0, -EBADMSG for a damaged record, or the negative result of each().
 */
static int scan_record(const struct pack *p, struct record_scan *record_scan,
		       uint64_t offset, const struct record_head *head,
		       struct err *err)
{
	auto_free unsigned char *plain = NULL;
	size_t len;
	struct record_head again;
	struct pack_entry e = {
		.id = {.len = head->plain_len,
		       .ord = head->ord,
		       .type = head->type},
	};

	record_scan->offset = offset;
	record_scan->stored_len = head->stored_len;
	if (head->type != RECORD_BLOCK) {
		memcpy(e.id.hash, head->hash, HASH_LEN);
		if (hash_check(p->map + offset + HEAD_LEN, head->stored_len) !=
		    head->check)
			return fail(err, EBADMSG, "damaged record");
		return scan_entry(record_scan, &e, err);
	}
	if (pack_read(p, offset, &again, &plain, &len, err) < 0)
		return -err->num;
	return block_each(plain, len, head->count, scan_entry, record_scan,
			  err);
}

int pack_scan(const struct pack *p,
	      int (*each)(void *arg, const struct pack_entry *entry,
			  struct err *err),
	      void *arg, uint64_t *ret_bad, struct err *err)
{
	struct record_scan record_scan = {.each = each, .arg = arg};
	struct record_head head;
	struct err bad_err;
	uint64_t at = HEADER_LEN, bad = 0;
	bool lost = false;

	while (at + HEAD_LEN <= p->records_end) {
		if (!read_record_head(p, at, &head)) {
			/* Continues at the next possible head: records are
			 * 8-aligned. */
			bad += !lost;
			lost = true;
			at += 8;
			continue;
		}
		lost = false;
		if (scan_record(p, &record_scan, at, &head, &bad_err) < 0) {
			if (record_scan.ended) {
				*err = bad_err;
				return -err->num;
			}
			bad++;
		}
		at += record_file_len(head.stored_len);
	}
	*ret_bad = bad;
	return 0;
}

/* --- the index --- */

static bool index_ok(struct pack *p, const unsigned char *index, uint32_t n)
{
	uint32_t i, last = 0;

	for (i = 0; i < 256; i++) {
		uint32_t v = (uint32_t)get_le(index + 4 * (size_t)i, 4);

		if (v < last)
			return false;
		last = v;
	}
	if (last != n)
		return false;
	p->count = n;
	p->fanout = index;
	p->hashes = index + FANOUT_LEN;
	p->metas = p->hashes + (size_t)n * HASH_LEN;
	return true;
}

/* Uses index and footer of the file. False: one of them is invalid. */
static bool index_load(struct pack *p, bool unread)
{
	const unsigned char *footer = p->map + p->size - FOOTER_LEN;
	uint64_t offset = get_le(footer + 8, 8);
	uint64_t n = get_le(footer + 16, 4);
	uint64_t len = FANOUT_LEN + n * INDEX_ENTRY;

	if (memcmp(footer, "GUARDPKE", 8) != 0 ||
	    get_le(footer + 56, 8) != hash_check(footer, 56))
		return false;
	if (offset < HEADER_LEN || offset % 8 ||
	    offset > p->size - FOOTER_LEN ||
	    len != p->size - FOOTER_LEN - offset ||
	    (!unread &&
	     get_le(footer + 24, 8) != hash_check(p->map + offset, len)) ||
	    !index_ok(p, p->map + offset, (uint32_t)n))
		return false;
	p->records_end = offset;
	return true;
}

bool pack_failed(const struct pack *p)
{
	const unsigned char *footer = p->map + p->size - FOOTER_LEN;

	if (mapping_failed(p->mapping))
		return true;
	/* While the index is rebuilt from the records there is none to check.
	 */
	return p->fanout && !p->owned &&
	       get_le(footer + 24, 8) !=
		       hash_check(p->fanout,
				  FANOUT_LEN + (size_t)p->count * INDEX_ENTRY);
}

struct entry_list {
	struct pack_entry *items;
	size_t count, capacity;
};

static int collect_pack_entry(void *arg, const struct pack_entry *entry,
			      struct err *err)
{
	struct entry_list *list = arg;

	(void)err;
	*VEC_ADD(list) = *entry;
	return 0;
}

static int index_rebuild(struct pack *p, struct err *err)
{
	struct entry_list list = {0};
	AUTO(buf) struct buf index = {0};
	uint64_t bad;

	p->damaged = true;
	p->records_end = p->size;
	if (pack_scan(p, collect_pack_entry, &list, &bad, err) < 0) {
		free(list.items);
		return -err->num;
	}
	pack_index_make(list.items, list.count, &index);
	free(list.items);
	p->owned = index.data;
	index.data = NULL;
	if (!index_ok(p, p->owned, (uint32_t)list.count))
		return fail(err, EBADMSG, "pack %s cannot be indexed",
			    text_quote(p->name));
	return 0;
}

/* A header with a wrong check is ignored: the records may still be intact, and
 * each is verified by its keyed hash. A valid header can refuse the pack. */
static int header_check(struct pack *p, const unsigned char *uuid,
			struct err *err)
{
	const unsigned char *h = p->map;

	if (memcmp(h, "GUARDPK1", 8) != 0 ||
	    get_le(h + 56, 8) != hash_check(h, 56)) {
		p->damaged = true;
		return 0;
	}
	if (get_le(h + 8, 2) > PACK_VERSION || h[10] >= PACK_KINDS ||
	    get_le(h + 12, 4) != HEADER_LEN)
		return fail(err, EPROTO,
			    "pack %s was written by a newer guard: update",
			    text_quote(p->name));
	if (memcmp(h + 16, uuid, PACK_UUID_LEN) != 0)
		return fail(err, EBADMSG, "pack %s is of another store",
			    text_quote(p->name));
	return 0;
}

static int pack_map(int dirfd, struct pack *p, struct err *err)
{
	auto_close int fd = openat(dirfd, p->name,
				   O_RDONLY | O_NOFOLLOW | O_NONBLOCK |
					   O_CLOEXEC | O_NOCTTY);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return fail_errno(err, "open pack %s", text_quote(p->name));
	if (!S_ISREG(st.st_mode) || st.st_size < HEADER_LEN + FOOTER_LEN)
		return fail(err, EBADMSG, "pack %s is cut off",
			    text_quote(p->name));
	p->mapping = mapping_new(fd, (size_t)st.st_size, false);
	if (!p->mapping)
		return fail_errno(err, "map pack %s", text_quote(p->name));
	p->map = mapping_data(p->mapping);
	p->size = (uint64_t)st.st_size;
	return 0;
}

static int open_pack_file(int dirfd, const char *name,
			  const unsigned char *uuid, bool unread,
			  struct pack **ret, struct err *err)
{
	AUTO(pack) struct pack *p = mem_zalloc(sizeof(*p));

	p->name = mem_strdup(name);
	if (pack_map(dirfd, p, err) < 0 || header_check(p, uuid, err) < 0)
		return -err->num;
	if (!index_load(p, unread) && index_rebuild(p, err) < 0)
		return -err->num;
	if (mapping_failed(p->mapping))
		p->damaged = true;
	*ret = TAKE(p);
	return 0;
}

int pack_open(int dirfd, const char *name, const unsigned char *uuid,
	      struct pack **ret, struct err *err)
{
	return open_pack_file(dirfd, name, uuid, false, ret, err);
}

int pack_open_unread(int dirfd, const char *name, const unsigned char *uuid,
		     struct pack **ret, struct err *err)
{
	return open_pack_file(dirfd, name, uuid, true, ret, err);
}

uint32_t pack_find(const struct pack *p, const unsigned char *hash)
{
	uint32_t low =
		hash[0] ? (uint32_t)get_le(p->fanout + 4 * (hash[0] - 1), 4)
			: 0;
	uint32_t high = (uint32_t)get_le(p->fanout + 4 * hash[0], 4);
	uint32_t end = high;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (memcmp(p->hashes + (size_t)mid * HASH_LEN, hash, HASH_LEN) <
		    0)
			low = mid + 1;
		else
			high = mid;
	}
	if (low < end &&
	    memcmp(p->hashes + (size_t)low * HASH_LEN, hash, HASH_LEN) == 0)
		return low;
	return p->count;
}

const unsigned char *pack_hash(const struct pack *p, uint32_t i)
{
	return p->hashes + (size_t)i * HASH_LEN;
}

bool pack_get(const struct pack *p, uint32_t i, struct pack_entry *ret)
{
	const unsigned char *meta = p->metas + (size_t)i * META_LEN;

	memcpy(ret->id.hash, pack_hash(p, i), HASH_LEN);
	ret->offset = get_le(meta, 8);
	ret->id.len = get_le(meta + 8, 4);
	ret->inner = (uint32_t)get_le(meta + 12, 4);
	ret->stored_len = (uint32_t)get_le(meta + 16, 4);
	ret->id.ord = (uint16_t)get_le(meta + 20, 2);
	ret->id.type = meta[22];
	ret->in_block = meta[23] & META_IN_BLOCK;
	ret->again = meta[23] & META_AGAIN;
	return ret->offset >= HEADER_LEN && ret->offset < p->records_end &&
	       ret->id.len <= OBJECT_LEN_MAX && ret->id.type &&
	       ret->id.type <= 4;
}
