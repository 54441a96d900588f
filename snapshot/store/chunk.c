#include "snapshot/store/chunk.h"

#include "snapshot/store/hash.h"

/* Masks of the top bits, where 64 bytes of history meet: two bits more than the
 * average needs (2^18) before the average length, two bits fewer behind it. */
#define MASK_HARD (~(uint64_t)0 << (64 - 20))
#define MASK_EASY (~(uint64_t)0 << (64 - 16))

void gear_make(struct gear *gear, const void *secret)
{
	unsigned int i;

	for (i = 0; i < 256; i++)
		gear->table[i] = hash_derive(secret, i);
}

size_t chunk_cut(const struct gear *gear, const unsigned char *data, size_t len)
{
	size_t average = len < CHUNK_AVG ? len : CHUNK_AVG;
	size_t end = len < CHUNK_MAX ? len : CHUNK_MAX;
	uint64_t h = 0;
	size_t i = CHUNK_MIN;

	if (len <= CHUNK_MIN)
		return len;
	for (; i < average; i++) {
		h = (h << 1) + gear->table[data[i]];
		if (!(h & MASK_HARD))
			return i + 1;
	}
	for (; i < end; i++) {
		h = (h << 1) + gear->table[data[i]];
		if (!(h & MASK_EASY))
			return i + 1;
	}
	return end;
}
