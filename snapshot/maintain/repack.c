#include "snapshot/maintain/repack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/atomic.h"
#include "base/auto.h"
#include "snapshot/store/compress.h"
#include "snapshot/store/packer.h"
#include "snapshot/store/store_dir.h"

/* Same size as in storecommit.c. */
#define PACK_LEN ((uint64_t)64 << 20)

struct new_pack {
	struct packer *packer; /* NULL: no pack is open */
	struct buf data, table; /* bytes and table of the open block */
	uint32_t count;
};

struct repack_job {
	struct store *store;
	struct inventory *inv;
	bool (*wanted)(void *arg, const struct oid *id,
		       const struct copy *copy);
	void *arg;
	struct new_pack kinds[PACK_KINDS];
	struct packer **done; /* finished packs, not published yet */
	size_t done_count, done_capacity;
	uint64_t bytes;
};

static void repack_job_free(struct repack_job *r)
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

static int finish_new_pack(struct repack_job *r, struct new_pack *f,
			   struct err *err)
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

/* Writes a record; *ret_offset is the offset for the entries that follow. */
static int write_new_record(struct repack_job *r, enum pack_kind kind,
			    const struct record_head *head, const void *payload,
			    uint64_t *ret_offset, struct err *err)
{
	struct new_pack *f = &r->kinds[kind];

	if (!f->packer && packer_new(store_get_dir(r->store)->tmp_fd,
				     &store_get_dir(r->store)->format, kind,
				     &f->packer, err) < 0)
		return -err->num;
	*ret_offset = packer_reserve(f->packer, head->stored_len);
	return packer_put(f->packer, *ret_offset, head, payload, err);
}

struct entry_target {
	struct packer *packer;
	uint64_t offset, stored_len;
};

static int add_repacked_entry(void *arg, const struct pack_entry *entry,
			      struct err *err)
{
	struct entry_target *a = arg;
	struct pack_entry e = *entry;

	(void)err;
	e.offset = a->offset;
	e.stored_len = (uint32_t)a->stored_len;
	packer_add(a->packer, &e);
	return 0;
}

/* Finishes the pack when it is full. */
static int finish_full_pack(struct repack_job *r, struct new_pack *f,
			    struct err *err)
{
	return packer_size(f->packer) < PACK_LEN ? 0
						 : finish_new_pack(r, f, err);
}

static int write_new_block(struct repack_job *r, enum pack_kind kind,
			   struct err *err)
{
	struct new_pack *f = &r->kinds[kind];
	struct record_head head = {.type = RECORD_BLOCK, .count = f->count};
	struct entry_target entry_target;
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
	got = write_new_record(r, kind, &head, payload, &entry_target.offset,
			       err);
	entry_target.packer = f->packer;
	entry_target.stored_len = head.stored_len;
	if (got == 0)
		got = block_each(f->data.data, f->data.len, f->count,
				 add_repacked_entry, &entry_target, err);
	buf_clear(&f->data);
	buf_clear(&f->table);
	f->count = 0;
	return got < 0 ? got : finish_full_pack(r, f, err);
}

/* The kind comes from the entry: the pack's header may be damaged. */
static enum pack_kind entry_pack_kind(const struct pack_entry *e)
{
	return e->type == OBJECT_DATA ? PACK_DATA : PACK_META;
}

static int add_object_to_block(struct repack_job *r, const struct pack_entry *e,
			       const struct buf *bytes, struct err *err)
{
	enum pack_kind kind = entry_pack_kind(e);
	struct new_pack *f = &r->kinds[kind];

	buf_add(&f->data, bytes->data, bytes->len);
	block_table_add(buf_reserve(&f->table, BLOCK_TABLE_ENTRY), e);
	f->table.len += BLOCK_TABLE_ENTRY;
	f->count++;
	return f->data.len < block_full(kind) &&
			       f->table.len < block_full(kind) / 2
		       ? 0
		       : write_new_block(r, kind, err);
}

/* --- one record of an old pack --- */

struct repack_entry {
	struct pack_entry entry;
	uint32_t number; /* number in the index */
	bool wanted;
};

static int compare_entry_offsets(const void *pa, const void *pb)
{
	const struct pack_entry *a = &((const struct repack_entry *)pa)->entry;
	const struct pack_entry *b = &((const struct repack_entry *)pb)->entry;

	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	return a->inner < b->inner ? -1 : a->inner > b->inner;
}

