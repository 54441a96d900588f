#include "base/sha256.h"

#include <string.h>

#define ROUNDS 64

static uint32_t rotate(uint32_t x, unsigned int n)
{
	return x >> n | x << (32 - n);
}

static uint32_t read_word(const unsigned char *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 |
	       (uint32_t)at[2] << 8 | at[3];
}

static void write_word(unsigned char *at, uint32_t word)
{
	at[0] = (unsigned char)(word >> 24);
	at[1] = (unsigned char)(word >> 16);
	at[2] = (unsigned char)(word >> 8);
	at[3] = (unsigned char)word;
}

static void add_block(uint32_t state[8], const unsigned char *block)
{
	/* FIPS 180-4, 4.2.2 */
	static const uint32_t constants[ROUNDS] = {
		0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b,
		0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01,
		0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7,
		0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc,
		0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152,
		0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
		0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
		0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
		0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819,
		0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08,
		0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f,
		0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
		0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
	};
	uint32_t w[ROUNDS], v[8];
	size_t i;

	for (i = 0; i < 16; i++)
		w[i] = read_word(block + 4 * i);
	for (; i < ROUNDS; i++)
		w[i] = w[i - 16] + w[i - 7] +
		       (rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^
			w[i - 15] >> 3) +
		       (rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^
			w[i - 2] >> 10);
	memcpy(v, state, sizeof(v));
	for (i = 0; i < ROUNDS; i++) {
		uint32_t first = v[7] + constants[i] + w[i] +
				 (rotate(v[4], 6) ^ rotate(v[4], 11) ^
				  rotate(v[4], 25)) +
				 ((v[4] & v[5]) ^ (~v[4] & v[6]));
		uint32_t second =
			(rotate(v[0], 2) ^ rotate(v[0], 13) ^
			 rotate(v[0], 22)) +
			((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));

		memmove(v + 1, v, 7 * sizeof(*v));
		v[4] += first;
		v[0] = first + second;
	}
	for (i = 0; i < 8; i++)
		state[i] += v[i];
}

void sha256_begin(struct sha256 *s)
{
	*s = (struct sha256){
		.state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
			  0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19},
	};
}

void sha256_add(struct sha256 *s, const void *data, size_t len)
{
	const unsigned char *at = data;
	size_t filled = s->len % SHA256_BLOCK;

	s->len += len;
	while (len) {
		size_t n = SHA256_BLOCK - filled;

		if (n > len)
			n = len;
		memcpy(s->block + filled, at, n);
		at += n;
		len -= n;
		filled += n;
		if (filled < SHA256_BLOCK)
			break;
		add_block(s->state, s->block);
		filled = 0;
	}
}

void sha256_end(struct sha256 *s, unsigned char ret[SHA256_LEN])
{
	static const unsigned char end[SHA256_BLOCK] = {0x80};
	unsigned char bits[8];
	size_t filled = s->len % SHA256_BLOCK, i;

	write_word(bits, (uint32_t)(s->len >> 29));
	write_word(bits + 4, (uint32_t)(s->len << 3));
	sha256_add(s, end, (filled < 56 ? 56 : 56 + SHA256_BLOCK) - filled);
	sha256_add(s, bits, sizeof(bits));
	for (i = 0; i < 8; i++)
		write_word(ret + 4 * i, s->state[i]);
}
