#include "snapshot/store/pack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/lock.h"
#include "base/text.h"
#include "base/timestamp.h"
#include "base/vec.h"
#include "snapshot/store/compress.h"
#include "snapshot/store/mapping.h"
#include "snapshot/store/packformat.h"
#include "snapshot/store/writer.h"

/* --- the format --- */

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

/* Encodes a head and its check. */
static void record_head_put(unsigned char *to, const struct record_head *head)
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

/* Decodes a head. False: no head, a damaged head, or lengths that no writer
 * makes. */
static bool record_head_get(const unsigned char *from, struct record_head *ret)
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

/* Checks a payload against its head and unpacks it, for the caller to free.
 * -EBADMSG: damaged. name is that of the pack, for the message. */
static int record_unpack(const char *name, uint64_t offset,
			 const struct record_head *head,
			 const unsigned char *payload, unsigned char **ret,
			 struct err *err)
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
			    "pack %s: the record at byte %llu cannot be "
			    "decompressed",
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

/* Sorts the entries and appends their index (fanout, hashes, metas) to `to`. */
static void pack_index_make(struct pack_entry *entries, size_t count,
			    struct buf *to)
{
	unsigned char *fanout, *hash, *meta;
	size_t i, b;

	vec_sort(entries, count, sizeof(*entries), entry_compare);
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

int block_entries(const unsigned char *plain, size_t len, uint32_t count,
		  const struct pack_entry *record, struct pack_entries *to,
		  struct err *err)
{
	const unsigned char *line;
	uint64_t table = (uint64_t)count * BLOCK_TABLE_ENTRY, at = 0;
	uint32_t i;

	if (table > len)
		return fail(err, EBADMSG,
			    "a block's table does not match its size");
	for (i = 0; i < count; i++) {
		struct pack_entry e = {
			.offset = record->offset,
			.stored_len = record->stored_len,
			.in_block = true,
		};

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
		*VEC_ADD(to) = e;
	}
	return at == len - table
		       ? 0
		       : fail(err, EBADMSG,
			      "a block's objects do not match its size");
}

/* --- reading --- */

/* Shorter ranges are not worth a system call. */
#define DROP_PAGES_LEN ((uint64_t)32 << 10)

struct pack {
	char *name;
	struct mapping *mapping;
	const unsigned char *map; /* bytes of the file */
	size_t size;
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
		    "pack %s can no longer be read: the disk fails, or the "
		    "file was changed",
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

const unsigned char *pack_record(const struct pack *p, uint64_t offset,
				 struct record_head *head)
{
	if (offset < HEADER_LEN || offset % 8 || offset > p->records_end ||
	    p->records_end - offset < HEAD_LEN ||
	    !record_head_get(p->map + offset, head) ||
	    record_file_len(head->stored_len) > p->records_end - offset)
		return NULL;
	return p->map + offset + HEAD_LEN;
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
	const unsigned char *payload = pack_record(p, offset, head);
	int got;

