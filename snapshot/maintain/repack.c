#include "snapshot/maintain/repack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/atomic.h"
#include "base/auto.h"
#include "snapshot/store/compress.h"
#include "snapshot/store/storeimpl.h"

/* As in storecommit.c. */
#define PACK_LEN ((uint64_t)64 << 20)

struct filling {
	struct packer *packer; /* NULL: none open */
	struct buf data, table; /* of the block that is being filled */
	uint32_t count;
};

struct repacking {
	struct store *store;
	struct inventory *inv;
	bool (*wanted)(void *arg, const struct oid *id,
		       const struct copy *copy);
	void *arg;
	struct filling kinds[PACK_KINDS];
	struct packer **done; /* finished, not published */
	size_t done_count, done_capacity;
	uint64_t bytes;
};

static void repacking_free(struct repacking *r)
{
	size_t i;

	for (i = 0; i < PACK_KINDS; i++) {
		packer_free(&r->kinds[i].packer);
		buf_free(&r->kinds[i].data);
		buf_free(&r->kinds[i].table);
	}
	for (i = 0; i < r->done_count; i++)
		packer_free(&r->done[i]);
	free(r->done);
}

/* --- writing --- */

static int finish_pack(struct repacking *r, struct filling *f, struct err *err)
{
	if (!f->packer)
		return 0;
	if (packer_finish(f->packer, err) < 0 ||
	    packer_sync(f->packer, err) < 0)
		return -err->num;
	r->bytes += packer_size(f->packer);
	GROW(r->done, r->done_count, r->done_capacity);
	r->done[r->done_count++] = TAKE(f->packer);
	return 0;
}

/* Writes a record; its place is the offset of the entries that follow. */
static int write_record(struct repacking *r, enum pack_kind kind,
			const struct record_head *head, const void *payload,
			uint64_t *ret_offset, struct err *err)
{
	struct filling *f = &r->kinds[kind];

	if (!f->packer &&
	    packer_new(r->store->store_dir.tmp_fd, &r->store->store_dir.format,
		       kind, &f->packer, err) < 0)
		return -err->num;
	*ret_offset = packer_reserve(f->packer, head->stored_len);
	return packer_put(f->packer, *ret_offset, head, payload, err);
}

struct adding {
	struct packer *packer;
	uint64_t offset, stored_len;
};

static int add_entry(void *arg, const struct pack_entry *entry, struct err *err)
{
	struct adding *a = arg;
	struct pack_entry e = *entry;

	(void)err;
	e.offset = a->offset;
	e.stored_len = (uint32_t)a->stored_len;
	packer_add(a->packer, &e);
	return 0;
}

/* Closes the pack when it is full. */
static int close_full(struct repacking *r, struct filling *f, struct err *err)
{
	return packer_size(f->packer) < PACK_LEN ? 0 : finish_pack(r, f, err);
}

static int write_block(struct repacking *r, enum pack_kind kind,
		       struct err *err)
{
	struct filling *f = &r->kinds[kind];
	struct record_head head = {.type = RECORD_BLOCK, .count = f->count};
	struct adding adding;
	const void *payload;
	size_t len;
	int got;

	if (!f->count)
		return 0;
	buf_add(&f->data, f->table.data, f->table.len);
	payload = compress_bytes(f->data.data, f->data.len, false, &len);
	head.codec = payload ? CODEC_ZSTD : CODEC_RAW;
	head.plain_len = f->data.len;
	head.stored_len = payload ? len : f->data.len;
	if (!payload)
		payload = f->data.data;
	head.check = hash_check(payload, head.stored_len);
	got = write_record(r, kind, &head, payload, &adding.offset, err);
	adding.packer = f->packer;
	adding.stored_len = head.stored_len;
	if (got == 0)
		got = block_each(f->data.data, f->data.len, f->count, add_entry,
				 &adding, err);
	buf_clear(&f->data);
	buf_clear(&f->table);
	f->count = 0;
	return got < 0 ? got : close_full(r, f, err);
}

/* Not the pack's: its header may have been damaged. */
static enum pack_kind kind_of(const struct pack_entry *e)
{
	return e->type == OBJECT_DATA ? PACK_DATA : PACK_META;
}

static int add_to_block(struct repacking *r, const struct pack_entry *e,
			const struct buf *bytes, struct err *err)
{
	enum pack_kind kind = kind_of(e);
	struct filling *f = &r->kinds[kind];

	buf_add(&f->data, bytes->data, bytes->len);
	block_table_add(buf_reserve(&f->table, BLOCK_TABLE_ENTRY), e);
	f->table.len += BLOCK_TABLE_ENTRY;
	f->count++;
	return f->data.len < block_full(kind) &&
			       f->table.len < block_full(kind) / 2
		       ? 0
		       : write_block(r, kind, err);
}

/* --- one record of an old pack --- */

struct line {
	struct pack_entry entry;
	uint32_t number; /* in the index */
	bool wanted;
};

static int by_place(const void *pa, const void *pb)
{
	const struct pack_entry *a = &((const struct line *)pa)->entry;
	const struct pack_entry *b = &((const struct line *)pb)->entry;

	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	return a->inner < b->inner ? -1 : a->inner > b->inner;
}

