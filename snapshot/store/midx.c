#include "snapshot/store/midx.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/text.h"
#include "base/vec.h"
#include "snapshot/store/mapping.h"
#include "snapshot/store/packformat.h"

#define MAGIC "GUARDMX1"
#define VERSION 1
#define HEAD 64
#define START_LEN 8
#define NUMBER_LEN 4
#define CHECK_AT 56
/* First step of the search away from the estimated position. */
#define STEP 32

struct midx {
	struct mapping *mapping;
	const unsigned char *map;
	size_t len;
	size_t packs, entries;
	const unsigned char *starts, *numbers;
	char (*names)[MIDX_NAME_LEN + 1];
};

void midx_free(struct midx **midx)
{
	struct midx *m = *midx;

	if (!m)
		return;
	mapping_free(&m->mapping);
	free(m->names);
	free(m);
	*midx = NULL;
}

/* --- reading --- */

static bool is_midx_name(const char *name)
{
	return strspn(name, "0123456789abcdef") == MIDX_NAME_LEN - 4 &&
	       strcmp(name + MIDX_NAME_LEN - 4, ".gpk") == 0;
}

/* Names are used to open packs, so each must be a valid pack name. */
static bool load_midx_names(struct midx *m)
{
	size_t i;

	m->names = mem_resize(NULL, m->packs + 1, sizeof(*m->names));
	for (i = 0; i < m->packs; i++) {
		memcpy(m->names[i], m->map + HEAD + i * MIDX_NAME_LEN,
		       MIDX_NAME_LEN);
		m->names[i][MIDX_NAME_LEN] = '\0';
		if (!is_midx_name(m->names[i]) ||
		    (i && strcmp(m->names[i - 1], m->names[i]) >= 0))
			return false;
	}
	return true;
}

static int load_midx_file(struct midx *m, const char *name,
			  const unsigned char *uuid, struct err *err)
{
	const unsigned char *h = m->map;
	uint64_t packs = get_le(h + 12, 4), entries = get_le(h + 16, 8);

	if (memcmp(h, MAGIC, 8) != 0 ||
	    get_le(h + CHECK_AT, 8) != hash_check(h, CHECK_AT))
		return fail(err, EBADMSG, "%s is damaged", text_quote(name));
	if (get_le(h + 8, 2) > VERSION)
		return fail(err, EPROTO,
			    "%s was written by a newer guard: update guard",
			    text_quote(name));
	if (memcmp(h + 24, uuid, PACK_UUID_LEN) != 0)
		return fail(err, EBADMSG, "%s belongs to another store",
			    text_quote(name));
	m->packs = packs;
	m->entries = entries;
	if (entries > UINT32_MAX ||
	    m->len != HEAD + packs * MIDX_NAME_LEN +
			      entries * (START_LEN + NUMBER_LEN) ||
	    !load_midx_names(m))
		return fail(err, EBADMSG, "%s is damaged", text_quote(name));
	m->starts = h + HEAD + packs * MIDX_NAME_LEN;
	m->numbers = m->starts + entries * START_LEN;
	return 0;
}

int midx_open(int dirfd, const char *name, const unsigned char *uuid,
	      struct midx **ret, struct err *err)
{
	AUTO(midx) struct midx *m = mem_zalloc(sizeof(*m));

	m->mapping = mapping_open(dirfd, name, HEAD, SIZE_MAX, &m->len);
	if (!m->mapping && errno == EINVAL)
		return fail(err, EBADMSG, "%s is truncated", text_quote(name));
	if (!m->mapping)
		return fail_errno(err, "open %s", text_quote(name));
	m->map = mapping_data(m->mapping);
	if (load_midx_file(m, name, uuid, err) < 0)
		return -err->num;
	*ret = TAKE(m);
	return 0;
}

bool midx_is_intact(const struct midx *m)
{
	return get_le(m->map + 40, 8) ==
		       hash_check(m->map + HEAD, m->len - HEAD) &&
	       !mapping_failed(m->mapping);
}

size_t midx_count(const struct midx *m)
{
	return m->packs;
}

const char *midx_name(const struct midx *m, size_t pack)
{
	return m->names[pack];
}

static int compare_midx_names(const void *a, const void *b)
{
	return strcmp(a, b);
}

size_t midx_number(const struct midx *m, const char *name)
{
	const char(*found)[MIDX_NAME_LEN + 1] =
		bsearch(name, m->names, m->packs, sizeof(*m->names),
			compare_midx_names);

	return found ? (size_t)(found - m->names) : m->packs;
}

/* --- finding --- */

static uint64_t midx_start_at(const struct midx *m, size_t entry)
{
	return hash_prefix(m->starts + entry * START_LEN, 64);
}

