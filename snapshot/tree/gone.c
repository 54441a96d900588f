#include "snapshot/tree/gone.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/atomic.h"
#include "base/auto.h"
#include "base/codec.h"
#include "base/fd.h"
#include "snapshot/store/storeimpl.h"
#include "snapshot/tree/catalog.h"

#define FILE_NAME "gone"
#define MAGIC "GUARDGN1"
#define MAGIC_LEN 8
#define FILE_LEN_MAX (16u << 20)

void gone_free(struct gone *g)
{
	free(g->items);
	*g = (struct gone){0};
}

/* Behind all others. */
static void append(struct gone *g, uint64_t first, uint64_t count)
{
	struct gone_range *last = g->count ? &g->items[g->count - 1] : NULL;

	if (last && last->first + last->count == first) {
		last->count += count;
		return;
	}
	GROW(g->items, g->count, g->capacity);
	g->items[g->count++] = (struct gone_range){first, count};
}

static bool has(const struct gone *g, uint64_t seq)
{
	size_t i;

	for (i = 0; i < g->count; i++)
		if (seq - g->items[i].first < g->items[i].count)
			return true;
	return false;
}

static void add(struct gone *g, uint64_t seq)
{
	struct gone all = {.known = g->known};
	bool done = has(g, seq);
	size_t i;

	for (i = 0; i < g->count; i++) {
		if (!done && seq < g->items[i].first) {
			append(&all, seq, 1);
			done = true;
		}
		append(&all, g->items[i].first, g->items[i].count);
	}
	if (!done)
		append(&all, seq, 1);
	gone_free(g);
	*g = all;
}

static void drop(struct gone *g, uint64_t seq)
{
	struct gone all = {.known = g->known};
	size_t i;

	for (i = 0; i < g->count; i++) {
		struct gone_range r = g->items[i];
		uint64_t before = seq - r.first;

		if (before >= r.count) {
			append(&all, r.first, r.count);
			continue;
		}
		if (before)
			append(&all, r.first, before);
		if (before + 1 < r.count)
			append(&all, seq + 1, r.count - before - 1);
	}
	gone_free(g);
	*g = all;
}

/*
 *	file = "GUARDGN1" count:var *( skipped:var length:var ) check:8
 *
 * skipped: numbers between this run and the one before (or 0), at least 1.
 */
static bool decode(const struct buf *bytes, struct gone *ret)
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
			append(ret, at + skipped, length);
		at += skipped + length;
	}
	return dec_end(&d);
}

int gone_load(struct store *s, struct gone *ret, struct err *err)
{
	AUTO(buf) struct buf bytes = {0};
	AUTO(gone) struct gone g = {.known = true};
	int got = fd_slurp_at(store_root_fd(s), FILE_NAME, FILE_LEN_MAX, &bytes,
			      err);

	if (got == -ENOENT) {
		*ret = (struct gone){.known = s->store_dir.format.counts_gone};
		return 0;
	}
	if (got < 0)
		return got;
	if (!decode(&bytes, &g))
		return fail(err, EBADMSG, "it is damaged");
	*ret = g;
	g = (struct gone){0};
	return 0;
}

static int save(struct store *s, const struct gone *g, struct err *err)
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

/* Every run of numbers up to the highest that is not in snaps/. */
static int find_gaps(struct store *s, struct gone *ret, struct err *err)
{
	/* First: what is committed meanwhile is missing in neither. */
	uint64_t highest = catalog_mark(s), next = 1;
	auto_free uint64_t *seqs = NULL;
	size_t count, i;

	if (catalog_list(s, &seqs, &count, err) < 0)
		return -err->num;
	for (i = 0; i < count; i++) {
		if (seqs[i] > next)
			append(ret, next, seqs[i] - next);
		next = seqs[i] + 1;
	}
	if (highest >= next)
		append(ret, next, highest - next + 1);
	return 0;
}

/* What is known to be gone; where that is not known, all that is missing. */
static int load_or_guess(struct store *s, struct gone *ret, struct err *err)
{
	struct err ignored;

	if (gone_load(s, ret, &ignored) < 0)
		*ret = (struct gone){0};
	return ret->known ? 0 : find_gaps(s, ret, err);
}

static int change(struct store *s, const uint64_t *seqs, size_t count,
		  void (*how)(struct gone *g, uint64_t seq), struct err *err)
{
	AUTO(gone) struct gone g = {0};
	size_t i;

	if (load_or_guess(s, &g, err) < 0)
		return -err->num;
	for (i = 0; i < count; i++)
		how(&g, seqs[i]);
	return save(s, &g, err);
}

int gone_note(struct store *s, const uint64_t *seqs, size_t count,
	      struct err *err)
{
	return change(s, seqs, count, add, err);
}

int gone_forget(struct store *s, const uint64_t *seqs, size_t count,
		struct err *err)
{
	return change(s, seqs, count, drop, err);
}

int gone_missing(struct store *s,
		 int (*each)(void *arg, uint64_t first, uint64_t last,
			     struct err *err),
		 void *arg, struct err *err)
{
	AUTO(gone) struct gone g = {0}, gaps = {0};
	size_t i, k;

	if (gone_load(s, &g, err) < 0)
		return -err->num;
	if (!g.known)
		return 0;
	if (find_gaps(s, &gaps, err) < 0)
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
