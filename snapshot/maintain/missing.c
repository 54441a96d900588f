#include "snapshot/maintain/missing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/auto.h"
#include "base/codec.h"
#include "base/fd.h"
#include "base/vec.h"
#include "snapshot/store/hash.h"
#include "snapshot/store/store_dir.h"
#include "snapshot/tree/catalog.h"

#define GONE_FILE "gone"
#define GONE_MAGIC "GUARDGN1"
#define GONE_LEN_MAX (16u << 20)
#define LOST_FILE "lost"
#define LOST_MAGIC "GUARDLS1"
/* Length of KNOWN_MISSING_MAX paths of 4096 bytes. */
#define LOST_LEN_MAX (48u << 20)

#define MAGIC_LEN 8
#define CHECK_LEN 8

/* Both files begin with a magic and end with a checksum. Decodes the bytes
 * between them; false: damaged. */
static bool check_file(const struct buf *bytes, const char *magic,
		       struct dec *ret)
{
	struct dec tail;

	if (bytes->len < MAGIC_LEN + CHECK_LEN ||
	    memcmp(bytes->data, magic, MAGIC_LEN) != 0)
		return false;
	*ret = dec_start(bytes->data, bytes->len - CHECK_LEN);
	tail = dec_start(ret->end, CHECK_LEN);
	ret->at += MAGIC_LEN;
	return dec_u64(&tail) ==
	       hash_check(bytes->data, bytes->len - CHECK_LEN);
}

static int save_file(struct store *s, const char *name, struct buf *bytes,
		     struct err *err)
{
	enc_u64(bytes, hash_check(bytes->data, bytes->len));
	return atomic_write(store_root_fd(s), name, bytes->data, bytes->len,
			    0400, ATOMIC_DURABLE, err);
}

/* --- tombstones --- */

void tombstones_free(struct tombstones *g)
{
	free(g->items);
	*g = (struct tombstones){0};
}

/* The range, which may be empty, must lie behind all others. */
static void append_tombstone_range(struct tombstones *g, uint64_t first,
				   uint64_t count)
{
	struct tombstone_range *last =
		g->count ? &g->items[g->count - 1] : NULL;

	if (last && last->first + last->count == first)
		last->count += count;
	else if (count)
		*VEC_ADD(g) = (struct tombstone_range){first, count};
}

static void set_tombstone(struct tombstones *g, uint64_t seq, bool there)
{
	struct tombstones all = {.known = g->known};
	bool done = !there;
	size_t i;

	for (i = 0; i < g->count; i++) {
		struct tombstone_range r = g->items[i];
		uint64_t end = r.first + r.count;
		uint64_t before = seq < r.first ? 0
				  : seq < end	? seq - r.first
						: r.count;
		bool inside = seq >= r.first && seq < end;

		append_tombstone_range(&all, r.first, before);
		if (!done && seq < end) {
			append_tombstone_range(&all, seq, 1);
			done = true;
		}
		append_tombstone_range(&all, r.first + before + inside,
				       r.count - before - inside);
	}
	if (!done)
		append_tombstone_range(&all, seq, 1);
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
	struct dec d;

	if (!check_file(bytes, GONE_MAGIC, &d))
		return false;
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
	int got = fd_slurp_at(store_root_fd(s), GONE_FILE, GONE_LEN_MAX, &bytes,
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
	*ret = TAKE(g);
	return 0;
}

static int save_tombstones(struct store *s, const struct tombstones *g,
			   struct err *err)
{
	AUTO(buf) struct buf bytes = {0};
	uint64_t at = 0;
	size_t i;

	buf_add(&bytes, GONE_MAGIC, MAGIC_LEN);
	enc_var(&bytes, g->count);
	for (i = 0; i < g->count; i++) {
		enc_var(&bytes, g->items[i].first - at);
		enc_var(&bytes, g->items[i].count);
		at = g->items[i].first + g->items[i].count;
	}
	return save_file(s, GONE_FILE, &bytes, err);
}

/* Every range of numbers up to the highest that has no file in snaps/. */
static int find_missing_seqs(struct store *s, struct tombstones *ret,
			     struct err *err)
{
	/* The highest number is read before snaps/ is listed: a snapshot that
	 * is committed in between does not count as missing. */
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

/* In a store without a record every missing number counts as a tombstone. */
int tombstones_set(struct store *s, const uint64_t *seqs, size_t count,
		   bool there, struct err *err)
{
	AUTO(tombstones) struct tombstones g = {0};
	struct err ignored;
	size_t i;

	if (tombstones_load(s, &g, &ignored) < 0)
		g = (struct tombstones){0};
	if (!g.known && find_missing_seqs(s, &g, err) < 0)
		return -err->num;
	for (i = 0; i < count; i++)
		set_tombstone(&g, seqs[i], there);
	return save_tombstones(s, &g, err);
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

/* --- lost paths --- */

void known_missing_list_free(struct known_missing_list *list)
{
	size_t i;

	for (i = 0; i < list->count; i++)
		free(list->items[i].path);
	VEC_FREE(list);
}

void known_missing_add(struct known_missing_list *list, uint64_t seq,
		       const char *path)
{
	*VEC_ADD(list) = (struct known_missing_item){
		.seq = seq,
		.path = mem_strdup(path),
	};
}

bool known_missing_has(const struct known_missing_list *list, uint64_t seq,
		       const char *path)
{
	size_t i;

	for (i = 0; i < list->count; i++) {
		if (list->items[i].seq == seq &&
		    strcmp(list->items[i].path, path) == 0)
			return true;
	}
	return false;
}

/*
 *	file = "GUARDLS1" count:var *( seq:var path:text ) check:8
 */
void known_missing_load(struct store *s, struct known_missing_list *ret)
{
	AUTO(known_missing_list) struct known_missing_list list = {0};
	AUTO(buf) struct buf bytes = {0};
	struct err ignored;
	struct dec d;
	uint64_t count;

	*ret = (struct known_missing_list){0};
	if (fd_slurp_at(store_root_fd(s), LOST_FILE, LOST_LEN_MAX, &bytes,
			&ignored) < 0 ||
	    !check_file(&bytes, LOST_MAGIC, &d))
		return;
	count = dec_var(&d);
	while (count-- && !d.bad) {
		uint64_t seq = dec_var(&d);
		auto_free char *path = dec_text(&d);

		known_missing_add(&list, seq, path);
	}
	if (!dec_end(&d))
		return;
	*ret = TAKE(list);
}

int known_missing_save(struct store *s, const struct known_missing_list *list,
		       struct err *err)
{
	AUTO(buf) struct buf bytes = {0};
	size_t i;

	if (!list->count || list->count > KNOWN_MISSING_MAX) {
		if (unlinkat(store_root_fd(s), LOST_FILE, 0) < 0 &&
		    errno != ENOENT)
			return fail_errno(err, "remove the list of lost paths");
		return 0;
	}
	buf_add(&bytes, LOST_MAGIC, MAGIC_LEN);
	enc_var(&bytes, list->count);
	for (i = 0; i < list->count; i++) {
		enc_var(&bytes, list->items[i].seq);
		enc_text(&bytes, list->items[i].path);
	}
	return save_file(s, LOST_FILE, &bytes, err);
}
