/*
 * Marks of chunks: a second hash, by which a chunk of a long file is known
 * again without a look at the bytes that are stored.
 *
 * The keyed XXH3 that names objects is not enough for that (store.h says why).
 * A mark is AES-128-GCM's tag over the chunk as associated data, so GHASH under
 * a secret key, masked by a constant: for any two different chunks of up to
 * CHUNK_MAX bytes, whoever chose them, both have one mark with a probability of
 * at most 2^-111, as long as key and marks are secret (GHASH: McGrew, Viega,
 * INDOCRYPT 2004). They stay in guard's state and are shown nowhere.
 *
 * libcrypto is loaded when the first marker is made, never linked: most
 * commands have no long file. Without it there are no marks, and what is known
 * is told by comparing bytes. The only user of openssl's headers.
 */
#ifndef GUARD_SNAPSHOT_STORE_CHUNK_MAC_H
#define GUARD_SNAPSHOT_STORE_CHUNK_MAC_H

#include <stdbool.h>
#include <stddef.h>

#define CHUNK_MAC_LEN 16
#define CHUNK_MAC_KEY_LEN 16

struct chunk_mac;

/* For one thread. NULL: there is no library. */
struct chunk_mac *chunk_mac_new(const unsigned char key[CHUNK_MAC_KEY_LEN]);
void chunk_mac_free(struct chunk_mac **m);

/* begin, any number of add, end: the mark of all that was added. False: no
 * mark came out, and ret is undefined. */
void chunk_mac_begin(struct chunk_mac *m);
void chunk_mac_add(struct chunk_mac *m, const void *data, size_t len);
bool chunk_mac_end(struct chunk_mac *m, unsigned char ret[CHUNK_MAC_LEN]);

/* --- for tests only --- */

/* From now on as if there were no library. */
void chunk_mac_forbid(bool on);

#endif