static int copy_single_record(struct repack_job *r, const struct pack *pack,
			      const struct repack_entry *repack_entries,
			      size_t count, struct err *err)
{
	enum pack_kind kind = entry_pack_kind(&repack_entries[0].entry);
	struct entry_target entry_target;
	struct record_head head;
	const unsigned char *payload =
		pack_record(pack, repack_entries[0].entry.offset, &head);
	struct pack_entry e;
	size_t i;

	if (!payload)
		return fail(err, EBADMSG, "a record is gone");
	if (write_new_record(r, kind, &head, payload, &entry_target.offset,
			     err) < 0)
		return -err->num;
	entry_target.packer = r->kinds[kind].packer;
	entry_target.stored_len = head.stored_len;
	for (i = 0; i < count; i++) {
		e = repack_entries[i].entry;
		(void)add_repacked_entry(&entry_target, &e, err);
	}
	return finish_full_pack(r, &r->kinds[kind], err);
}

/* repack_entries: all objects of one record. */
static int repack_record(struct repack_job *r, size_t number,
			 const struct repack_entry *repack_entries,
			 size_t count, struct err *err)
{
	const struct pack *pack = r->inv->packs[number].pack;
	AUTO(buf) struct buf bytes = {0};
	struct record_head head;
	size_t i, wanted = 0;
	struct oid id;

	for (i = 0; i < count; i++)
		wanted += repack_entries[i].wanted;
	if (!wanted)
		return 0;
	/* Objects are also read when the record is copied unchanged, so that
	 * every byte is checked. */
	for (i = 0; i < count; i++) {
		struct copy copy = {(uint32_t)number + 1,
				    repack_entries[i].number};

		if (!repack_entries[i].wanted)
			continue;
		inventory_oid(&repack_entries[i].entry, &id);
		buf_clear(&bytes);
		if (inventory_read_copy(r->inv, &id, &copy, &bytes, err) < 0)
			return -err->num;
		if (wanted < count &&
		    add_object_to_block(r, &repack_entries[i].entry, &bytes,
					err) < 0)
			return -err->num;
	}
	if (wanted < count)
		return 0;
	if (!pack_record(pack, repack_entries[0].entry.offset, &head))
		return fail(err, EBADMSG, "a record is gone");
	if (head.count == count)
		return copy_single_record(r, pack, repack_entries, count, err);
	/* The record has more objects than the index: the known ones go into
	 * new blocks. */
	for (i = 0; i < count; i++) {
		struct copy copy = {(uint32_t)number + 1,
				    repack_entries[i].number};

		inventory_oid(&repack_entries[i].entry, &id);
		buf_clear(&bytes);
		if (inventory_read_copy(r->inv, &id, &copy, &bytes, err) < 0 ||
		    add_object_to_block(r, &repack_entries[i].entry, &bytes,
					err) < 0)
			return -err->num;
	}
	return 0;
}

static int repack_pack(struct repack_job *r, size_t number, struct err *err)
{
	const struct pack *pack = r->inv->packs[number].pack;
	uint32_t k, n = 0, start, count = pack_count(pack);
	auto_free struct repack_entry *repack_entries =
		mem_resize(NULL, count + 1, sizeof(*repack_entries));

	for (k = 0; k < count; k++) {
		struct copy copy = {(uint32_t)number + 1, k};
		struct repack_entry *repack_entry = &repack_entries[n];
		struct oid id;

		if (!pack_get(pack, k, &repack_entry->entry))
			continue;
		inventory_oid(&repack_entry->entry, &id);
		repack_entry->number = k;
		repack_entry->wanted = r->wanted(r->arg, &id, &copy);
		n++;
	}
	qsort(repack_entries, n, sizeof(*repack_entries),
	      compare_entry_offsets);
	for (start = 0; start < n; start = k) {
		for (k = start + 1; k < n; k++) {
			if (repack_entries[k].entry.offset !=
			    repack_entries[start].entry.offset)
				break;
		}
		if (repack_record(r, number, repack_entries + start, k - start,
				  err) < 0)
			return -err->num;
	}
	return 0;
}

static int publish_new_packs(struct repack_job *r, struct err *err)
{
	const struct store_dir *store_dir = store_get_dir(r->store);
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

static int repack_packs(struct repack_job *r, const size_t *packs, size_t count,
			struct err *err)
{
	size_t i;

	for (i = 0; i < count; i++) {
		if (repack_pack(r, packs[i], err) < 0)
			return -err->num;
	}
	for (i = 0; i < PACK_KINDS; i++) {
		if (write_new_block(r, (enum pack_kind)i, err) < 0 ||
		    finish_new_pack(r, &r->kinds[i], err) < 0)
			return -err->num;
	}
	return publish_new_packs(r, err);
}

int repack(struct store *s, struct inventory *inv, const size_t *packs,
	   size_t count,
	   bool (*wanted)(void *arg, const struct oid *id,
			  const struct copy *copy),
	   void *arg, uint64_t *ret_bytes, struct err *err)
{
	struct repack_job r = {
		.store = s, .inv = inv, .wanted = wanted, .arg = arg};
	int got = repack_packs(&r, packs, count, err);

	*ret_bytes = r.bytes;
	repack_job_free(&r);
	return got;
}
