#include "snapshot/store/inventory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/dirtree.h"
#include "base/text.h"
#include "base/vec.h"
#include "snapshot/store/store_private.h"

void inventory_free(struct inventory *inv)
{
	size_t i;

	for (i = 0; i < inv->count; i++) {
		pack_free(&inv->packs[i].pack);
		free(inv->packs[i].name);
		free(inv->packs[i].fault);
		free(inv->packs[i].flags);
	}
	free(inv->packs);
	free(inv->slots);
	blockcache_free(&inv->cache);
	explicit_bzero(&inv->key, sizeof(inv->key));
	*inv = (struct inventory){0};
}

/* --- loading --- */

/* Bytes of a pack outside heads, index, footer and single objects are blocks.
 */
static void measure_blocks(struct inventory_pack *p)
{
	uint64_t other = HEADER_LEN + FANOUT_LEN + FOOTER_LEN;
	struct pack_entry e;
	uint32_t i;

	for (i = 0; i < pack_count(p->pack); i++) {
		other += INDEX_ENTRY;
		if (!pack_get(p->pack, i, &e))
			continue;
		if (e.in_block)
			p->plain += e.id.len;
		else
			other += record_file_len(e.stored_len);
	}
	p->blocks = p->size > other ? p->size - other : 0;
}

static int add_inventory_pack(struct inventory *inv, int dir_fd, size_t dir,
			      const char *name, const unsigned char *uuid,
			      struct err *err)
{
	struct inventory_pack *p = &inv->packs[inv->count];
	struct stat st;
	int got = pack_open(dir_fd, name, uuid, false, &p->pack, err);

	if (got == -ENOENT)
		return 0;
	if (got < 0 && got != -EBADMSG && got != -EPROTO)
		return got;
	inv->count++;
	p->name = mem_strdup(name);
	p->dir = dir;
	if (got < 0) {
		p->fault_num = -got;
		p->fault = mem_strdup(err->text);
		if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
			p->size = (uint64_t)st.st_size;
		return 0;
	}
	p->size = pack_size(p->pack);
	p->flags = mem_zalloc(pack_count(p->pack) + 1);
	measure_blocks(p);
	inv->objects += pack_count(p->pack);
	if (pack_damaged(p->pack))
		p->fault = mem_printf("pack %s: its header, index or footer is "
				      "damaged",
				      text_quote(name));
	return 0;
}

static struct copy *first_slot(const struct inventory *inv,
			       const unsigned char *hash)
{
	return &inv->slots[hash_prefix(hash, inv->slot_bits)];
}

static struct copy *next_slot(const struct inventory *inv,
			      const struct copy *slot)
{
	size_t mask = ((size_t)1 << inv->slot_bits) - 1;

	return &inv->slots[(size_t)(slot - inv->slots + 1) & mask];
}

/* Newest packs are inserted first, so that lookups find them first. */
static void make_inventory_slots(struct inventory *inv)
{
	struct copy *slot;
	size_t i;
	uint32_t k;

	inv->slot_bits = 10;
	while ((uint64_t)1 << inv->slot_bits < 2 * inv->objects)
		inv->slot_bits++;
	inv->slots =
		mem_zalloc(((size_t)1 << inv->slot_bits) * sizeof(*inv->slots));
	for (i = inv->count; i-- > 0;) {
		const struct pack *pack = inv->packs[i].pack;

		for (k = 0; pack && k < pack_count(pack); k++) {
			slot = first_slot(inv, pack_hash(pack, k));
			while (slot->pack)
				slot = next_slot(inv, slot);
			*slot = (struct copy){(uint32_t)i + 1, k};
		}
	}
}

static int add_inventory_dir(struct store *s, struct inventory *inv, int dir_fd,
			     size_t dir, struct err *err)
{
	AUTO(dirlist) struct dirlist list = {0};
	size_t i;

	if (dirlist_read(dir_fd, &list, err) < 0)
		return -err->num;
	inv->packs = mem_resize(inv->packs, inv->count + list.count + 1,
				sizeof(*inv->packs));
	memset(inv->packs + inv->count, 0,
	       (list.count + 1) * sizeof(*inv->packs));
	for (i = 0; i < list.count; i++) {
		if (store_is_pack_name(list.items[i].name) &&
		    add_inventory_pack(inv, dir_fd, dir, list.items[i].name,
				       s->store_dir.format.uuid, err) < 0)
			return -err->num;
	}
	return 0;
}

int inventory_load_dirs(struct store *s, const int *dir_fds, size_t count,
			struct inventory *ret, struct err *err)
{
	AUTO(inventory) struct inventory inv = {0};
	size_t i;

