/*
 * Authentication tags of chunks: a second hash that identifies a chunk of a
 * long file without a comparison with the stored bytes.
 *
 * The keyed XXH3 that names objects is too weak for this (see store.h). The tag
 * is that of AES-128-GCM with the chunk as associated data, that is GHASH under
 * a secret key, masked by a constant. Two different chunks of up to CHUNK_MAX
 * bytes, even if chosen by an attacker, have equal tags with a probability of
 * at most 2^-111, as long as key and tags are secret (GHASH: McGrew, Viega,
 * INDOCRYPT 2004). Key and tags stay in guard's state and are never printed.
 *
 * libcrypto is loaded when the first tag is computed and never linked: most
 * commands read no long file. Without libcrypto there are no tags, and chunks
 * are compared byte by byte.
 */
#ifndef GUARD_SNAPSHOT_STORE_CHUNK_MAC_H
#define GUARD_SNAPSHOT_STORE_CHUNK_MAC_H

#include <stdbool.h>
#include <stddef.h>

#define CHUNK_MAC_LEN 16
#define CHUNK_MAC_KEY_LEN 16

struct chunk_mac;

/* For use by one thread. NULL: libcrypto is missing. */
struct chunk_mac *chunk_mac_new(const unsigned char key[CHUNK_MAC_KEY_LEN]);
void chunk_mac_free(struct chunk_mac **m);

/* Computes a tag: begin, any number of add, end. False: no tag, and ret is
 * undefined. */
void chunk_mac_begin(struct chunk_mac *m);
void chunk_mac_add(struct chunk_mac *m, const void *data, size_t len);
bool chunk_mac_end(struct chunk_mac *m, unsigned char ret[CHUNK_MAC_LEN]);

#endif
