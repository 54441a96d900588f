#include "snapshot/store/repack.h"

#include <errno.h>
#include <stdlib.h>

#include "base/auto.h"
#include "base/vec.h"
#include "snapshot/store/store_private.h"

/* An object of a pack, and its number in the pack's index. */
struct repack_entry {
	struct pack_entry entry;
	struct copy copy;
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

/* Copies a record unchanged. list: all its objects. The kind of the new pack
 * comes from their type: the old pack's header may be damaged. */
static int copy_record(struct store *s, const struct record_head *head,
		       const void *payload, const struct repack_entry *list,
		       struct err *err)
{
	struct out_pack *full;
	struct place place;
	uint32_t i;

	if (store_write_record(s, store_pack_kind(list->entry.id.type), head,
			       payload, &place, &full, err) < 0)
		return -err->num;
	(void)pthread_mutex_lock(&s->mutex);
	for (i = 0; i < head->count; i++) {
		struct pack_entry e = list[i].entry;

		e.offset = place.entry.offset;
		e.stored_len = place.entry.stored_len;
		packer_add(place.out->writer, &e);
	}
	store_place_unpin(s, &place);
	(void)pthread_mutex_unlock(&s->mutex);
	return full ? store_end_pack(s, full, err) : 0;
}

/* list: all known objects of one record. The record may have more of them than
 * the index. */
static int repack_record(struct store *s, struct inventory *inv,
			 const struct repack_entry *list, size_t count,
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

/* Size of the packs in front of `end` in the list, without their indexes. */
static uint64_t sum_new_packs(const struct store *s, const struct out_pack *end)
{
	const struct out_pack *out;
	uint64_t bytes = 0;

	for (out = s->outs; out != end; out = out->next)
		bytes += pack_size(out->pack) - FANOUT_LEN - FOOTER_LEN -
			 (uint64_t)pack_count(out->pack) * INDEX_ENTRY;
	return bytes;
}

int repack(struct store *s, struct inventory *inv, const size_t *packs,
	   size_t count,
	   bool (*wanted)(void *arg, const struct oid *id,
			  const struct copy *copy),
	   void *arg, uint64_t *ret_bytes, struct err *err)
{
	const struct out_pack *before = s->outs;
	size_t i, k, start;

	for (i = 0; i < count; i++) {
		const struct pack *pack = inv->packs[packs[i]].pack;
		size_t n = 0, all = pack_count(pack);
		auto_free struct repack_entry *list =
			mem_resize(NULL, all + 1, sizeof(*list));

		for (k = 0; k < all; k++) {
			struct repack_entry *e = &list[n];

			if (!pack_get(pack, (uint32_t)k, &e->entry))
				continue;
			e->copy = (struct copy){(uint32_t)packs[i] + 1,
						(uint32_t)k};
			e->wanted = wanted(arg, &e->entry.id, &e->copy);
			n++;
		}
		vec_sort(list, n, sizeof(*list), compare_entry_offsets);
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
	*ret_bytes = sum_new_packs(s, before);
	return 0;
}
