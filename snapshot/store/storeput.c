#include <errno.h>
#include <string.h>

#include "snapshot/store/compress.h"
#include "snapshot/store/store_private.h"

/* Objects of this size and more have their own record. */
#define SINGLE_LEN ((size_t)64 << 10)

struct put_request {
	struct oid id; /* without the ordinal */
	const void *data;
};

/* State of the search for equal bytes. */
struct put_search {
	const struct pack_set *set; /* all its packs were compared */
	size_t own; /* own objects below this index were compared */
	int ord; /* highest ordinal of the hash, -1 for none */
	uint64_t others; /* bit i: ordinal i is known to have different bytes */
};

static struct oid with_ordinal(struct oid id, int ord)
{
	id.ord = (uint16_t)ord;
	return id;
}

static void note_other_bytes(struct put_search *q, unsigned int ord)
{
	if (ord < 64)
		q->others |= (uint64_t)1 << ord;
}

/* Whether an object with a lower ordinal cannot be read, so that the new object
 * may be its replica. */
static bool replaces_unreadable(const struct put_search *q)
{
	unsigned int lower = (unsigned int)(q->ord + 1);

	return lower &&
	       (lower >= 64 || q->others != ((uint64_t)1 << lower) - 1);
}

/* An object that cannot be read is not known to be equal, so it counts as
 * different. */
static bool has_same_bytes(struct store *s, const struct place *place,
			   const struct put_request *put_request,
			   struct put_search *q)
{
	struct view view;
	struct err ignored;
	bool equal = false;

	if (place->entry.id.len == put_request->id.len) {
		if (store_place_read(s->cache, place, &view, &ignored) < 0)
			return false;
		equal = memcmp(view.data, put_request->data,
			       put_request->id.len) == 0;
		store_place_done(s->cache, &view);
	}
	if (!equal)
		note_other_bytes(q, place->entry.id.ord);
	return equal;
}

static bool find_same_in_pack(struct store *s, struct pack *pack,
			      const struct put_request *put_request,
			      struct put_search *q, struct oid *ret)
{
	struct place place = {.pack = pack};
	uint32_t at = pack_find(pack, put_request->id.hash);

	for (; at < pack_count(pack); at++) {
		bool ok = pack_get(pack, at, &place.entry);

		if (memcmp(place.entry.id.hash, put_request->id.hash,
			   HASH_LEN) != 0)
			break;
		if (!ok || place.entry.id.type != put_request->id.type)
			continue;
		if (place.entry.id.ord > q->ord)
			q->ord = place.entry.id.ord;
		if (has_same_bytes(s, &place, put_request, q)) {
			*ret = with_ordinal(put_request->id,
					    place.entry.id.ord);
			return true;
		}
	}
	return false;
}

/* Called without the mutex. */
static bool find_same_in_packs(struct store *s, const struct pack_set *set,
			       const struct put_request *put_request,
			       struct put_search *q, struct oid *ret)
{
	struct pack_walk walk = pack_walk_start(set, put_request->id.hash);
	struct pack *pack;

	while ((pack = pack_walk_next(s, &walk)))
		if (find_same_in_pack(s, pack, put_request, q, ret))
			return true;
	return false;
}

/* Called under the mutex, which may be released in between. */
static bool is_same_object(struct store *s, const struct object *o,
			   const struct put_request *put_request,
			   struct put_search *q, struct oid *ret)
{
	struct place place;
	uint16_t ord = o->ord;
	bool equal;

	if (!o->block->out) {
		equal = o->len == put_request->id.len &&
			memcmp(o->block->data.data + o->inner,
			       put_request->data, put_request->id.len) == 0;
		if (!equal)
			note_other_bytes(q, ord);
	} else {
		store_place_pin(o, &place);
		(void)pthread_mutex_unlock(&s->mutex);
		equal = has_same_bytes(s, &place, put_request, q);
		(void)pthread_mutex_lock(&s->mutex);
		store_place_unpin(s, &place);
	}
	if (equal)
		*ret = with_ordinal(put_request->id, ord);
	return equal;
}

