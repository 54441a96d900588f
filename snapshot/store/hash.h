/*
 * Hashes. The only user of xxhash.
 *
 * Keyed: for identity, always together with a compare of the bytes (store.h
 * says why). XXH3-64 twice, with the 192 secret bytes of a store and with 192
 * others made from them: a structured pair collides under one random secret
 * with 2^-26, whichever of XXH3's lengths is taken, and so under two with
 * 2^-52. Half the speed of XXH3-128, which older stores have: 8 GB/s, a
 * hundredth of a first snapshot's time. Never the seeded variants: `_withSeed`
 * collides for structured pairs with 2^-10, and
 * `_withSecretandSeed` uses the public secret up to 240 bytes.
 * Plain: XXH3-64, against accidents only (bit rot, torn writes).
 *
 * Both are written big-endian (xxhash's canonical form), so stores can move
 * between machines.
 */
#ifndef GUARD_SNAPSHOT_STORE_HASH_H
#define GUARD_SNAPSHOT_STORE_HASH_H

#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"

#define HASH_LEN 16
#define SECRET_LEN 192

enum hash_kind {
	HASH_XXH3_128, /* of stores from before there were two secrets */
	HASH_XXH3_64X2,
};

struct hash_key {
	unsigned char secret[SECRET_LEN], second[SECRET_LEN];
	enum hash_kind kind;
};

/* secret: SECRET_LEN bytes, copied; forget them with explicit_bzero(). */
void hash_key_make(struct hash_key *ret, enum hash_kind kind,
		   const void *secret);

/* The keyed 128-bit hash of the bytes. */
void hash_keyed(const struct hash_key *key, const void *data, size_t len,
		unsigned char ret[HASH_LEN]);

/* A number from the secret and a small number, for tables that must differ
 * from store to store. Not for identity. */
uint64_t hash_derive(const void *secret, uint64_t number);

/* The unkeyed 64-bit check of the bytes. */
uint64_t hash_check(const void *data, size_t len);
/* The same of several, one behind the other. */
uint64_t hash_check_parts(const struct buf *const *parts, size_t count);

#endif
