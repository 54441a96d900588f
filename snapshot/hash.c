#include "snapshot/hash.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/mem.h"

struct hash_stream {
	XXH3_state_t *state;
};

static void put_canonical(XXH128_hash_t hash, unsigned char ret[HASH_LEN])
{
	XXH128_canonical_t canonical;

	XXH128_canonicalFromHash(&canonical, hash);
	memcpy(ret, canonical.digest, HASH_LEN);
}

void hash_keyed(const void *secret, const void *data, size_t len,
		unsigned char ret[HASH_LEN])
{
	put_canonical(XXH3_128bits_withSecret(len ? data : "", len, secret,
					      SECRET_LEN),
		      ret);
}

uint64_t hash_derive(const void *secret, uint64_t number)
{
	unsigned char text[16] = "derived";
	int i;

	for (i = 0; i < 8; i++)
		text[8 + i] = (unsigned char)(number >> 8 * i);
	return XXH3_64bits_withSecret(text, sizeof(text), secret, SECRET_LEN);
}

uint64_t hash_check(const void *data, size_t len)
{
	return XXH3_64bits(len ? data : "", len);
}

struct hash_stream *hash_stream_new(const void *secret)
{
	struct hash_stream *stream = mem_alloc(sizeof(*stream));

	stream->state = XXH3_createState();
	if (!stream->state)
		abort();
	(void)XXH3_128bits_reset_withSecret(stream->state, secret, SECRET_LEN);
	return stream;
}

void hash_stream_free(struct hash_stream **stream)
{
	if (!*stream)
		return;
	(void)XXH3_freeState((*stream)->state);
	free(*stream);
	*stream = NULL;
}

void hash_stream_add(struct hash_stream *stream, const void *data, size_t len)
{
	(void)XXH3_128bits_update(stream->state, data, len);
}

void hash_stream_get(const struct hash_stream *stream,
		     unsigned char ret[HASH_LEN])
{
	put_canonical(XXH3_128bits_digest(stream->state), ret);
}