/* Called under the mutex, which may be released in between. False: no object
 * has these bytes, and none will while the mutex is held; the next ordinal is
 * q->ord + 1. */
static bool put_search(struct store *s, const struct put_request *put_request,
		       struct put_search *q, struct oid *ret)
{
	const struct pack_set *set;
	struct object *o;
	bool known;
	size_t i;

	for (;;) {
		set = s->set;
		if (q->set != set &&
		    pack_set_may_have(set, put_request->id.hash)) {
			(void)pthread_mutex_unlock(&s->mutex);
			known = find_same_in_packs(s, set, put_request, q, ret);
			(void)pthread_mutex_lock(&s->mutex);
			if (known)
				return true;
		}
		q->set = set;
		o = objects_find(&s->objects, put_request->id.hash,
				 put_request->id.type, q->own, &i);
		if (o) {
			q->own = i + 1;
			if (o->ord > q->ord)
				q->ord = o->ord;
			if (is_same_object(s, o, put_request, q, ret))
				return true;
		} else if (set == s->set) {
			return false;
		}
	}
}

/* --- adding; under the mutex --- */

static struct block *new_open_block(struct store *s, enum pack_kind kind)
{
	struct block *block = mem_zalloc(sizeof(*block));

	block->kind = kind;
	block->next = s->blocks;
	s->blocks = block;
	return block;
}

static void add_own_object(struct store *s, const struct pack_entry *e,
			   struct block *block)
{
	struct object *o = objects_add(&s->objects, e->id.hash, e->id.type);

	o->len = (uint32_t)e->id.len;
	o->inner = e->inner;
	o->block = block;
	o->ord = e->id.ord;
	s->stats.new_objects++;
	s->stats.new_bytes += e->id.len;
	if (e->id.ord)
		s->stats.collisions++;
}

/* Adds to the block that is being filled; returns the block when it is full. */
static struct block *add_small_object(struct store *s, const struct oid *id,
				      const void *data, bool again)
{
	enum pack_kind kind = store_pack_kind(id->type);
	struct block *block = s->filling[kind];
	struct pack_entry e = {.id = *id, .again = again};

	if (!block) {
		block = s->filling[kind] = new_open_block(s, kind);
		if (s->spare_count)
			block->data = s->spares[--s->spare_count];
		(void)buf_reserve(&block->data,
				  block_full(kind) + SINGLE_LEN + (128 << 10));
	}
	e.inner = (uint32_t)block->data.len;
	add_own_object(s, &e, block);
	buf_add(&block->data, data, id->len);
	block_table_add(buf_reserve(&block->table, BLOCK_TABLE_ENTRY), &e);
	block->table.len += BLOCK_TABLE_ENTRY;
	block->count++;
	if (block->data.len < block_full(kind) &&
	    block->table.len < block_full(kind) / 2)
		return NULL;
	s->filling[kind] = NULL;
	s->busy++;
	return block;
}

static int check_ordinal(int ord, struct err *err)
{
	if (ord >= UINT16_MAX)
		return fail(err, EOVERFLOW,
			    "too many objects of one hash: an attack?");
	return 0;
}

static int put_small_object(struct store *s,
			    const struct put_request *put_request,
			    struct put_search *q, struct oid *ret,
			    struct err *err)
{
	struct block *full;
	int got;

	if (put_search(s, put_request, q, ret)) {
		(void)pthread_mutex_unlock(&s->mutex);
		return 0;
	}
	got = check_ordinal(q->ord, err);
	if (got < 0) {
		(void)pthread_mutex_unlock(&s->mutex);
		return got;
	}
	*ret = with_ordinal(put_request->id, q->ord + 1);
	full = add_small_object(s, ret, put_request->data,
				replaces_unreadable(q));
	(void)pthread_mutex_unlock(&s->mutex);
	return full ? store_write_block(s, full, err) : 0;
}

/*
 * Compresses and writes an object before other threads can find it. When
 * another thread has stored equal bytes, or other bytes of the same hash, in
 * the meantime, the record stays unused. 1: done; 0: the ordinal was taken, try
 * again.
 */
