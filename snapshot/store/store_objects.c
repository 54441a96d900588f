#include "snapshot/store/store_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/text.h"

bool oid_equal(const struct oid *a, const struct oid *b)
{
	if (a->type == OBJECT_NONE || b->type == OBJECT_NONE)
		return a->type == b->type;
	return a->type == b->type && a->len == b->len && a->ord == b->ord &&
	       memcmp(a->hash, b->hash, HASH_LEN) == 0;
}

void store_digest(const struct store *s, const void *data, size_t len,
		  unsigned char ret[16])
{
	hash_keyed(&s->store_dir.key, data, len, ret);
}

uint64_t store_hash_text(const char *text)
{
	return hash_check(text, strlen(text));
}

int store_open(struct store **ret, const char *dir, enum store_mode mode,
	       struct err *err)
{
	AUTO(store) struct store *s = mem_zalloc(sizeof(*s));

	(void)pthread_mutex_init(&s->mutex, NULL);
	(void)pthread_cond_init(&s->changed, NULL);
	s->mode = mode;
	s->store_dir = (struct store_dir){-1, -1, -1, -1, .format = {{0}}};
	s->cache = blockcache_new();
	if (store_dir_open(&s->store_dir, dir, mode == STORE_WRITE, err) < 0)
		return -err->num;
	store_load_midx(s);
	/* A reader with an index lists the packs when it does not find an
	 * object in them. */
	if ((mode == STORE_WRITE || !s->midx) &&
	    store_refresh_packs(s, err) < 0)
		return -err->num;
	gear_make(&s->gear, s->store_dir.key.secret);
	*ret = TAKE(s);
	return 0;
}

static void free_packs(struct store *s)
{
	size_t i;

	for (i = 0; i < s->packs.count; i++)
		pack_free(&s->packs.items[i]);
	VEC_FREE(&s->packs);
	for (i = 0; s->midx && i < midx_count(s->midx); i++)
		pack_free(&s->indexed[i]);
	free(s->indexed);
	midx_free(&s->midx);
	free(s->filter);
	dirlist_free(&s->listed);
	mem_list_free(&s->damaged_names);
	free(s->damaged);
}

static void free_own(struct store *s)
{
	while (s->outs) {
		struct out_pack *out = s->outs;

		s->outs = out->next;
		packer_free(&out->writer);
		pack_free(&out->pack);
		free(out->name);
		free(out);
	}
	while (s->blocks) {
		struct block *block = s->blocks;

		s->blocks = block->next;
		buf_free(&block->data);
		buf_free(&block->table);
		free(block);
	}
	VEC_FREE(&s->ended);
	objects_free(&s->objects);
}

void store_free(struct store **store)
{
	struct store *s = *store;

	if (!s)
		return;
	free_own(s);
	free_packs(s);
	blockcache_free(&s->cache);
	store_dir_close(&s->store_dir);
	(void)pthread_cond_destroy(&s->changed);
	(void)pthread_mutex_destroy(&s->mutex);
	free(s);
	*store = NULL;
}

const struct store_dir *store_get_dir(const struct store *s)
{
	return &s->store_dir;
}

int store_open_subdir(const struct store *s, const char *name, struct err *err)
{
	return store_dir_open_subdir(s->store_dir.fd, name, err);
}

int store_root_fd(const struct store *s)
{
	return s->store_dir.fd;
}

const struct gear *store_gear(const struct store *s)
{
	return &s->gear;
}

int store_commit_begin(struct store *s, struct err *err)
{
	return store_dir_commit_begin(&s->store_dir, err);
}

void store_commit_end(struct store *s, int lock_fd)
{
	store_dir_commit_end(&s->store_dir, lock_fd);
}

/* --- finding --- */

/* Appends the bytes of an object when they are intact, and ends their use. */
static int append_object(struct store *s, struct view *view,
			 const struct oid *id, struct buf *to, struct err *err)
{
	unsigned char hash[HASH_LEN];
	int got = 1;

	hash_keyed(&s->store_dir.key, view->data, view->len, hash);
	if (memcmp(hash, id->hash, HASH_LEN) == 0)
		buf_add(to, view->data, view->len);
	else
		got = fail(err, EBADMSG, "an object is damaged");
	store_view_done(s->cache, view);
	return got;
}

