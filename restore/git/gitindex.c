#include "restore/git/gitindex.h"

#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/codec.h"
#include "snapshot/store/content.h"

#define INDEX_MAX (256u << 20)
#define HEAD_LEN 12
#define STAT_LEN 40 /* contains the mode, at MODE_AT */
#define MODE_AT 24
#define OBJECT_LEN 20 /* SHA-1; the index does not name its hash */
#define FLAG_EXTENDED 0x4000
/* Bits of the name's length in the flags, not used: the name ends with NUL. */
#define FLAG_LEN_MASK 0x0fff
#define TAIL_LEN 20

/* A reader, and the sum of the relevant bytes. */
struct index {
	const unsigned char *data;
	size_t len, at;
	uint32_t version;
	struct buf sum;
};

static void index_free(struct index *x)
{
	buf_free(&x->sum);
}

static size_t bytes_left(const struct index *x)
{
	return x->len - x->at;
}

/* gitformat-index(5): stat, object, flags, name, up to 8 bytes of NUL. */
static bool entry(struct index *x)
{
	const unsigned char *start = x->data + x->at, *p = start, *end;
	size_t head = STAT_LEN + OBJECT_LEN + 2;
	unsigned int flags;

	if (bytes_left(x) < head)
		return false;
	buf_add(&x->sum, p + MODE_AT, 4);
	buf_add(&x->sum, p + STAT_LEN, OBJECT_LEN);
	flags = (unsigned int)p[head - 2] << 8 | p[head - 1];
	buf_printf(&x->sum, " %x ", flags & ~(unsigned int)FLAG_LEN_MASK);
	if (flags & FLAG_EXTENDED) {
		if (x->version < 3 || bytes_left(x) < head + 2)
			return false;
		buf_add(&x->sum, p + head, 2);
		head += 2;
	}
	p += head;
	/* From version 4 on the name begins with the number of dropped bytes of
	 * the previous name, and there is no padding. */
	if (x->version >= 4) {
		while (p < x->data + x->len && (*p & 0x80))
			buf_add(&x->sum, p++, 1);
		if (p >= x->data + x->len)
			return false;
		buf_add(&x->sum, p++, 1);
	}
	end = memchr(p, '\0', (size_t)(x->data + x->len - p));
	if (!end)
		return false;
	buf_add(&x->sum, p, (size_t)(end - p) + 1);
	x->at += (size_t)(end - start) + 1;
	if (x->version < 4)
		x->at += (8 - (size_t)(end - start + 1) % 8) % 8;
	return x->at <= x->len;
}

static bool sum_up(struct index *x)
{
	/* Extensions that git can rebuild at any time. */
	static const char *const caches[] = {"TREE", "UNTR", "FSMN", "EOIE",
					     "IEOT"};
	uint32_t count, i;

	if (x->len < HEAD_LEN + TAIL_LEN || memcmp(x->data, "DIRC", 4) != 0)
		return false;
	x->version = get_be32(x->data + 4);
	count = get_be32(x->data + 8);
	if (x->version < 2 || x->version > 4)
		return false;
	buf_printf(&x->sum, "%u %u\n", x->version, count);
	x->at = HEAD_LEN;
	for (i = 0; i < count; i++)
		if (!entry(x))
			return false;
	while (bytes_left(x) > TAIL_LEN) {
		const unsigned char *p = x->data + x->at;
		bool cache = false;
		size_t len;

		if (bytes_left(x) < 8 + TAIL_LEN)
			return false;
		len = get_be32(p + 4);
		if (len > bytes_left(x) - 8 - TAIL_LEN)
			return false;
		for (i = 0; i < ARRAY_SIZE(caches); i++)
			cache |= memcmp(p, caches[i], 4) == 0;
		if (!cache)
			buf_add(&x->sum, p, len + 8);
		x->at += len + 8;
	}
	return bytes_left(x) == TAIL_LEN;
}

/* 1 and the sum; 0: no index, or not readable here. */
static int read_sum(struct store *store, const struct entry *e,
		    struct index *ret, struct err *err)
{
	AUTO(buf) struct buf bytes = {0};
	int got;

	if (!S_ISREG(e->mode) || !e->size || e->size > INDEX_MAX)
		return 0;
	got = content_append(store, &e->content, &bytes, err);
	ret->data = bytes.data;
	ret->len = bytes.len;
	return got < 0 ? got : sum_up(ret);
}

int gitindex_same(struct store *store, const struct entry *a,
		  const struct entry *b, struct err *err)
{
	AUTO(index) struct index x = {0}, y = {0};
	int got = read_sum(store, a, &x, err);

	if (got > 0)
		got = read_sum(store, b, &y, err);
	return got > 0 ? buf_same(&x.sum, &y.sum) : got;
}