	if (payload)
		got = record_unpack(p->name, offset, head, payload, ret, err);
	else
		got = fail(err, EBADMSG, "pack %s has no record at byte %llu",
			   text_quote(p->name), (unsigned long long)offset);
	if (got < 0)
		return pack_failed(p) ? pack_fail(p, err) : got;
	drop_mapped_pages(p, offset + HEAD_LEN, head->stored_len);
	*ret_len = head->plain_len;
	return 0;
}

/* --- walking the records --- */

/* False: the record is damaged. */
static bool scan_record(const struct pack *p, uint64_t offset,
			const struct record_head *head, struct pack_entries *to)
{
	auto_free unsigned char *plain = NULL;
	struct record_head again;
	struct pack_entry e = {
		.id = {.len = head->plain_len,
		       .ord = head->ord,
		       .type = head->type},
		.offset = offset,
		.stored_len = (uint32_t)head->stored_len,
	};
	struct err ignored;
	size_t len;

	if (head->type == RECORD_BLOCK)
		return pack_read(p, offset, &again, &plain, &len, &ignored) ==
			       0 &&
		       block_entries(plain, len, head->count, &e, to,
				     &ignored) == 0;
	if (hash_check(p->map + offset + HEAD_LEN, head->stored_len) !=
	    head->check)
		return false;
	memcpy(e.id.hash, head->hash, HASH_LEN);
	*VEC_ADD(to) = e;
	return true;
}

/* Appends every object according to the records; the list is the caller's to
 * free. Damaged records are skipped. Returns the number of unreadable places.
 */
static uint64_t pack_scan(const struct pack *p, struct pack_entries *to)
{
	uint64_t at = HEADER_LEN, bad = 0;
	struct record_head head;
	bool lost = false;

	while (at + HEAD_LEN <= p->records_end) {
		if (!pack_record(p, at, &head)) {
			/* Continues at the next possible head: records are
			 * 8-aligned. */
			bad += !lost;
			lost = true;
			at += 8;
			continue;
		}
		lost = false;
		bad += !scan_record(p, at, &head, to);
		at += record_file_len(head.stored_len);
	}
	return bad;
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

static int index_rebuild(struct pack *p, struct err *err)
{
	struct pack_entries list = {0};
	AUTO(buf) struct buf index = {0};

	p->damaged = true;
	p->records_end = p->size;
	(void)pack_scan(p, &list);
	pack_index_make(list.items, list.count, &index);
	free(list.items);
	p->owned = TAKE(index.data);
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
		return fail(
			err, EPROTO,
			"pack %s was written by a newer guard: update guard",
			text_quote(p->name));
	if (memcmp(h + 16, uuid, PACK_UUID_LEN) != 0)
		return fail(err, EBADMSG, "pack %s belongs to another store",
			    text_quote(p->name));
	return 0;
}

int pack_open(int dirfd, const char *name, const unsigned char *uuid,
	      bool unread, struct pack **ret, struct err *err)
{
	AUTO(pack) struct pack *p = mem_zalloc(sizeof(*p));

	p->name = mem_strdup(name);
	p->mapping = mapping_open(dirfd, name, HEADER_LEN + FOOTER_LEN,
				  SIZE_MAX, &p->size);
	if (!p->mapping && errno == EINVAL)
		return fail(err, EBADMSG, "pack %s is truncated",
			    text_quote(name));
	if (!p->mapping)
		return fail_errno(err, "open pack %s", text_quote(name));
	p->map = mapping_data(p->mapping);
	if (header_check(p, uuid, err) < 0 ||
	    (!index_load(p, unread) && index_rebuild(p, err) < 0))
		return -err->num;
	if (mapping_failed(p->mapping))
		p->damaged = true;
	*ret = TAKE(p);
	return 0;
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

void pack_prefetch(const struct pack *p, uint32_t i)
{
	__builtin_prefetch(pack_hash(p, i));
	__builtin_prefetch(p->metas + (size_t)i * META_LEN);
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

/* --- writing --- */

/* Upper bound of the bytes that are reserved and not written yet by running
 * threads. */
#define PENDING_MAX ((uint64_t)16 << 20)

struct packer {
	int dirfd, fd;
	/* A second descriptor of the file, for the lock: requests of io_uring
	 * keep `fd` open for some time after the process was killed. */
	int lock_fd;
	struct writer *writer;
	char name[48]; /* in packs/ */
	char temp[LOCK_TEMP_LEN]; /* in tmp/ */
	uint64_t end; /* offset of the next record */
	struct pack_entries entries;
	bool published;
};

static int write_pack_parts(struct packer *w, const struct iovec *parts,
			    int count, uint64_t offset, struct err *err)
{
	if (writer_write(w->writer, parts, count, offset, err) < 0)
		return err_context(err, "pack %s", text_quote(w->name));
	return 0;
}

int packer_new(int dirfd, const struct format *format, enum pack_kind kind,
	       struct packer **ret, struct err *err)
{
	AUTO(packer) struct packer *w = mem_zalloc(sizeof(*w));
	unsigned char h[HEADER_LEN] = "GUARDPK1";
	struct timestamp now = timestamp_now();
	uint64_t random;

	w->fd = w->lock_fd = -1;
	w->dirfd = fcntl(dirfd, F_DUPFD_CLOEXEC, 0);
	if (w->dirfd < 0)
		return fail_errno(err, "directory of packs");
	w->fd = lock_create_temp(w->dirfd, "pack", w->temp, &w->lock_fd, err);
	if (w->fd < 0)
		return -err->num;
	mem_random(&random, sizeof(random));
	(void)snprintf(
		w->name, sizeof(w->name), "%012llx%016llx.gpk",
		(unsigned long long)(now.sec * 1000 + now.nsec / 1000000),
		(unsigned long long)random);
	put_le(h + 8, PACK_VERSION, 2);
	h[10] = (unsigned char)kind;
	h[11] = (unsigned char)format->hash;
	put_le(h + 12, HEADER_LEN, 4);
	memcpy(h + 16, format->uuid, PACK_UUID_LEN);
	put_le(h + 32, (uint64_t)now.sec * 1000000000u + now.nsec, 8);
	put_le(h + 56, hash_check(h, 56), 8);
	w->writer = writer_new(w->fd);
	if (write_pack_parts(w, &(struct iovec){h, sizeof(h)}, 1, 0, err) < 0)
		return -err->num;
	w->end = HEADER_LEN;
	*ret = TAKE(w);
	return 0;
}

void packer_free(struct packer **writer)
{
	struct packer *w = *writer;

	if (!w)
		return;
	writer_free(&w->writer);
	if (w->fd >= 0 && !w->published)
		(void)unlinkat(w->dirfd, w->temp, 0);
	fd_close(&w->fd);
	fd_close(&w->lock_fd);
	fd_close(&w->dirfd);
	VEC_FREE(&w->entries);
	free(w);
	*writer = NULL;
}

const char *packer_name(const struct packer *w)
{
	return w->name;
}

uint64_t packer_size(const struct packer *w)
{
	return w->end;
}

uint32_t packer_count(const struct packer *w)
{
	return (uint32_t)w->entries.count;
}

uint64_t packer_pending(const struct packer *w)
{
	uint64_t index = FANOUT_LEN + FOOTER_LEN +
			 (uint64_t)packer_count(w) * INDEX_ENTRY;
	struct stat st;
	uint64_t left = 0;

	if (fstat(w->fd, &st) == 0 && (uint64_t)st.st_blocks * 512 < w->end)
		left = w->end - (uint64_t)st.st_blocks * 512;
	/* Running writes never exceed PENDING_MAX; the rest is reserved by
	 * threads that still compress. */
	return index + (left < PENDING_MAX ? left : PENDING_MAX);
}

uint64_t packer_reserve(struct packer *w, uint64_t stored_len)
{
	uint64_t offset = w->end;

	w->end += record_file_len(stored_len);
	return offset;
}

int packer_put(struct packer *w, uint64_t offset,
	       const struct record_head *head, const void *payload,
	       struct err *err)
{
	static const unsigned char zeros[8];
	unsigned char start[HEAD_LEN];
	uint64_t len = HEAD_LEN + head->stored_len;
	struct iovec parts[3] = {
		{start, HEAD_LEN},
		{(void *)(uintptr_t)payload, head->stored_len},
		{(void *)(uintptr_t)zeros, (8 - len % 8) % 8},
	};

	record_head_put(start, head);
	return write_pack_parts(w, parts, 3, offset, err);
}

void packer_add(struct packer *w, const struct pack_entry *entry)
{
	*VEC_ADD(&w->entries) = *entry;
}

int packer_add_block(struct packer *w, const struct buf *block, uint32_t count,
		     const struct pack_entry *record, struct err *err)
{
	return block_entries(block->data, block->len, count, record,
			     &w->entries, err);
}

int packer_read(struct packer *w, uint64_t offset, struct record_head *head,
		unsigned char **ret, size_t *ret_len, struct err *err)
{
	unsigned char start[HEAD_LEN];
	auto_free unsigned char *payload = NULL;

	if (fd_pread(w->fd, start, HEAD_LEN, offset) != HEAD_LEN ||
	    !record_head_get(start, head))
		return fail(err, EBADMSG, "pack %s has no record at byte %llu",
			    text_quote(w->name), (unsigned long long)offset);
	payload = mem_alloc(head->stored_len);
	if (fd_pread(w->fd, payload, head->stored_len, offset + HEAD_LEN) !=
	    (ssize_t)head->stored_len)
		return fail(err, EBADMSG, "pack %s cannot be read at %llu",
			    text_quote(w->name), (unsigned long long)offset);
	if (record_unpack(w->name, offset, head, payload, ret, err) < 0)
		return -err->num;
	*ret_len = head->plain_len;
	return 0;
}

int packer_finish(struct packer *w, struct err *err)
{
	AUTO(buf) struct buf index = {0};
	unsigned char f[FOOTER_LEN] = "GUARDPKE";
	uint64_t plain_bytes = 0;
	size_t i;

	for (i = 0; i < w->entries.count; i++)
		plain_bytes += w->entries.items[i].id.len;
	pack_index_make(w->entries.items, w->entries.count, &index);
	put_le(f + 8, w->end, 8);
	put_le(f + 16, w->entries.count, 4);
	put_le(f + 24, hash_check(index.data, index.len), 8);
	put_le(f + 32, plain_bytes, 8);
	put_le(f + 56, hash_check(f, 56), 8);
	buf_add(&index, f, sizeof(f));
	if (write_pack_parts(w, &(struct iovec){index.data, index.len}, 1,
			     w->end, err) < 0)
		return -err->num;
	writer_sync_begin(w->writer);
	return 0;
}

int packer_sync(struct packer *w, struct err *err)
{
	if (writer_sync_end(w->writer, err) < 0)
		return err_context(err, "pack %s", text_quote(w->name));
	return 0;
}

int packer_publish(struct packer *w, int to_dirfd, struct err *err)
{
	int got = renameat2(w->dirfd, w->temp, to_dirfd, w->name,
			    RENAME_NOREPLACE);

	/* The file system lacks RENAME_NOREPLACE; random names do not collide.
	 */
	if (got < 0 && (errno == EINVAL || errno == ENOSYS))
		got = renameat(w->dirfd, w->temp, to_dirfd, w->name);
	if (got < 0)
		return fail_errno(err, "move pack %s into place",
				  text_quote(w->name));
	w->published = true;
	return 0;
}