/* 1: found; 0: not an object of this process; negative: it cannot be read. */
static int get_own_object(struct store *s, const struct oid *id, struct buf *to,
			  struct err *err)
{
	struct view view = {0};
	struct object *o;
	size_t i = 0;
	int got = 0;

	store_lock(s);
	while ((o = objects_find(&s->objects, id->hash, id->type, i, &i)) &&
	       (o->ord != id->ord || o->len != id->len))
		i++;
	if (o && to)
		got = store_own_read(s, o, &view, err);
	store_unlock(s);
	if (!o || !to)
		return o != NULL;
	return got < 0 ? got : append_object(s, &view, id, to, err);
}

/* As get_own_object(), from packs of other processes. Tries every copy. A pack
 * that cannot be opened for want of descriptors is not one without the object.
 */
static int get_packed_object(struct store *s, const struct oid *id,
			     struct buf *to, struct err *err)
{
	struct copies copies;
	struct place place;
	struct view view;
	int got = 0;

	store_lock(s);
	copies = copies_start(s, id->hash);
	store_unlock(s);
	while (got != 1 && copies_next(s, &copies, &place)) {
		if (!oid_equal(&place.entry.id, id))
			continue;
		if (!to)
			return 1;
		got = store_place_read(s->cache, &place, &view, err);
		if (got == 0)
			got = append_object(s, &view, id, to, err);
	}
	return got == 0 && copies.failed ? fail_num(err, copies.failed,
						    "open a pack of the store")
					 : got;
}

/* As get_packed_object(); a store open for reading checks the indexes of its
 * packs and searches a second time. */
static int find_packed_object(struct store *s, const struct oid *id,
			      struct buf *to, struct err *err)
{
	int got = get_packed_object(s, id, to, err);
	struct err ignored;

	if (s->mode != STORE_READ)
		return got;
	/* The object, or an intact copy of it, may be in a newer pack than
	 * those of the index. A reader holds no lock: prune may have moved the
	 * object into a pack that did not exist when the packs were listed. */
	if (got != 1 && store_refresh_packs(s, &ignored) == 0)
		got = get_packed_object(s, id, to, err);
	if (got != 1 && store_check_packs(s))
		got = get_packed_object(s, id, to, err);
	return got;
}

static bool is_oid_valid(const struct oid *id)
{
	return id->type >= OBJECT_DATA && id->type <= OBJECT_ATTRSET &&
	       id->len <= OBJECT_LEN_MAX;
}

/* A pack with a read error, or NULL. Called under the mutex. */
static const struct pack *find_failed_pack(const struct store *s)
{
	size_t i;

	for (i = 0; i < s->packs.count; i++)
		if (pack_failed(s->packs.items[i]))
			return s->packs.items[i];
	for (i = 0; s->midx && i < midx_count(s->midx); i++)
		if (s->indexed[i] && pack_failed(s->indexed[i]))
			return s->indexed[i];
	return NULL;
}

static int fail_object_missing(struct store *s, struct err *err)
{
	const struct pack *failed;
	int got;

	store_lock(s);
	failed = find_failed_pack(s);
	if (failed)
		got = pack_fail(failed, err);
	else if (s->damaged)
		got = fail(err, EBADMSG,
			   "an object is missing, and packs are damaged: %s",
			   s->damaged);
	else
		got = fail(
			err, ENOENT,
			"an object is missing from the store: `guard repair` "
			"stores it again from files that still have it");
	store_unlock(s);
	return got;
}

int store_get(struct store *s, const struct oid *id, struct buf *to,
	      struct err *err)
{
	struct err own;
	int got;

