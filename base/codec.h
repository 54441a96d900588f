/*
 * Encoder and decoder of on-disk formats: little-endian numbers, varints,
 * counted strings.
 *
 * A decoder never reads beyond its end: the first short or invalid value sets
 * `bad`, and everything that is read from then on is zero or empty. Callers
 * check dec_end() once at the end, and `bad` before they use a count.
 *
 * Functions enc_* append one value to b. Functions dec_* read one value.
 */
#ifndef GUARD_BASE_CODEC_H
#define GUARD_BASE_CODEC_H

#include <stdbool.h>
#include <stdint.h>
#include <stddef.h>

#include "base/mem.h"

/* Writes and reads a number of len bytes at an address. */
static inline void put_le(unsigned char *to, uint64_t v, int len)
{
	int i;

	for (i = 0; i < len; i++)
		to[i] = (unsigned char)(v >> 8 * i);
}

static inline uint64_t get_le(const unsigned char *from, int len)
{
	uint64_t v = 0;
	int i;

	for (i = 0; i < len; i++)
		v |= (uint64_t)from[i] << 8 * i;
	return v;
}

/* Four bytes in the order of the network. */
static inline uint32_t get_be32(const unsigned char *from)
{
	return (uint32_t)from[0] << 24 | (uint32_t)from[1] << 16 |
	       (uint32_t)from[2] << 8 | from[3];
}

/* Appends one value to the buffer. */
void enc_u8(struct buf *b, uint8_t v);
void enc_u16(struct buf *b, uint16_t v);
void enc_u32(struct buf *b, uint32_t v);
void enc_u64(struct buf *b, uint64_t v);
void enc_var(struct buf *b, uint64_t v); /* LEB128 */
void enc_svar(struct buf *b, int64_t v); /* zigzag, then LEB128 */
void enc_bytes(struct buf *b, const void *data, size_t len); /* length as
								var, then the
								bytes */
void enc_text(struct buf *b, const char *text); /* NULL is written as "" */

struct dec {
	const unsigned char *at, *end;
	bool bad;
};

static inline struct dec dec_start(const void *data, size_t len)
{
	const unsigned char *p = data;

	return (struct dec){.at = p, .end = p + len};
}

/* Reads one value; 0 when the bytes are short or invalid. */
uint8_t dec_u8(struct dec *d);
uint16_t dec_u16(struct dec *d);
uint32_t dec_u32(struct dec *d);
uint64_t dec_u64(struct dec *d);
uint64_t dec_var(struct dec *d);
int64_t dec_svar(struct dec *d);
/* Returns the address of the next len bytes, or NULL with `bad` set when fewer
 * are left. */
const unsigned char *dec_raw(struct dec *d, size_t len);
/* Returns the address of a counted run of bytes, and its length. */
const unsigned char *dec_bytes(struct dec *d, size_t *ret_len);
/* Reads a counted text, for the caller to free; never NULL. A NUL byte inside
 * sets `bad`. */
char *dec_text(struct dec *d);
/* Whether all bytes were read and all values were valid. */
bool dec_end(const struct dec *d);

#endif
