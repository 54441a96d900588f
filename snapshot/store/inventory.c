#include "snapshot/store/inventory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/text.h"
#include "base/dirtree.h"
#include "snapshot/store/store_private.h"

static bool is_pack_name(const char *name)
{
	size_t len = strlen(name);

	return len > 4 && strcmp(name + len - 4, ".gpk") == 0;
}

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
	int got = pack_open(dir_fd, name, uuid, &p->pack, err);

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

/* Newest packs are inserted first, so that lookups find them first. */
static void make_inventory_slots(struct inventory *inv)
{
	size_t i, at, mask;
	uint32_t k;

	inv->slot_count = 1024;
	while (inv->slot_count < 2 * inv->objects)
		inv->slot_count *= 2;
	mask = inv->slot_count - 1;
	inv->slots = mem_zalloc(inv->slot_count * sizeof(*inv->slots));
	for (i = inv->count; i-- > 0;) {
		const struct pack *pack = inv->packs[i].pack;

		for (k = 0; pack && k < pack_count(pack); k++) {
			at = store_hash_start(pack_hash(pack, k), 63) & mask;
			while (inv->slots[at].pack)
				at = (at + 1) & mask;
			inv->slots[at] = (struct copy){(uint32_t)i + 1, k};
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
		if (is_pack_name(list.items[i].name) &&
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
	*ret = inv;
	inv = (struct inventory){0};
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

/* The first copy of the name at slot `at` or behind it. */
static const struct copy *search_slots(const struct inventory *inv,
				       const struct oid *id, size_t at)
{
	size_t mask = inv->slot_count - 1;

	for (; inv->slots[at].pack; at = (at + 1) & mask) {
		const struct copy *copy = &inv->slots[at];
		const struct pack *pack = inventory_pack(inv, copy)->pack;
		struct pack_entry e;

		if (memcmp(pack_hash(pack, copy->entry), id->hash, HASH_LEN) ==
			    0 &&
		    pack_get(pack, copy->entry, &e) && oid_equal(&e.id, id))
			return copy;
	}
	return NULL;
}

const struct copy *inventory_find(const struct inventory *inv,
				  const struct oid *id)
{
	return search_slots(inv, id,
			    store_hash_start(id->hash, 63) &
				    (inv->slot_count - 1));
}

const struct copy *inventory_next(const struct inventory *inv,
				  const struct oid *id, const struct copy *copy)
{
	return search_slots(inv, id,
			    ((size_t)(copy - inv->slots) + 1) &
				    (inv->slot_count - 1));
}

const struct copy *inventory_replica(const struct inventory *inv,
				     const struct oid *id,
				     const struct copy *copy, struct oid *ret)
{
	size_t mask = inv->slot_count - 1;
	size_t at = copy ? (size_t)(copy - inv->slots) + 1
			 : store_hash_start(id->hash, 63);

	for (at &= mask; inv->slots[at].pack; at = (at + 1) & mask) {
		const struct pack *pack =
			inventory_pack(inv, &inv->slots[at])->pack;
		struct pack_entry e;

		if (memcmp(pack_hash(pack, inv->slots[at].entry), id->hash,
			   HASH_LEN) != 0 ||
		    !pack_get(pack, inv->slots[at].entry, &e) ||
		    e.id.type != id->type || e.id.len != id->len ||
		    e.id.ord <= id->ord || !e.again)
			continue;
		*ret = e.id;
		return &inv->slots[at];
	}
	return NULL;
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
		got = fail(err, EBADMSG, "a pack's index is wrong");
	if (got == 0) {
		hash_keyed(&inv->key, view.data, view.len, hash);
		if (memcmp(hash, place.entry.id.hash, HASH_LEN) == 0)
			buf_add(to, view.data, view.len);
		else
			got = fail(err, EBADMSG,
				   "pack %s: the object at byte %llu (+%u) is "
				   "not what its name says",
				   text_quote(pack_name(place.pack)),
				   (unsigned long long)place.entry.offset,
				   place.entry.inner);
		store_place_done(inv->cache, &view);
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