/* The first entry that is not below `want`. Hashes are spread evenly, so the
 * entry is near its proportional position: for a million entries the search
 * touches one or two pages, a binary search about twenty. */
static size_t find_midx_start(const struct midx *m, uint64_t want)
{
	size_t guess = (size_t)((want >> 32) * m->entries >> 32);
	size_t low = guess, high = guess, step = STEP;

	while (low && midx_start_at(m, low - 1) >= want) {
		high = low - 1;
		low = low > step ? low - step : 0;
		step *= 2;
	}
	while (high < m->entries && midx_start_at(m, high) < want) {
		low = high + 1;
		high = m->entries - high > step ? high + step : m->entries;
		step *= 2;
	}
	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (midx_start_at(m, mid) < want)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

bool midx_find(const struct midx *m, const unsigned char *hash, size_t *first,
	       size_t *end)
{
	uint64_t want = hash_prefix(hash, 64);
	size_t at = find_midx_start(m, want);

	*first = at;
	while (at < m->entries && midx_start_at(m, at) == want)
		at++;
	*end = at;
	return at > *first;
}

size_t midx_pack(const struct midx *m, size_t entry)
{
	size_t pack = get_le(m->numbers + entry * NUMBER_LEN, NUMBER_LEN);

	return pack < m->packs ? pack : m->packs;
}

/* --- making --- */

static int compare_midx_starts(const void *pa, const void *pb)
{
	const struct midx_entry *a = pa, *b = pb;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return (a->pack > b->pack) - (a->pack < b->pack);
}

/* Position of the next entry in both parts. */
struct midx_builder {
	unsigned char *start, *number;
	struct midx_entry last;
	size_t count;
};

static void add_midx_start(struct midx_builder *to, const struct midx_entry *e)
{
	int i;

	if (to->count && compare_midx_starts(&to->last, e) == 0)
		return;
	for (i = 0; i < START_LEN; i++)
		*to->start++ = (unsigned char)(e->start >> 8 * (7 - i));
	put_le(to->number, e->pack, NUMBER_LEN);
	to->number += NUMBER_LEN;
	to->last = *e;
	to->count++;
}

/* The next entry of old whose pack still exists; false at the end. */
static bool next_old_entry(const struct midx *old, const uint32_t *number,
			   size_t *at, struct midx_entry *ret)
{
	for (; old && *at < old->entries; ++*at) {
		size_t pack = midx_pack(old, *at);

		if (pack == old->packs || number[pack] == UINT32_MAX)
			continue;
		*ret = (struct midx_entry){midx_start_at(old, *at),
					   number[pack]};
		return true;
	}
	return false;
}

static void merge_old_midx(struct midx_builder *to,
			   const struct midx_entry *entries, size_t count,
			   const struct midx *old, const uint32_t *number)
{
	struct midx_entry e;
	size_t i = 0, at = 0;

	while (next_old_entry(old, number, &at, &e)) {
		for (; i < count && compare_midx_starts(&entries[i], &e) < 0;
		     i++)
			add_midx_start(to, &entries[i]);
		add_midx_start(to, &e);
		at++;
	}
	for (; i < count; i++)
		add_midx_start(to, &entries[i]);
}

void midx_make(const unsigned char *uuid, char *const *names, size_t count,
	       struct midx_entry *entries, size_t entry_count,
	       const struct midx *old, const uint32_t *number, struct buf *to)
{
	size_t most = entry_count + (old ? old->entries : 0), i;
	size_t head = HEAD + count * MIDX_NAME_LEN;
	AUTO(buf) struct buf numbers = {0};
	struct midx_builder midx_builder = {0};
	unsigned char *h;

	vec_sort(entries, entry_count, sizeof(*entries), compare_midx_starts);
	buf_clear(to);
	h = buf_reserve(to, head + most * (START_LEN + NUMBER_LEN) + 1);
	memset(h, 0, HEAD);
	for (i = 0; i < count; i++)
		memcpy(h + HEAD + i * MIDX_NAME_LEN, names[i], MIDX_NAME_LEN);
	midx_builder.start = h + head;
	midx_builder.number = buf_reserve(&numbers, most * NUMBER_LEN + 1);
	merge_old_midx(&midx_builder, entries, entry_count, old, number);
	memcpy(midx_builder.start, numbers.data,
	       midx_builder.count * NUMBER_LEN);
	to->len = head + midx_builder.count * (START_LEN + NUMBER_LEN);
	memcpy(h, MAGIC, 8);
	put_le(h + 8, VERSION, 2);
	put_le(h + 12, count, 4);
	put_le(h + 16, midx_builder.count, 8);
	memcpy(h + 24, uuid, PACK_UUID_LEN);
	put_le(h + 40, hash_check(h + HEAD, to->len - HEAD), 8);
	put_le(h + CHECK_AT, hash_check(h, CHECK_AT), 8);
}
