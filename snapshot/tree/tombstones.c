#include "snapshot/tree/tombstones.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/atomic.h"
#include "base/auto.h"
#include "base/codec.h"
#include "base/fd.h"
#include "snapshot/store/store_dir.h"
#include "snapshot/tree/catalog.h"

#define FILE_NAME "gone"
#define MAGIC "GUARDGN1"
#define MAGIC_LEN 8
#define FILE_LEN_MAX (16u << 20)

void tombstones_free(struct tombstones *g)
{
	free(g->items);
	*g = (struct tombstones){0};
}

/* The range must lie behind all others. */
static void append_tombstone_range(struct tombstones *g, uint64_t first,
				   uint64_t count)
{
	struct tombstone_range *last =
		g->count ? &g->items[g->count - 1] : NULL;

	if (last && last->first + last->count == first) {
		last->count += count;
		return;
	}
	GROW(g->items, g->count, g->capacity);
	g->items[g->count++] = (struct tombstone_range){first, count};
}

static bool has_tombstone(const struct tombstones *g, uint64_t seq)
{
	size_t i;

	for (i = 0; i < g->count; i++)
		if (seq - g->items[i].first < g->items[i].count)
			return true;
	return false;
}

static void add_tombstone(struct tombstones *g, uint64_t seq)
{
	struct tombstones all = {.known = g->known};
	bool done = has_tombstone(g, seq);
	size_t i;

	for (i = 0; i < g->count; i++) {
		if (!done && seq < g->items[i].first) {
			append_tombstone_range(&all, seq, 1);
			done = true;
		}
		append_tombstone_range(&all, g->items[i].first,
				       g->items[i].count);
	}
	if (!done)
		append_tombstone_range(&all, seq, 1);
	tombstones_free(g);
	*g = all;
}

static void drop_tombstone(struct tombstones *g, uint64_t seq)
{
	struct tombstones all = {.known = g->known};
	size_t i;

	for (i = 0; i < g->count; i++) {
		struct tombstone_range r = g->items[i];
		uint64_t before = seq - r.first;

		if (before >= r.count) {
			append_tombstone_range(&all, r.first, r.count);
			continue;
		}
		if (before)
			append_tombstone_range(&all, r.first, before);
		if (before + 1 < r.count)
			append_tombstone_range(&all, seq + 1,
					       r.count - before - 1);
	}
	tombstones_free(g);
	*g = all;
}

/*
 * 	file = "GUARDGN1" count:var *( skipped:var length:var ) check:8
 *
 * skipped: numbers between this range and the previous one (or 0), at least 1.
 */
static bool decode_tombstones(const struct buf *bytes, struct tombstones *ret)
{
	uint64_t at = 0, count;
	struct dec d, tail;

	if (bytes->len < MAGIC_LEN + 8 ||
	    memcmp(bytes->data, MAGIC, MAGIC_LEN) != 0)
		return false;
	tail = dec_start(bytes->data + bytes->len - 8, 8);
	if (dec_u64(&tail) != hash_check(bytes->data, bytes->len - 8))
		return false;
	d = dec_start(bytes->data + MAGIC_LEN, bytes->len - MAGIC_LEN - 8);
	count = dec_var(&d);
	while (count-- && !d.bad) {
		uint64_t skipped = dec_var(&d), length = dec_var(&d);

		if (!skipped || !length || skipped > UINT32_MAX ||
		    length > UINT32_MAX)
			d.bad = true;
		else
			append_tombstone_range(ret, at + skipped, length);
		at += skipped + length;
	}
	return dec_end(&d);
}

int tombstones_load(struct store *s, struct tombstones *ret, struct err *err)
{
	AUTO(buf) struct buf bytes = {0};
	AUTO(tombstones) struct tombstones g = {.known = true};
	int got = fd_slurp_at(store_root_fd(s), FILE_NAME, FILE_LEN_MAX, &bytes,
			      err);

	if (got == -ENOENT) {
		*ret = (struct tombstones){
			.known = store_get_dir(s)->format.has_tombstones};
		return 0;
	}
	if (got < 0)
		return got;
	if (!decode_tombstones(&bytes, &g))
		return fail(err, EBADMSG, "it is damaged");
	*ret = g;
	g = (struct tombstones){0};
	return 0;
}