	inv.key = s->store_dir.key;
	inv.cache = blockcache_new();
	for (i = 0; i < count; i++) {
		if (add_inventory_dir(s, &inv, dir_fds[i], i, err) < 0)
			return -err->num;
	}
	if (add_inventory_dir(s, &inv, s->store_dir.packs_fd, count, err) < 0)
		return -err->num;
	make_inventory_slots(&inv);
	*ret = TAKE(inv);
	return 0;
}

int inventory_load(struct store *s, struct inventory *ret, struct err *err)
{
	return inventory_load_dirs(s, NULL, 0, ret, err);
}

uint64_t inventory_cost(const struct inventory *inv, const struct copy *copy)
{
	const struct inventory_pack *p = inventory_pack(inv, copy);
	struct pack_entry e;

	if (!pack_get(p->pack, copy->entry, &e))
		return 0;
	if (!e.in_block)
		return record_file_len(e.stored_len) + INDEX_ENTRY;
	return (uint64_t)((double)e.id.len * (double)p->blocks /
			  (double)(p->plain + 1)) +
	       INDEX_ENTRY;
}

void inventory_clear(struct inventory *inv)
{
	size_t i;
	uint32_t k;

	for (i = 0; i < inv->count; i++) {
		struct inventory_pack *p = &inv->packs[i];

		for (k = 0; p->pack && k < pack_count(p->pack); k++)
			p->flags[k] &= COPY_BAD;
	}
	inv->reached = 0;
}

/* --- finding --- */

unsigned char *inventory_flags(const struct inventory *inv,
			       const struct copy *copy)
{
	return &inv->packs[copy->pack - 1].flags[copy->entry];
}

const struct inventory_pack *inventory_pack(const struct inventory *inv,
					    const struct copy *copy)
{
	return &inv->packs[copy->pack - 1];
}

/* The first copy of the name behind the given one (NULL: of all). replica: a
 * copy of the same hash, length and type with a higher ordinal, which was
 * stored because a lower ordinal could not be read. */
static const struct copy *next_copy(const struct inventory *inv,
				    const struct oid *id,
				    const struct copy *copy, bool replica)
{
	const struct copy *at =
		copy ? next_slot(inv, copy) : first_slot(inv, id->hash);

	for (; at->pack; at = next_slot(inv, at)) {
		const struct pack *pack = inventory_pack(inv, at)->pack;
		struct pack_entry e;

		if (memcmp(pack_hash(pack, at->entry), id->hash, HASH_LEN) !=
			    0 ||
		    !pack_get(pack, at->entry, &e))
			continue;
		if (replica ? e.id.type == id->type && e.id.len == id->len &&
				      e.id.ord > id->ord && e.again
			    : oid_equal(&e.id, id))
			return at;
	}
	return NULL;
}

void inventory_prefetch_slot(const struct inventory *inv, const struct oid *id)
{
	__builtin_prefetch(first_slot(inv, id->hash));
}

void inventory_prefetch_copy(const struct inventory *inv, const struct oid *id)
{
	const struct copy *copy = first_slot(inv, id->hash);

	for (; copy->pack; copy = next_slot(inv, copy)) {
		pack_prefetch(inventory_pack(inv, copy)->pack, copy->entry);
		__builtin_prefetch(inventory_flags(inv, copy));
	}
}

const struct copy *inventory_find(const struct inventory *inv,
				  const struct oid *id)
{
	return next_copy(inv, id, NULL, false);
}

const struct copy *inventory_next(const struct inventory *inv,
				  const struct oid *id, const struct copy *copy)
{
	return next_copy(inv, id, copy, false);
}

bool inventory_has(const struct inventory *inv, const struct oid *id)
{
	const struct copy *copy = inventory_find(inv, id);

	for (; copy; copy = inventory_next(inv, id, copy)) {
		if (!(*inventory_flags(inv, copy) & COPY_BAD))
			return true;
	}
	return false;
}

/* --- reading --- */

int inventory_read_copy(struct inventory *inv, const struct copy *copy,
			struct buf *to, struct err *err)
{
	struct place place = {.pack = inventory_pack(inv, copy)->pack};
	struct view view = {0};
	unsigned char hash[HASH_LEN];
	int got;

