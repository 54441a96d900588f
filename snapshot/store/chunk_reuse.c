#include "snapshot/store/chunk_reuse.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/sorted.h"
#include "base/auto.h"
#include "base/parallel_for.h"
#include "base/vec.h"
#include "snapshot/store/mapping.h"
#include "snapshot/store/stream.h"

/* Bytes that one thread reads at once. */
#define GROUP_LEN ((uint64_t)16 << 20)
/* After this many groups in a row without a reusable run the file is taken for
 * a different or completely shifted one. */
#define MISSES_MAX 8
/* Number of unchanged runs that must follow a reusable run: a hole affects no
 * cut further away (see chunk_reuse.h). */
#define RUNS_BEHIND 2

struct chunk_reuse *chunk_reuse_new(struct store *s,
				    struct chunk_mac_cache *chunk_mac_cache,
				    const struct oid *before)
{
	struct chunk_reuse *p = mem_zalloc(sizeof(*p));
	uint64_t at = 0;
	struct err ignored;
	size_t i;

	p->chunk_mac_cache = chunk_mac_cache;
	if (!before || before->type != OBJECT_CHUNKLIST ||
	    chunklist_load(s, before, &p->list, &ignored) < 0)
		return p;
	p->macs = chunk_mac_cache_find(chunk_mac_cache, before, p->list.count);
	if (!p->macs) {
		chunklist_free(&p->list);
		return p;
	}
	p->starts = mem_resize(NULL, p->list.count + 1, sizeof(*p->starts));
	p->reusable = mem_zalloc(p->list.count + 1);
	for (i = 0; i < p->list.count; i++) {
		p->starts[i] = at;
		at += p->list.runs[i].len;
	}
	p->starts[i] = at;
	return p;
}

void chunk_reuse_free(struct chunk_reuse **chunk_reuse)
{
	struct chunk_reuse *p = *chunk_reuse;

	if (!p)
		return;
	chunklist_free(&p->list);
	free(p->starts);
	free(p->reusable);
	free(p->order);
	free(p);
	*chunk_reuse = NULL;
}

/* --- reusable runs --- */

/* Runs that are read together: chunks, or one hole. */
struct run_group {
	size_t first, count;
};

struct reuse_check {
	struct chunk_reuse *chunk_reuse;
	int fd;
	uint64_t size;
	bool cached;
	VEC(struct run_group) groups;
	atomic_size_t next;
	atomic_uint misses; /* groups in a row */
};

static void make_run_groups(struct reuse_check *c)
{
	const struct chunklist *list = &c->chunk_reuse->list;
	struct run_group *g = NULL;
	uint64_t len = 0;
	size_t i;

	for (i = 0; i < list->count; i++) {
		bool hole = list->runs[i].hole;

		if (!g || hole || len >= GROUP_LEN || list->runs[i - 1].hole) {
			g = VEC_ADD(&c->groups);
			g->first = i;
			len = 0;
		}
		g->count++;
		len += list->runs[i].len;
	}
}

/* State of one thread. */
struct reuse_checker {
	struct reuse_check *reuse_check;
	struct stream *in;
	struct chunk_mac *chunk_mac;
};

static bool is_still_hole(struct reuse_checker *k, uint64_t start, uint64_t end)
{
	const unsigned char *data;
	uint64_t from, to;
	bool zero = true;
	ssize_t n;

	if (end > k->reuse_check->size)
		return false;
	for (; zero && start < end; start = to) {
		if (!hole_next_data(k->reuse_check->fd, start, &from, &to) ||
		    from >= end)
			return true;
		stream_range(k->in, from, to < end ? to : end);
		while ((n = stream_next(k->in, &data)) > 0)
			zero = zero &&
			       hole_zeros_len(data, (size_t)n) == (size_t)n;
		zero = zero && n == 0;
	}
	return zero;
}

/* The run that is being read. */
struct run_position {
	size_t i;
	uint64_t left;
};

