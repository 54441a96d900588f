#include "snapshot/store/hash.h"

#include <string.h>
#include <sys/mman.h>

#include "base/codec.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

/* Numbers above those from which gear tables are made. */
#define SECOND_NUMBER ((uint64_t)1 << 32)
/* So many bytes of a mapped file are in memory at once. */
#define MAPPED_MOST ((size_t)1 << 20)

static void put_64(unsigned char *to, const void *secret, const void *data,
		   size_t len)
{
	XXH64_canonical_t canonical;

	XXH64_canonicalFromHash(
		&canonical,
		XXH3_64bits_withSecret(data, len, secret, SECRET_LEN));
	memcpy(to, canonical.digest, sizeof(canonical.digest));
}

void hash_keyed(const struct hash_key *key, const void *data, size_t len,
		unsigned char ret[HASH_LEN])
{
	XXH128_canonical_t canonical;

	if (!len)
		data = "";
	if (key->kind == HASH_XXH3_64X2) {
		put_64(ret, key->secret, data, len);
		put_64(ret + HASH_LEN / 2, key->second, data, len);
		return;
	}
	XXH128_canonicalFromHash(
		&canonical,
		XXH3_128bits_withSecret(data, len, key->secret, SECRET_LEN));
	memcpy(ret, canonical.digest, HASH_LEN);
}

void hash_key_make(struct hash_key *ret, enum hash_kind kind,
		   const void *secret)
{
	unsigned int i;

	ret->kind = kind;
	memcpy(ret->secret, secret, SECRET_LEN);
	for (i = 0; i < SECRET_LEN / 8; i++)
		put_le(ret->second + 8 * i,
		       hash_derive(secret, SECOND_NUMBER + i), 8);
}

uint64_t hash_derive(const void *secret, uint64_t number)
{
	unsigned char text[16] = "derived";

	put_le(text + 8, number, 8);
	return XXH3_64bits_withSecret(text, sizeof(text), secret, SECRET_LEN);
}

uint64_t hash_check(const void *data, size_t len)
{
	return XXH3_64bits(len ? data : "", len);
}

uint64_t hash_check_mapped(const void *map, size_t from, size_t len)
{
	const unsigned char *data = map;
	XXH3_state_t state;
	size_t n;

	XXH3_INITSTATE(&state);
	(void)XXH3_64bits_reset(&state);
	for (; from < len; from += n) {
		n = len - from < MAPPED_MOST ? len - from : MAPPED_MOST;
		(void)XXH3_64bits_update(&state, data + from, n);
		(void)madvise((void *)(uintptr_t)map, from + n, MADV_DONTNEED);
	}
	return XXH3_64bits_digest(&state);
}

uint64_t hash_check_parts(const struct iovec *parts, size_t count)
{
	XXH3_state_t state;
	size_t i;

	XXH3_INITSTATE(&state);
	(void)XXH3_64bits_reset(&state);
	for (i = 0; i < count; i++)
		if (parts[i].iov_len)
			(void)XXH3_64bits_update(&state, parts[i].iov_base,
						 parts[i].iov_len);
	return XXH3_64bits_digest(&state);
}
