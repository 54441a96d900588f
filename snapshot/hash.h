/*
 * Hashes. The only user of xxhash.
 *
 * Keyed: XXH3-128 with the 192 secret bytes of a store, for identity, always
 * together with a compare of the bytes (store.h says why). Never the seeded
 * variants: `_withSeed` collides for structured pairs with 2^-10, and
 * `_withSecretandSeed` uses the public secret up to 240 bytes.
 * Plain: XXH3-64, against accidents only (bit rot, torn writes).
 *
 * Both are written big-endian (xxhash's canonical form), so stores can move
 * between machines.
 */
#ifndef GUARD_SNAPSHOT_HASH_H
#define GUARD_SNAPSHOT_HASH_H

#include <stddef.h>
#include <stdint.h>

#define HASH_LEN 16
#define SECRET_LEN 192

/* The keyed 128-bit hash of the bytes. secret: SECRET_LEN bytes. */
void hash_keyed(const void *secret, const void *data, size_t len,
		unsigned char ret[HASH_LEN]);

/* A number from the secret and a small number, for tables that must differ
 * from store to store. Not for identity. */
uint64_t hash_derive(const void *secret, uint64_t number);

/* The unkeyed 64-bit check of the bytes. */
uint64_t hash_check(const void *data, size_t len);

#endif