static void begin_run_mac(struct reuse_checker *k, struct run_position *r,
			  size_t i)
{
	*r = (struct run_position){
		i, k->reuse_check->chunk_reuse->list.runs[i].len};
	chunk_mac_begin(k->chunk_mac);
}

static void end_run_mac(struct reuse_checker *k, const struct run_position *r)
{
	struct chunk_reuse *p = k->reuse_check->chunk_reuse;
	unsigned char mark[CHUNK_MAC_LEN];

	p->reusable[r->i] = chunk_mac_end(k->chunk_mac, mark) &&
			    memcmp(mark, p->macs + r->i * CHUNK_MAC_LEN,
				   CHUNK_MAC_LEN) == 0;
}

/* Computes the tags of the chunks of a group. Runs behind the end of the file
 * are not reusable. */
static int check_group_chunks(struct reuse_checker *k,
			      const struct run_group *g, struct err *err)
{
	const struct chunk_reuse *p = k->reuse_check->chunk_reuse;
	uint64_t start = p->starts[g->first];
	uint64_t end = p->starts[g->first + g->count];
	uint64_t at = start & ~(STREAM_ALIGN - 1);
	const unsigned char *data;
	struct run_position r;
	ssize_t n;

	begin_run_mac(k, &r, g->first);
	stream_range(k->in, at, (end + STREAM_ALIGN - 1) & ~(STREAM_ALIGN - 1));
	while ((n = stream_next(k->in, &data)) > 0) {
		size_t skip = at < start ? (size_t)(start - at) : 0;
		size_t have = (size_t)n - (skip < (size_t)n ? skip : (size_t)n);

		at += (uint64_t)n;
		for (data += skip; have && r.i < g->first + g->count;) {
			size_t len = r.left < have ? (size_t)r.left : have;

			chunk_mac_add(k->chunk_mac, data, len);
			data += len;
			have -= len;
			r.left -= len;
			if (r.left)
				continue;
			end_run_mac(k, &r);
			if (++r.i < g->first + g->count)
				begin_run_mac(k, &r, r.i);
		}
	}
	return n < 0 ? fail_errno(err, "read") : 0;
}

/* As check_group_chunks() for a file in the page cache: reading it in the
 * mapping takes a third less time than copying it. False: the file cannot be
 * mapped. A part that was truncated or cannot be read is not reusable. */
static bool check_group_mapped(struct reuse_checker *k,
			       const struct run_group *g)
{
	const struct reuse_check *c = k->reuse_check;
	struct chunk_reuse *p = c->chunk_reuse;
	uint64_t end = p->starts[g->first + g->count];
	uint64_t base = p->starts[g->first] & ~(STREAM_ALIGN - 1);
	struct mapping *m;
	struct run_position r;
	size_t i;

	if (end > c->size)
		end = c->size;
	if (end <= base)
		return true;
	m = mapping_new(c->fd, base, (size_t)(end - base));
	if (!m)
		return false;
	for (i = g->first; i < g->first + g->count && p->starts[i + 1] <= end;
	     i++) {
		begin_run_mac(k, &r, i);
		chunk_mac_add(k->chunk_mac,
			      mapping_data(m) + (p->starts[i] - base),
			      (size_t)r.left);
		end_run_mac(k, &r);
	}
	if (mapping_failed(m))
		memset(p->reusable + g->first, false, g->count);
	mapping_free(&m);
	return true;
}

static void count_group_misses(struct reuse_check *c, const struct run_group *g)
{
	size_t i;

	for (i = g->first; i < g->first + g->count; i++)
		if (c->chunk_reuse->reusable[i]) {
			atomic_store(&c->misses, 0);
			return;
		}
	atomic_fetch_add(&c->misses, 1);
}