	if (pack_get(place.pack, copy->entry, &place.entry))
		got = store_place_read(inv->cache, &place, &view, err);
	else
		got = fail(err, EBADMSG, "a pack's index is invalid");
	if (got == 0) {
		hash_keyed(&inv->key, view.data, view.len, hash);
		if (memcmp(hash, place.entry.id.hash, HASH_LEN) == 0)
			buf_add(to, view.data, view.len);
		else
			got = fail(err, EBADMSG,
				   "pack %s: the object at byte %llu (+%u) "
				   "does not match its hash",
				   text_quote(pack_name(place.pack)),
				   (unsigned long long)place.entry.offset,
				   place.entry.inner);
		store_view_done(inv->cache, &view);
	}
	if (got < 0)
		*inventory_flags(inv, copy) |= COPY_BAD;
	return got;
}

int inventory_read(struct inventory *inv, const struct oid *id, struct buf *to,
		   struct err *err)
{
	const struct copy *copy = inventory_find(inv, id);
	int got = fail(err, ENOENT, "no pack has the object");

	for (; copy; copy = inventory_next(inv, id, copy)) {
		if (*inventory_flags(inv, copy) & COPY_BAD)
			got = fail(err, EBADMSG, "the object is damaged");
		else
			got = inventory_read_copy(inv, copy, to, err);
		if (got == 0)
			return 0;
	}
	return got;
}

/* --- the index over many packs --- */

/* Whether the index over many packs has all objects of one pack. */
static bool index_has_pack(const struct midx *m, const struct pack *pack,
			   size_t number)
{
	size_t first, end;
	uint32_t i;

	for (i = 0; i < pack_count(pack); i++) {
		if (!midx_find(m, pack_hash(pack, i), &first, &end))
			return false;
		while (first < end && midx_pack(m, first) != number)
			first++;
		if (first == end)
			return false;
	}
	return true;
}

int inventory_check_index(const struct inventory *inv, const struct store *s,
			  struct err *err)
{
	const struct store_dir *f = &s->store_dir;
	AUTO(midx) struct midx *m = NULL;
	int got = midx_open(f->fd, MIDX_FILE, f->format.uuid, &m, err);
	size_t i, number;

	if (got < 0)
		return got == -ENOENT || got == -EPROTO ? 0 : got;
	if (!midx_is_intact(m))
		return fail(err, EBADMSG,
			    "it is damaged; every pack is searched instead");
	for (i = 0; i < inv->count; i++) {
		const struct inventory_pack *p = &inv->packs[i];

		number = midx_number(m, p->name);
		if (number < midx_count(m) && p->pack && !p->fault &&
		    !index_has_pack(m, p->pack, number))
			return fail(err, EBADMSG,
				    "it lacks objects of its packs");
	}
	return 0;
}

/* --- repacking --- */

static int compare_copy_offsets(const void *pa, const void *pb)
{
	const struct pack_entry *a =
		&((const struct inventory_entry *)pa)->entry;
	const struct pack_entry *b =
		&((const struct inventory_entry *)pb)->entry;

	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	return a->inner < b->inner ? -1 : a->inner > b->inner;
}

struct inventory_entry *inventory_by_offset(const struct inventory *inv,
					    size_t pack, size_t *ret_count)
{
	const struct pack *p = inv->packs[pack].pack;
	size_t count = p ? pack_count(p) : 0, k;
	struct inventory_entry *list = mem_zalloc((count + 1) * sizeof(*list));

	for (k = 0; k < count; k++) {
		list[k].copy = (struct copy){(uint32_t)pack + 1, (uint32_t)k};
		list[k].damaged = !pack_get(p, (uint32_t)k, &list[k].entry);
	}
	vec_sort(list, count, sizeof(*list), compare_copy_offsets);
	*ret_count = count;
	return list;
}

/* Copies a record unchanged. list: all its objects. The kind of the new pack
 * comes from their type: the old pack's header may be damaged. */
static int copy_record(struct store *s, const struct record_head *head,
		       const void *payload, const struct inventory_entry *list,
		       struct err *err)
{
	struct out_pack *full;
	struct place place;
	uint32_t i;

	if (store_write_record(s, store_pack_kind(list->entry.id.type), head,
			       payload, &place, &full, err) < 0)
		return -err->num;
	store_lock(s);
	for (i = 0; i < head->count; i++) {
		struct pack_entry e = list[i].entry;

		e.offset = place.entry.offset;
		e.stored_len = place.entry.stored_len;
		packer_add(place.out->writer, &e);
	}
	store_place_unpin(s, &place);
	store_unlock(s);
	return full ? store_end_pack(s, full, err) : 0;
}

/* list: all known objects of one record. The record may have more of them than
 * the index, and damaged ones are not wanted. */
