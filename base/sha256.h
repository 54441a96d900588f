/* SHA-256, for names that other programs have made with it. guard's own names
 * of contents are keyed hashes. */
#ifndef GUARD_BASE_SHA256_H
#define GUARD_BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define SHA256_LEN 32
#define SHA256_BLOCK 64

/*
 *	struct sha256 s;
 *	sha256_begin(&s);
 *	sha256_add(&s, data, len);
 *	sha256_end(&s, sum);
 */
struct sha256 {
	uint32_t state[8];
	uint64_t len;
	unsigned char block[SHA256_BLOCK]; /* its first len % SHA256_BLOCK */
};

void sha256_begin(struct sha256 *s);
void sha256_add(struct sha256 *s, const void *data, size_t len);
void sha256_end(struct sha256 *s, unsigned char ret[SHA256_LEN]);

#endif