/* Runs in each thread. */
static int check_run_groups(void *arg, size_t unused, struct err *err)
{
	struct reuse_check *c = arg;
	AUTO(chunk_mac)
	struct chunk_mac *chunk_mac = chunk_mac_new(
		chunk_mac_cache_key(c->chunk_reuse->chunk_mac_cache));
	AUTO(stream)
	struct stream *in = stream_new(c->fd, c->size, c->cached);
	struct reuse_checker k = {
		.reuse_check = c, .in = in, .chunk_mac = chunk_mac};
	size_t i;

	(void)unused;
	while (chunk_mac && atomic_load(&c->misses) < MISSES_MAX &&
	       (i = atomic_fetch_add(&c->next, 1)) < c->groups.count) {
		const struct run_group *g = &c->groups.items[i];
		struct chunk_reuse *p = c->chunk_reuse;

		if (p->list.runs[g->first].hole)
			p->reusable[g->first] =
				is_still_hole(&k, p->starts[g->first],
					      p->starts[g->first + 1]);
		else if (!(c->cached && check_group_mapped(&k, g)) &&
			 check_group_chunks(&k, g, err) < 0)
			return -err->num;
		count_group_misses(c, g);
	}
	return 0;
}

/* chunk_reuse.h gives the rule. */
static void drop_runs_before_changes(struct chunk_reuse *p, uint64_t size)
{
	bool end = p->list.size == size;
	size_t i, k;

	for (i = 0; i < p->list.count; i++)
		for (k = i + 1; k <= i + RUNS_BEHIND && p->reusable[i]; k++)
			p->reusable[i] =
				k < p->list.count ? p->reusable[k] : end;
}

static int compare_run_macs(const void *a, const void *b, void *arg)
{
	const struct chunk_reuse *p = arg;

	return memcmp(p->macs + *(const size_t *)a * CHUNK_MAC_LEN,
		      p->macs + *(const size_t *)b * CHUNK_MAC_LEN,
		      CHUNK_MAC_LEN);
}

static void sort_run_macs(struct chunk_reuse *p)
{
	size_t i;

	p->order = mem_resize(NULL, p->list.count, sizeof(*p->order));
	for (i = 0; i < p->list.count; i++)
		p->order[i] = i;
	qsort_r(p->order, p->list.count, sizeof(*p->order), compare_run_macs,
		p);
}

int chunk_reuse_check(struct chunk_reuse *p, int fd, uint64_t size, bool cached,
		      struct err *err)
{
	struct reuse_check c = {
		.chunk_reuse = p, .fd = fd, .size = size, .cached = cached};
	bool alone = size < 2 * GROUP_LEN;
	int got;

	if (!p->list.count)
		return 0;
	make_run_groups(&c);
	atomic_init(&c.next, 0);
	atomic_init(&c.misses, 0);
	got = parallel_for(alone ? 1 : 2, alone, check_run_groups, &c, err);
	VEC_FREE(&c.groups);
	if (got < 0)
		return got;
	drop_runs_before_changes(p, size);
	sort_run_macs(p);
	return 0;
}

size_t chunk_reuse_at(const struct chunk_reuse *p, uint64_t pos)
{
	const uint64_t *found =
		sorted_find_number(pos, p->starts, p->list.count, sizeof(pos));
	size_t i = found ? (size_t)(found - p->starts) : p->list.count;

	return found && p->reusable[i] && !p->list.runs[i].hole ? i
								: p->list.count;
}

const struct chunk_run *
chunk_reuse_find(const struct chunk_reuse *p,
		 const unsigned char mark[CHUNK_MAC_LEN], uint64_t len)
{
	size_t low = 0, high = p->list.count;
	const struct chunk_run *run;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (memcmp(p->macs + p->order[middle] * CHUNK_MAC_LEN, mark,
			   CHUNK_MAC_LEN) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == p->list.count ||
	    memcmp(p->macs + p->order[low] * CHUNK_MAC_LEN, mark,
		   CHUNK_MAC_LEN) != 0)
		return NULL;
	run = &p->list.runs[p->order[low]];
	return !run->hole && run->len == len ? run : NULL;
}
