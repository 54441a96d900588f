#include "snapshot/store/compress.h"

#include <pthread.h>
#include <stdlib.h>

#include <zstd.h>

#include "base/mem.h"

#define LEVEL 1
#define OUT_KEEP ((size_t)4 << 20)
#define PROBE_LEN ((size_t)16 << 10)

/* Contexts of one thread, freed when it ends. */
struct zstd_contexts {
	ZSTD_CCtx *pack;
	ZSTD_DCtx *unpack;
	void *out;
	size_t out_capacity;
};

static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void zstd_contexts_free(void *pointer)
{
	struct zstd_contexts *c = pointer;

	(void)ZSTD_freeCCtx(c->pack);
	(void)ZSTD_freeDCtx(c->unpack);
	free(c->out);
	free(c);
}

static void make_contexts_key(void)
{
	if (pthread_key_create(&key, zstd_contexts_free))
		abort();
}

static struct zstd_contexts *zstd_contexts_get(void)
{
	struct zstd_contexts *c;

	(void)pthread_once(&once, make_contexts_key);
	c = pthread_getspecific(key);
	if (!c) {
		c = mem_zalloc(sizeof(*c));
		c->pack = ZSTD_createCCtx();
		c->unpack = ZSTD_createDCtx();
		if (!c->pack || !c->unpack || pthread_setspecific(key, c))
			abort();
	}
	return c;
}

static size_t compress_with_context(struct zstd_contexts *c, const void *data,
				    size_t len)
{
	size_t capacity = ZSTD_compressBound(len);
	size_t got;

	/* The buffer grows as needed and shrinks again after one huge object.
	 */
	if (c->out_capacity < capacity ||
	    (c->out_capacity > OUT_KEEP && capacity < OUT_KEEP)) {
		free(c->out);
		c->out = mem_alloc(capacity);
		c->out_capacity = capacity;
	}
	got = ZSTD_compressCCtx(c->pack, c->out, c->out_capacity, data, len,
				LEVEL);
	return ZSTD_isError(got) || got >= len ? 0 : got;
}

const void *compress_bytes(const void *data, size_t len, bool probe,
			   size_t *ret_len)
{
	struct zstd_contexts *c = zstd_contexts_get();
	size_t got;

	if (probe && len > 2 * PROBE_LEN) {
		got = compress_with_context(c, data, PROBE_LEN);
		if (!got || got > PROBE_LEN / 100 * 97)
			return NULL;
	}
	got = compress_with_context(c, data, len);
	if (!got)
		return NULL;
	*ret_len = got;
	return c->out;
}

bool decompress_bytes(void *to, size_t plain_len, const void *data, size_t len)
{
	size_t got = ZSTD_decompressDCtx(zstd_contexts_get()->unpack, to,
					 plain_len, data, len);

	return !ZSTD_isError(got) && got == plain_len;
}
