#include "snapshot/hash.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

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
