#include "snapshot/store/longfile.h"

#include <fcntl.h>

#include "base/auto.h"
#include "base/fd.h"
#include "snapshot/store/chunklist.h"
#include "snapshot/store/chunker.h"
#include "snapshot/store/hole.h"
#include "snapshot/store/stream.h"

/* Longer files that are not cached are read past the page cache. */
#define DIRECT_LEN ((uint64_t)8 << 20)
/* Shorter ranges are read by plain calls: a ring reads far ahead. */
#define RING_LEN ((uint64_t)8 << 20)

/* Shorter files are not worth loading libcrypto. */
static uint64_t marked_len = (uint64_t)32 << 20;

void longfile_set_mac_len(uint64_t len)
{
	marked_len = len;
}

/* A file that is being chunked. */
struct longfile_job {
	struct chunker *chunker;
	int fd;
	uint64_t size, pos;
	bool cached, direct;
};

/* Passes [pos, end) to the chunker. Returns 0 for all of it, 1 at the end of
 * the file, 2 when a reusable run follows. */
static int chunk_data_range(struct longfile_job *c, struct stream *in,
			    uint64_t end, struct err *err)
{
	const unsigned char *data;
	ssize_t n;
	int got;

	stream_range(in, c->pos, end);
	while ((n = stream_next(in, &data)) > 0) {
		got = chunker_add(c->chunker, data, (size_t)n, err);
		if (got)
			return got < 0 ? got : 2;
		c->pos += (uint64_t)n;
	}
	return n < 0 ? fail_errno(err, "read") : c->pos < end;
}

/* Passes the bytes from the last old cut to the next block border. */
static int add_data_until_cut(struct longfile_job *c, struct err *err)
{
	unsigned char data[HOLE_ALIGN];
	size_t want = (size_t)(-c->pos & (HOLE_ALIGN - 1));
	ssize_t n = want ? fd_pread(c->fd, data, want, c->pos) : 0;
	int got;

	if (n < 0)
		return fail_errno(err, "read");
	got = chunker_add_data(c->chunker, data, (size_t)n, err);
	c->pos += (uint64_t)n;
	return got > 0 ? 2 : got < 0 ? got : (size_t)n < want;
}

/* Chunks from pos on; result as in chunk_data_range(). ahead: the range may be
 * long. */
static int chunk_from_position(struct longfile_job *c, bool ahead,
			       struct err *err)
{
	bool plain = c->cached || !ahead;
	AUTO(stream) struct stream *in = stream_new(c->fd, c->size, plain);
	uint64_t start, end;
	int got;

	(void)stream_direct(c->fd, false);
	got = add_data_until_cut(c, err);
	if (c->direct && !plain)
		(void)stream_direct(c->fd, true);
	while (got == 0) {
		bool more = hole_next_data(c->fd, c->pos, &start, &end);

		chunker_add_zeros(c->chunker, start - c->pos);
		c->pos = start;
		if (!more)
			return 1;
		got = chunk_data_range(c, in, end, err);
	}
	return got;
}

/* Number of bytes from run i to the next reusable run. */
static uint64_t changed_len(const struct chunk_reuse *p, size_t i,
			    uint64_t size)
{
	size_t k = i;

	while (k < p->list.count && !p->reusable[k])
		k++;
	return (k < p->list.count ? p->starts[k] : size) - p->starts[i];
}

/* Alternates between reusable runs and ranges that are chunked again. */
static int chunk_changed_ranges(struct longfile_job *c,
				const struct chunk_reuse *p, struct err *err)
{
	size_t i = 0;
	int got = 2;

	while (got == 2) {
		i = chunker_reuse(c->chunker, i);
		c->pos = p->starts[i];
		if (i == p->list.count && c->pos == c->size)
			return 1;
		got = chunk_from_position(
			c, changed_len(p, i, c->size) >= RING_LEN, err);
		if (got == 2)
			i = chunker_reusable_run(c->chunker);
	}
	return got;
}

int longfile_put(struct store *s, int fd, uint64_t size,
		 const struct longfile_hints *hints, struct oid *ret,
		 uint64_t *ret_size, struct err *err)
{
	AUTO(chunk_reuse)
	struct chunk_reuse *chunk_reuse =
		hints && hints->chunk_mac_cache && size >= marked_len
			? chunk_reuse_new(s, hints->chunk_mac_cache,
					  hints->before)
			: NULL;
	AUTO(chunker) struct chunker *chunker = chunker_new(s, chunk_reuse);
	struct longfile_job c = {.chunker = chunker,
				 .fd = fd,
				 .size = size,
				 .cached = stream_is_cached(fd, size)};
	unsigned char *macs;
	size_t count;
	int got;

	(void)posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	c.direct = !c.cached && size >= DIRECT_LEN && stream_direct(fd, true);
	got = chunk_reuse
		      ? chunk_reuse_check(chunk_reuse, fd, size, c.cached, err)
		      : 0;
	if (got == 0)
		got = chunk_reuse && chunk_reuse->list.count
			      ? chunk_changed_ranges(&c, chunk_reuse, err)
			      : chunk_from_position(&c, true, err);
	if (c.direct)
		(void)stream_direct(fd, false);
	if (got < 0 || chunker_end(chunker, ret, err) < 0)
		return -err->num;
	*ret_size = c.pos;
	macs = chunk_reuse ? chunker_macs(chunker, &count) : NULL;
	if (macs)
		chunk_mac_cache_put(hints->chunk_mac_cache, ret, hints->before,
				    macs, count);
	return 0;
}