static int copy_record(struct repacking *r, const struct pack *pack,
		       const struct line *lines, size_t count, struct err *err)
{
	enum pack_kind kind = kind_of(&lines[0].entry);
	struct adding adding;
	struct record_head head;
	const unsigned char *payload =
		pack_record(pack, lines[0].entry.offset, &head);
	struct pack_entry e;
	size_t i;

	if (!payload)
		return fail(err, EBADMSG, "a record is gone");
	if (write_record(r, kind, &head, payload, &adding.offset, err) < 0)
		return -err->num;
	adding.packer = r->kinds[kind].packer;
	adding.stored_len = head.stored_len;
	for (i = 0; i < count; i++) {
		e = lines[i].entry;
		(void)add_entry(&adding, &e, err);
	}
	return close_full(r, &r->kinds[kind], err);
}

/* lines: all objects of one record. */
static int do_record(struct repacking *r, size_t number,
		     const struct line *lines, size_t count, struct err *err)
{
	const struct pack *pack = r->inv->packs[number].pack;
	AUTO(buf) struct buf bytes = {0};
	struct record_head head;
	size_t i, wanted = 0;
	struct oid id;

	for (i = 0; i < count; i++)
		wanted += lines[i].wanted;
	if (!wanted)
		return 0;
	/* Also when it is copied as it is: what lies in it is looked at. */
	for (i = 0; i < count; i++) {
		struct copy copy = {(uint32_t)number + 1, lines[i].number};

		if (!lines[i].wanted)
			continue;
		inventory_oid(&lines[i].entry, &id);
		buf_clear(&bytes);
		if (inventory_read_copy(r->inv, &id, &copy, &bytes, err) < 0)
			return -err->num;
		if (wanted < count &&
		    add_to_block(r, &lines[i].entry, &bytes, err) < 0)
			return -err->num;
	}
	if (wanted < count)
		return 0;
	if (!pack_record(pack, lines[0].entry.offset, &head))
		return fail(err, EBADMSG, "a record is gone");
	if (head.count == count)
		return copy_record(r, pack, lines, count, err);
	/* The index knew of a part only. */
	for (i = 0; i < count; i++) {
		struct copy copy = {(uint32_t)number + 1, lines[i].number};

		inventory_oid(&lines[i].entry, &id);
		buf_clear(&bytes);
		if (inventory_read_copy(r->inv, &id, &copy, &bytes, err) < 0 ||
		    add_to_block(r, &lines[i].entry, &bytes, err) < 0)
			return -err->num;
	}
	return 0;
}

static int do_pack(struct repacking *r, size_t number, struct err *err)
{
	const struct pack *pack = r->inv->packs[number].pack;
	uint32_t k, n = 0, start, count = pack_count(pack);
	auto_free struct line *lines =
		mem_resize(NULL, count + 1, sizeof(*lines));

	for (k = 0; k < count; k++) {
		struct copy copy = {(uint32_t)number + 1, k};
		struct line *line = &lines[n];
		struct oid id;

		if (!pack_get(pack, k, &line->entry))
			continue;
		inventory_oid(&line->entry, &id);
		line->number = k;
		line->wanted = r->wanted(r->arg, &id, &copy);
		n++;
	}
	qsort(lines, n, sizeof(*lines), by_place);
	for (start = 0; start < n; start = k) {
		for (k = start + 1; k < n; k++) {
			if (lines[k].entry.offset != lines[start].entry.offset)
				break;
		}
		if (do_record(r, number, lines + start, k - start, err) < 0)
			return -err->num;
	}
	return 0;
}

static int publish(struct repacking *r, struct err *err)
{
	struct store_dir *store_dir = &r->store->store_dir;
	int lock, got = 0;
	size_t i;

	if (!r->done_count)
		return 0;
	lock = store_dir_commit_begin(store_dir, err);
	if (lock < 0)
		return lock;
	for (i = 0; i < r->done_count && got == 0; i++)
		got = packer_publish(r->done[i], store_dir->packs_fd, err);
	if (got == 0)
		got = atomic_sync_dir(store_dir->packs_fd, err);
	store_dir_commit_end(store_dir, lock);
	return got;
}

static int do_all(struct repacking *r, const size_t *packs, size_t count,
		  struct err *err)
{
	size_t i;

	for (i = 0; i < count; i++) {
		if (do_pack(r, packs[i], err) < 0)
			return -err->num;
	}
	for (i = 0; i < PACK_KINDS; i++) {
		if (write_block(r, (enum pack_kind)i, err) < 0 ||
		    finish_pack(r, &r->kinds[i], err) < 0)
			return -err->num;
	}
	return publish(r, err);
}

int repack(struct store *s, struct inventory *inv, const size_t *packs,
	   size_t count,
	   bool (*wanted)(void *arg, const struct oid *id,
			  const struct copy *copy),
	   void *arg, uint64_t *ret_bytes, struct err *err)
{
	struct repacking r = {
		.store = s, .inv = inv, .wanted = wanted, .arg = arg};
	int got = do_all(&r, packs, count, err);

	*ret_bytes = r.bytes;
	repacking_free(&r);
	return got;
}