static int repack_record(struct store *s, struct inventory *inv,
			 const struct inventory_entry *list, size_t count,
			 struct err *err)
{
	const struct pack *pack = inventory_pack(inv, &list->copy)->pack;
	AUTO(buf) struct buf bytes = {0};
	struct record_head head;
	const unsigned char *payload =
		pack_record(pack, list->entry.offset, &head);
	size_t i, wanted = 0;
	bool complete;

	for (i = 0; i < count; i++)
		wanted += list[i].wanted;
	complete = payload && wanted == count && head.count == count;
	/* Objects are also read when the record is copied unchanged, so that
	 * every byte is checked. */
	for (i = 0; i < count; i++) {
		if (!list[i].wanted)
			continue;
		buf_clear(&bytes);
		if (inventory_read_copy(inv, &list[i].copy, &bytes, err) < 0 ||
		    (!complete && store_put_as(s, &list[i].entry.id, bytes.data,
					       list[i].entry.again, err) < 0))
			return -err->num;
	}
	return complete ? copy_record(s, &head, payload, list, err) : 0;
}

int inventory_repack(struct store *s, struct inventory *inv,
		     const size_t *packs, size_t count,
		     bool (*wanted)(void *arg, const struct oid *id,
				    const struct copy *copy),
		     void *arg, uint64_t *ret_bytes, struct err *err)
{
	const struct out_pack *before = s->outs, *out;
	size_t i, k, start;

	s->hold_packs = true;
	for (i = 0; i < count; i++) {
		size_t n;
		auto_free struct inventory_entry *list =
			inventory_by_offset(inv, packs[i], &n);

		for (k = 0; k < n; k++)
			list[k].wanted =
				!list[k].damaged &&
				wanted(arg, &list[k].entry.id, &list[k].copy);
		for (start = 0; start < n; start = k) {
			for (k = start + 1;
			     k < n &&
			     list[k].entry.offset == list[start].entry.offset;
			     k++)
				;
			if (repack_record(s, inv, list + start, k - start,
					  err) < 0)
				return -err->num;
		}
	}
	if (count && store_flush(s, err) < 0)
		return -err->num;
	s->hold_packs = false;
	/* Packs in front of `before` in the list are new; their indexes do not
	 * count. */
	for (*ret_bytes = 0, out = s->outs; out != before; out = out->next)
		*ret_bytes += pack_size(out->pack) - FANOUT_LEN - FOOTER_LEN -
			      (uint64_t)pack_count(out->pack) * INDEX_ENTRY;
	return 0;
}

/* --- replicas --- */

/* Replicas are stored in blocks, which have a maximum length. */
#define REPLICA_LEN_MAX ((uint64_t)BLOCK_LEN_MAX / 2)

/* Reads the bytes that all replicas of a name share. False: no replica, or
 * replicas with different bytes. */
static bool read_replica(struct inventory *inv, const struct oid *id,
			 struct buf *ret)
{
	const struct copy *copy = NULL;
	AUTO(buf) struct buf other = {0};
	struct err ignored;
	bool any = false;

	while ((copy = next_copy(inv, id, copy, true))) {
		buf_clear(&other);
		if (inventory_read_copy(inv, copy, any ? &other : ret,
					&ignored) < 0)
			continue;
		if (any && memcmp(other.data, ret->data, ret->len) != 0)
			return false;
		any = true;
	}
	return any;
}

static int fill_lower_ordinal(struct store *s, struct inventory *inv,
			      struct oid id, uint64_t *count, struct err *err)
{
	AUTO(buf) struct buf bytes = {0};

	while (id.ord-- > 0) {
		if (inventory_has(inv, &id) || store_has(s, &id))
			continue;
		buf_clear(&bytes);
		if (!read_replica(inv, &id, &bytes))
			continue;
		if (store_put_as(s, &id, bytes.data, false, err) < 0)
			return -err->num;
		(*count)++;
	}
	return 0;
}

int inventory_fill_replicas(struct store *s, uint64_t *ret_count,
			    struct err *err)
{
	AUTO(inventory) struct inventory inv = {0};
	uint64_t count = 0;
	size_t i;
	uint32_t k;

	if (inventory_load(s, &inv, err) < 0)
		return -err->num;
	for (i = 0; i < inv.count; i++) {
		const struct pack *pack = inv.packs[i].pack;
		struct pack_entry e;

		for (k = 0; pack && k < pack_count(pack); k++) {
			if (!pack_get(pack, k, &e) || !e.id.ord ||
			    e.id.len > REPLICA_LEN_MAX)
				continue;
			if (fill_lower_ordinal(s, &inv, e.id, &count, err) < 0)
				return -err->num;
		}
	}
	if (count && store_flush(s, err) < 0)
		return -err->num;
	*ret_count = count;
	return 0;
}