static int save_tombstones(struct store *s, const struct tombstones *g,
			   struct err *err)
{
	AUTO(buf) struct buf bytes = {0};
	uint64_t at = 0;
	size_t i;

	buf_add(&bytes, MAGIC, MAGIC_LEN);
	enc_var(&bytes, g->count);
	for (i = 0; i < g->count; i++) {
		enc_var(&bytes, g->items[i].first - at);
		enc_var(&bytes, g->items[i].count);
		at = g->items[i].first + g->items[i].count;
	}
	enc_u64(&bytes, hash_check(bytes.data, bytes.len));
	return atomic_write(store_root_fd(s), FILE_NAME, bytes.data, bytes.len,
			    0400, ATOMIC_DURABLE, err);
}

/* Every range of numbers up to the highest that has no file in snaps/. */
static int find_missing_seqs(struct store *s, struct tombstones *ret,
			     struct err *err)
{
	/* Read before snaps/: a snapshot committed between the two is missing
	 * in neither. */
	uint64_t highest = catalog_highest_seq(s), next = 1;
	auto_free uint64_t *seqs = NULL;
	size_t count, i;

	if (catalog_list(s, &seqs, &count, err) < 0)
		return -err->num;
	for (i = 0; i < count; i++) {
		if (seqs[i] > next)
			append_tombstone_range(ret, next, seqs[i] - next);
		next = seqs[i] + 1;
	}
	if (highest >= next)
		append_tombstone_range(ret, next, highest - next + 1);
	return 0;
}

/* The recorded tombstones; in a store without a record every missing number
 * counts as one. */
static int load_or_guess_tombstones(struct store *s, struct tombstones *ret,
				    struct err *err)
{
	struct err ignored;

	if (tombstones_load(s, ret, &ignored) < 0)
		*ret = (struct tombstones){0};
	return ret->known ? 0 : find_missing_seqs(s, ret, err);
}

static int change_tombstones(struct store *s, const uint64_t *seqs,
			     size_t count,
			     void (*how)(struct tombstones *g, uint64_t seq),
			     struct err *err)
{
	AUTO(tombstones) struct tombstones g = {0};
	size_t i;

	if (load_or_guess_tombstones(s, &g, err) < 0)
		return -err->num;
	for (i = 0; i < count; i++)
		how(&g, seqs[i]);
	return save_tombstones(s, &g, err);
}

int tombstones_add(struct store *s, const uint64_t *seqs, size_t count,
		   struct err *err)
{
	return change_tombstones(s, seqs, count, add_tombstone, err);
}

int tombstones_remove(struct store *s, const uint64_t *seqs, size_t count,
		      struct err *err)
{
	return change_tombstones(s, seqs, count, drop_tombstone, err);
}

int tombstones_each_missing(struct store *s,
			    int (*each)(void *arg, uint64_t first,
					uint64_t last, struct err *err),
			    void *arg, struct err *err)
{
	AUTO(tombstones) struct tombstones g = {0}, gaps = {0};
	size_t i, k;

	if (tombstones_load(s, &g, err) < 0)
		return -err->num;
	if (!g.known)
		return 0;
	if (find_missing_seqs(s, &gaps, err) < 0)
		return -err->num;
	for (i = k = 0; i < gaps.count; i++) {
		uint64_t at = gaps.items[i].first;
		uint64_t end = at + gaps.items[i].count;

		while (at < end) {
			uint64_t stop = end;

			while (k < g.count &&
			       g.items[k].first + g.items[k].count <= at)
				k++;
			if (k < g.count && g.items[k].first <= at) {
				at = g.items[k].first + g.items[k].count;
				continue;
			}
			if (k < g.count && g.items[k].first < end)
				stop = g.items[k].first;
			if (each(arg, at, stop - 1, err) < 0)
				return -err->num;
			at = stop;
		}
	}
	return 0;
}
