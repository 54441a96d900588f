#include "snapshot/cutter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "snapshot/chunklist.h"
#include "snapshot/putter.h"
#include "snapshot/storeimpl.h"

static const unsigned char zero_bytes[HOLE_MIN];

static size_t block_at(size_t at, size_t len)
{
	return len - at < HOLE_ALIGN ? len - at : HOLE_ALIGN;
}

static bool all_zero(const unsigned char *p, size_t len)
{
	return !p[0] && memcmp(p, p + 1, len - 1) == 0;
}

size_t cutter_zeros(const unsigned char *data, size_t len)
{
	size_t at = 0;

	while (at < len && all_zero(data + at, block_at(at, len)))
		at += block_at(at, len);
	return at;
}

size_t cutter_data(const unsigned char *data, size_t len)
{
	size_t at = 0;

	while (at < len && !all_zero(data + at, block_at(at, len)))
		at += block_at(at, len);
	return at;
}

/*
 * Takes the bytes of a long file in order and puts chunks. What waits in the
 * window has no hole in it.
 */
struct cutter {
	struct store *store;
	struct putter *putter;
	unsigned char *window; /* 2 * CHUNK_MAX */
	size_t start, have;
	uint64_t zeros; /* came last and are not in the window yet */
};

struct cutter *cutter_new(struct store *s)
{
	struct cutter *c = mem_zalloc(sizeof(*c));

	c->store = s;
	c->putter = putter_new(s);
	c->window = mem_alloc(2 * CHUNK_MAX);
	return c;
}

void cutter_free(struct cutter **cutter)
{
	struct cutter *c = *cutter;

	if (!c)
		return;
	putter_free(&c->putter);
	free(c->window);
	free(c);
	*cutter = NULL;
}

/* Puts one chunk from the window. */
static int cut_one(struct cutter *c, struct err *err)
{
	const unsigned char *data = c->window + c->start;
	size_t len = chunk_cut(store_gear(c->store), data, c->have);

	if (putter_put(c->putter, data, len, err) < 0)
		return -err->num;
	c->start += len;
	c->have -= len;
	return 0;
}

static int cut_all(struct cutter *c, struct err *err)
{
	while (c->have) {
		if (cut_one(c, err) < 0)
			return -err->num;
	}
	return 0;
}

static int window_add(struct cutter *c, const unsigned char *data, size_t len,
		      struct err *err)
{
	while (len) {
		size_t n = 2 * CHUNK_MAX - c->start - c->have;

		if (n > len)
			n = len;
		memcpy(c->window + c->start + c->have, data, n);
		c->have += n;
		data += n;
		len -= n;
		while (c->have >= CHUNK_MAX) {
			if (cut_one(c, err) < 0)
				return -err->num;
		}
		if (c->start >= CHUNK_MAX) {
			memmove(c->window, c->window + c->start, c->have);
			c->start = 0;
		}
	}
	return 0;
}

/* The zeros that came become a hole, or bytes when they are too few. */
static int zeros_end(struct cutter *c, struct err *err)
{
	if (c->zeros >= HOLE_MIN) {
		if (cut_all(c, err) < 0)
			return -err->num;
		putter_hole(c->putter, c->zeros);
	} else if (window_add(c, zero_bytes, (size_t)c->zeros, err) < 0) {
		return -err->num;
	}
	c->zeros = 0;
	return 0;
}

int cutter_add(struct cutter *c, const unsigned char *data, size_t len,
	       struct err *err)
{
	size_t n;

	while (len) {
		n = cutter_zeros(data, len);
		c->zeros += n;
		data += n;
		len -= n;
		if (!len)
			break;
		if (c->zeros && zeros_end(c, err) < 0)
			return -err->num;
		n = cutter_data(data, len);
		if (window_add(c, data, n, err) < 0)
			return -err->num;
		data += n;
		len -= n;
	}
	return 0;
}

int cutter_end(struct cutter *c, struct oid *ret, struct err *err)
{
	AUTO(buf) struct buf b = {0};
	const struct chunklist *list;

	if (zeros_end(c, err) < 0 || cut_all(c, err) < 0 ||
	    putter_end(c->putter, &list, err) < 0)
		return -err->num;
	chunklist_encode(list, &b);
	if (b.len > OBJECT_LEN_MAX)
		return fail(err, EFBIG, "the file is too large to be kept");
	return store_put(c->store, OBJECT_CHUNKLIST, b.data, b.len, ret, err);
}

void cutter_skip(struct cutter *c, uint64_t len)
{
	c->zeros += len;
}
