/*
 * Hashes. No other module includes xxhash.
 *
 * Keyed hash: names objects, always together with a comparison of the bytes
 * (store.h gives the reason). It is XXH3-64 twice: with the 192 secret bytes of
 * a store, and with 192 bytes derived from them. Structured pairs collide under
 * one random secret with probability 2^-26, at every length that XXH3 treats
 * differently, and under both with 2^-52. The speed is half of that of
 * XXH3-128, which older stores use: 8 GB/s, a hundredth of the time of a first
 * snapshot. The seeded variants are not used: `_withSeed` collides for
 * structured pairs with probability 2^-10, and `_withSecretandSeed` uses the
 * public secret for up to 240 bytes.
 *
 * Check: XXH3-64 without a key, against accidents only (bit rot, torn writes).
 *
 * Both are stored big-endian (xxhash's canonical form), so that stores can move
 * between machines.
 */
#ifndef GUARD_SNAPSHOT_STORE_HASH_H
#define GUARD_SNAPSHOT_STORE_HASH_H

#include <endian.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/uio.h>

#define HASH_LEN 16
#define SECRET_LEN 192

enum hash_kind {
	HASH_XXH3_128, /* in stores that were made before HASH_XXH3_64X2
			  existed */
	HASH_XXH3_64X2,
};

struct hash_key {
	unsigned char secret[SECRET_LEN], second[SECRET_LEN];
	enum hash_kind kind;
};

/* secret: SECRET_LEN bytes, copied. Erase the key with explicit_bzero(). */
void hash_key_make(struct hash_key *ret, enum hash_kind kind,
		   const void *secret);

/* The keyed 128-bit hash of the bytes. */
void hash_keyed(const struct hash_key *key, const void *data, size_t len,
		unsigned char ret[HASH_LEN]);

/* The first bits (at most 64) of a hash as a number, in the order of hashes. */
static inline uint64_t hash_prefix(const unsigned char *hash, unsigned int bits)
{
	uint64_t v;

	memcpy(&v, hash, sizeof(v));
	return be64toh(v) >> (64 - bits);
}

/* A number derived from the secret and a small number, for tables that must
 * differ from store to store. Not for identity. */
uint64_t hash_derive(const void *secret, uint64_t number);

/* The unkeyed 64-bit check of the bytes. */
uint64_t hash_check(const void *data, size_t len);
/* The check of the bytes from `from` to the end of a mapped file. Its pages
 * leave the memory of this process again, so a caller that then reads a few of
 * them does not have the whole file in memory. */
uint64_t hash_check_mapped(const void *map, size_t from, size_t len);
/* The check of several parts, one behind the other. */
uint64_t hash_check_parts(const struct iovec *parts, size_t count);

#endif
