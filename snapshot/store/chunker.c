#include "snapshot/store/chunker.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "snapshot/store/chunk.h"
#include "snapshot/store/chunklist.h"
#include "snapshot/store/hole.h"
#include "snapshot/store/chunk_writer.h"
#include "snapshot/store/packformat.h"

static const unsigned char zero_bytes[HOLE_MIN];

/* Chunks are cut from the front of the window, which contains no hole. */
struct chunker {
	struct store *store;
	struct chunk_writer *chunk_writer;
	unsigned char *window; /* 2 * CHUNK_MAX bytes */
	size_t start, have;
	uint64_t at; /* offset of the window's start in the file */
	uint64_t zeros; /* zeros behind the window that are not in it yet */
	const struct chunk_reuse *chunk_reuse; /* may be NULL */
	size_t met; /* index of the next reusable run */
};

struct chunker *chunker_new(struct store *s,
			    const struct chunk_reuse *chunk_reuse)
{
	struct chunker *c = mem_zalloc(sizeof(*c));

	c->store = s;
	c->chunk_reuse = chunk_reuse;
	c->chunk_writer = chunk_writer_new(s, chunk_reuse);
	c->window = mem_alloc(2 * CHUNK_MAX);
	return c;
}

void chunker_free(struct chunker **chunker)
{
	struct chunker *c = *chunker;

	if (!c)
		return;
	chunk_writer_free(&c->chunk_writer);
	free(c->window);
	free(c);
	*chunker = NULL;
}

/* Stores one chunk from the window. 1: a reusable run follows. */
static int cut_first_chunk(struct chunker *c, struct err *err)
{
	const unsigned char *data = c->window + c->start;
	size_t len = chunk_cut(store_gear(c->store), data, c->have);

	if (chunk_writer_add(c->chunk_writer, data, len, err) < 0)
		return -err->num;
	c->start += len;
	c->have -= len;
	c->at += len;
	if (!c->chunk_reuse)
		return 0;
	c->met = chunk_reuse_at(c->chunk_reuse, c->at);
	return c->met < c->chunk_reuse->list.count;
}

static int cut_window(struct chunker *c, struct err *err)
{
	int got = 0;

	while (c->have && got == 0)
		got = cut_first_chunk(c, err);
	return got;
}

static int add_to_window(struct chunker *c, const unsigned char *data,
			 size_t len, struct err *err)
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
			int got = cut_first_chunk(c, err);

			if (got)
				return got;
		}
		if (c->start >= CHUNK_MAX) {
			memmove(c->window, c->window + c->start, c->have);
			c->start = 0;
		}
	}
	return 0;
}

/* Turns the pending zeros into a hole, or into data when they are too few. */
static int end_zero_run(struct chunker *c, struct err *err)
{
	uint64_t zeros = c->zeros;
	int got;

	c->zeros = 0;
	if (zeros < HOLE_MIN)
		return add_to_window(c, zero_bytes, (size_t)zeros, err);
	got = cut_window(c, err);
	if (got)
		return got;
	chunk_writer_add_hole(c->chunk_writer, zeros);
	c->at += zeros;
	return 0;
}

int chunker_add(struct chunker *c, const unsigned char *data, size_t len,
		struct err *err)
{
	size_t n;
	int got = 0;

	while (len && got == 0) {
		n = hole_zeros_len(data, len);
		c->zeros += n;
		data += n;
		len -= n;
		if (!len)
			break;
		if (c->zeros)
			got = end_zero_run(c, err);
		if (got)
			break;
		n = hole_data_len(data, len);
		got = add_to_window(c, data, n, err);
		data += n;
		len -= n;
	}
	return got;
}

int chunker_add_data(struct chunker *c, const unsigned char *data, size_t len,
		     struct err *err)
{
	return add_to_window(c, data, len, err);
}

size_t chunker_reuse(struct chunker *c, size_t i)
{
	const struct chunk_reuse *p = c->chunk_reuse;

	/* The rest of the window belongs to reusable runs. */
	c->start = c->have = 0;
	c->zeros = 0;
	for (; i < p->list.count && p->reusable[i]; i++)
		chunk_writer_add_reused(c->chunk_writer, &p->list.runs[i],
					p->macs + i * CHUNK_MAC_LEN);
	c->at = p->starts[i];
	return i;
}

size_t chunker_reusable_run(const struct chunker *c)
{
	return c->met;
}

int chunker_end(struct chunker *c, struct oid *ret, struct err *err)
{
	AUTO(buf) struct buf b = {0};
	const struct chunklist *list;

	/* No run is reused from here on: the file ends. */
	c->chunk_reuse = NULL;
	if (end_zero_run(c, err) < 0 || cut_window(c, err) < 0 ||
	    chunk_writer_end(c->chunk_writer, &list, err) < 0)
		return -err->num;
	chunklist_encode(list, &b);
	if (b.len > OBJECT_LEN_MAX)
		return fail(err, EFBIG, "the file is too large to be kept");
	return store_put(c->store, OBJECT_CHUNKLIST, b.data, b.len, ret, err);
}

unsigned char *chunker_macs(struct chunker *c, size_t *ret_count)
{
	return chunk_writer_macs(c->chunk_writer, ret_count);
}

void chunker_add_zeros(struct chunker *c, uint64_t len)
{
	c->zeros += len;
}