	if (!is_oid_valid(id))
		return fail(
			err, EBADMSG,
			"not the name of an object: invalid type or length");
	got = get_own_object(s, id, to, &own);
	if (got == 1)
		return 0;
	if (got < 0)
		*err = own;
	if (got == 0)
		got = find_packed_object(s, id, to, err);
	else if (get_packed_object(s, id, to, &own) == 1)
		got = 1;
	/* Another process may have stored it after this one listed the packs.
	 */
	if (got == 0 && s->mode != STORE_READ) {
		if (store_refresh(s, err) < 0)
			return -err->num;
		got = get_packed_object(s, id, to, err);
	}
	if (got == 1)
		return 0;
	return got < 0 ? got : fail_object_missing(s, err);
}

bool store_has(struct store *s, const struct oid *id)
{
	struct err ignored;

	return is_oid_valid(id) &&
	       (get_own_object(s, id, NULL, &ignored) == 1 ||
		find_packed_object(s, id, NULL, &ignored) == 1);
}

/* Packs are much smaller than this. */
#define WHERE_PACK_SHIFT 40

uint64_t store_position(struct store *s, const struct oid *id)
{
	struct copies copies;
	struct place place;

	store_lock(s);
	copies = copies_start(s, id->hash);
	store_unlock(s);
	while (copies_next(s, &copies, &place))
		if (oid_equal(&place.entry.id, id))
			return (uint64_t)copies.number << WHERE_PACK_SHIFT |
			       place.entry.offset;
	return UINT64_MAX;
}

/* --- adding --- */

/* Objects of this size and more have their own record. */
#define SINGLE_LEN ((size_t)64 << 10)

/* An object that is being stored, and the search for equal bytes. */
struct put {
	struct oid id; /* with the ordinal once it is found or chosen */
	const void *data;
	size_t packs; /* so many packs were compared; SIZE_MAX: none */
	size_t own; /* own objects below this index were compared */
	int ord; /* highest ordinal of the hash, -1 for none */
	uint64_t others; /* bit i: ordinal i is known to have different bytes */
};

/* Whether an object with a lower ordinal cannot be read, so that the new object
 * may be its replica. */
static bool replaces_unreadable(const struct put *q)
{
	unsigned int lower = (unsigned int)(q->ord + 1);

	return lower &&
	       (lower >= 64 || q->others != ((uint64_t)1 << lower) - 1);
}

/* Compares the object of ordinal ord, whose bytes could be read if got is 0,
 * and ends the use of its bytes. An object that cannot be read is not known to
 * be equal, so it counts as different. */
static bool has_same_bytes(struct store *s, struct put *q, int ord, int got,
			   struct view *view)
{
	bool equal;

	if (ord > q->ord)
		q->ord = ord;
	if (got < 0)
		return false;
	equal = view->len == q->id.len &&
		memcmp(view->data, q->data, view->len) == 0;
	store_view_done(s->cache, view);
	if (equal)
		q->id.ord = (uint16_t)ord;
	else if (ord < 64)
		q->others |= (uint64_t)1 << ord;
	return equal;
}

/* Called without the mutex. */
static bool find_same_in_packs(struct store *s, struct copies *copies,
			       struct put *q)
{
	struct place place;
	struct view view;
	struct err ignored;
	int got;

	while (copies_next(s, copies, &place)) {
		if (place.entry.id.type != q->id.type)
			continue;
		got = store_place_read(s->cache, &place, &view, &ignored);
		if (has_same_bytes(s, q, place.entry.id.ord, got, &view))
			return true;
	}
	return false;
}

/* Called under the mutex, which may be released in between. False: no object
 * has these bytes, and none will while the mutex is held; the next ordinal is
 * q->ord + 1. */