static int put_single_object(struct store *s,
			     const struct put_request *put_request,
			     struct put_search *q, struct oid *ret,
			     struct err *err)
{
	struct record_head head = {.type = put_request->id.type,
				   .count = 1,
				   .plain_len = put_request->id.len};
	struct out_pack *full = NULL;
	struct place place = {0};
	struct pack_entry e;
	struct block *block;
	const void *payload;
	size_t len;
	int ord;
	bool done;

	memcpy(head.hash, put_request->id.hash, HASH_LEN);
	if (put_search(s, put_request, q, ret)) {
		(void)pthread_mutex_unlock(&s->mutex);
		return 1;
	}
	ord = q->ord + 1;
	(void)pthread_mutex_unlock(&s->mutex);
	if (check_ordinal(ord - 1, err) < 0)
		return -err->num;
	payload = compress_bytes(put_request->data, put_request->id.len, true,
				 &len);
	head.codec = payload ? CODEC_ZSTD : CODEC_RAW;
	head.ord = (uint16_t)ord;
	head.stored_len = payload ? len : put_request->id.len;
	if (!payload)
		payload = put_request->data;
	head.check = hash_check(payload, head.stored_len);
	if (store_write_record(s, store_pack_kind(head.type), &head, payload,
			       &place, &full, err) < 0)
		return -err->num;
	(void)pthread_mutex_lock(&s->mutex);
	done = put_search(s, put_request, q, ret);
	if (!done && q->ord + 1 == ord) {
		block = new_open_block(s,
				       store_pack_kind(put_request->id.type));
		block->single = true;
		block->out = place.out;
		block->offset = place.entry.offset;
		*ret = with_ordinal(put_request->id, ord);
		e = (struct pack_entry){
			.id = *ret,
			.offset = place.entry.offset,
			.stored_len = place.entry.stored_len,
			.again = replaces_unreadable(q),
		};
		add_own_object(s, &e, block);
		packer_add(place.out->writer, &e);
		done = true;
	}
	store_place_unpin(s, &place);
	(void)pthread_mutex_unlock(&s->mutex);
	if (full && store_end_pack(s, full, err) < 0)
		return -err->num;
	return done;
}

/* Takes the mutex, except on failure. */
static int begin_put(struct store *s, size_t len, struct err *err)
{
	(void)pthread_mutex_lock(&s->mutex);
	while (s->flushing && !s->failed.num)
		(void)pthread_cond_wait(&s->changed, &s->mutex);
	if (s->failed.num) {
		*err = s->failed;
		(void)pthread_mutex_unlock(&s->mutex);
		return -err->num;
	}
	s->stats.put_objects++;
	s->stats.put_bytes += len;
	return 0;
}

int store_put(struct store *s, enum object_type type, const void *data,
	      size_t len, struct oid *ret, struct err *err)
{
	struct put_request put_request = {
		.id = {.len = len, .type = (uint8_t)type}, .data = data};
	struct put_search q = {.ord = -1};
	int got;

	if (s->mode != STORE_WRITE || type < OBJECT_DATA ||
	    type > OBJECT_ATTRSET || len > OBJECT_LEN_MAX)
		return fail(err, EINVAL, "not an object to be stored");
	hash_keyed(&s->store_dir.key, data, len, put_request.id.hash);
	if (begin_put(s, len, err) < 0)
		return -err->num;
	if (len < SINGLE_LEN)
		return put_small_object(s, &put_request, &q, ret, err);
	while ((got = put_single_object(s, &put_request, &q, ret, err)) == 0)
		(void)pthread_mutex_lock(&s->mutex);
	return got < 0 ? got : 0;
}

int store_put_as(struct store *s, const struct oid *id, const void *data,
		 bool again, struct err *err)
{
	struct block *full;

	if (begin_put(s, id->len, err) < 0)
		return -err->num;
	full = add_small_object(s, id, data, again);
	(void)pthread_mutex_unlock(&s->mutex);
	return full ? store_write_block(s, full, err) : 0;
}