static bool put_search(struct store *s, struct put *q)
{
	struct view view;
	struct object *o;
	struct err ignored;
	bool found;
	size_t i;
	int ord, got;

	for (;;) {
		if (q->packs != s->packs.count) {
			struct copies copies = copies_start(s, q->id.hash);

			q->packs = s->packs.count;
			if (copies_any(&copies)) {
				store_unlock(s);
				found = find_same_in_packs(s, &copies, q);
				store_lock(s);
				if (found)
					return true;
			}
		}
		o = objects_find(&s->objects, q->id.hash, q->id.type, q->own,
				 &i);
		if (o) {
			q->own = i + 1;
			ord = o->ord;
			got = store_own_read(s, o, &view, &ignored);
			if (has_same_bytes(s, q, ord, got, &view))
				return true;
		} else if (q->packs == s->packs.count) {
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

static int choose_ordinal(struct put *q, struct err *err)
{
	if (q->ord >= UINT16_MAX)
		return fail(err, EOVERFLOW,
			    "too many objects with the same hash (possibly an "
			    "attack)");
	q->id.ord = (uint16_t)(q->ord + 1);
	return 0;
}

static int put_small_object(struct store *s, struct put *q, struct err *err)
{
	struct block *full = NULL;
	int got = 0;

	if (!put_search(s, q)) {
		got = choose_ordinal(q, err);
		if (got == 0)
			full = add_small_object(s, &q->id, q->data,
						replaces_unreadable(q));
	}
	store_unlock(s);
	return full ? store_write_block(s, full, err) : got;
}

/*
 * Compresses and writes an object before other threads can find it. When
 * another thread has stored equal bytes, or other bytes of the same hash, in
 * the meantime, the record stays unused. 1: done; 0: the ordinal was taken, try
 * again.
 */
static int put_single_object(struct store *s, struct put *q, struct err *err)
{
	enum pack_kind kind = store_pack_kind(q->id.type);
	struct record_head head = {.type = q->id.type, .count = 1};
	struct out_pack *full = NULL;
	struct place place = {0};
	struct block *block;
	const void *payload;
	bool known, done;
	int ord, got = 0;

	memcpy(head.hash, q->id.hash, HASH_LEN);
	known = put_search(s, q);
	if (!known)
		got = choose_ordinal(q, err);
	store_unlock(s);
	if (known || got < 0)
		return known ? 1 : got;
	head.ord = q->id.ord;
	ord = head.ord;
	payload = store_compress(&head, q->data, q->id.len, true);
	if (store_write_record(s, kind, &head, payload, &place, &full, err) < 0)
		return -err->num;
	store_lock(s);
	done = put_search(s, q);
	if (!done && q->ord + 1 == ord) {
		block = new_open_block(s, kind);
		block->single = true;
		block->out = place.out;
		block->offset = place.entry.offset;
		place.entry.id = q->id;
		place.entry.again = replaces_unreadable(q);
		add_own_object(s, &place.entry, block);
		packer_add(place.out->writer, &place.entry);
		done = true;
	}
	store_place_unpin(s, &place);
	store_unlock(s);
	if (full && store_end_pack(s, full, err) < 0)
		return -err->num;
	return done;
}

/* Takes the mutex, except on failure. */
static int begin_put(struct store *s, size_t len, struct err *err)
{
	store_lock(s);
	while (s->flushing && !s->failed.num)
		store_wait(s);
	if (store_failed(s, err) < 0) {
		store_unlock(s);
		return -err->num;
	}
	s->stats.put_objects++;
	s->stats.put_bytes += len;
	return 0;
}

int store_put(struct store *s, enum object_type type, const void *data,
	      size_t len, struct oid *ret, struct err *err)
{
	struct put q = {.id = {.len = len, .type = (uint8_t)type},
			.data = data,
			.packs = SIZE_MAX,
			.ord = -1};
	int got;

	if (s->mode != STORE_WRITE || type < OBJECT_DATA ||
	    type > OBJECT_ATTRSET || len > OBJECT_LEN_MAX)
		return fail(err, EINVAL, "not an object that can be stored");
	hash_keyed(&s->store_dir.key, data, len, q.id.hash);
	if (begin_put(s, len, err) < 0)
		return -err->num;
	if (len < SINGLE_LEN)
		got = put_small_object(s, &q, err);
	else
		while ((got = put_single_object(s, &q, err)) == 0)
			store_lock(s);
	if (got < 0)
		return got;
	*ret = q.id;
	return 0;
}

int store_put_as(struct store *s, const struct oid *id, const void *data,
		 bool again, struct err *err)
{
	struct block *full;

	if (begin_put(s, id->len, err) < 0)
		return -err->num;
	full = add_small_object(s, id, data, again);
	store_unlock(s);
	return full ? store_write_block(s, full, err) : 0;
}
