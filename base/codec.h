/*
 * Bytes of on-disk formats: little-endian numbers, varints, counted strings.
 *
 * A decoder never reads beyond its end: after the first short or odd read
 * `bad` is set, and everything read from then on is zero or empty. Check
 * dec_end() once at the end (or `bad` before using a count).
 */
#ifndef GUARD_BASE_CODEC_H
#define GUARD_BASE_CODEC_H

#include <stdbool.h>
#include <stdint.h>
#include <stddef.h>

#include "base/mem.h"

void enc_u8(struct buf *b, uint8_t v);
void enc_u16(struct buf *b, uint16_t v);
void enc_u32(struct buf *b, uint32_t v);
void enc_u64(struct buf *b, uint64_t v);
void enc_var(struct buf *b, uint64_t v); /* LEB128 */
void enc_svar(struct buf *b, int64_t v); /* zigzag, then LEB128 */
void enc_bytes(struct buf *b, const void *data, size_t len); /* var + bytes */
void enc_text(struct buf *b, const char *text); /* NULL as "" */

struct dec {
	const unsigned char *at, *end;
	bool bad;
};

static inline struct dec dec_start(const void *data, size_t len)
{
	const unsigned char *p = data;

	return (struct dec){.at = p, .end = p + len};
}

uint8_t dec_u8(struct dec *d);
uint16_t dec_u16(struct dec *d);
uint32_t dec_u32(struct dec *d);
uint64_t dec_u64(struct dec *d);
uint64_t dec_var(struct dec *d);
int64_t dec_svar(struct dec *d);
/* len bytes in place, NULL (and bad) when there are not as many. */
const unsigned char *dec_raw(struct dec *d, size_t len);
/* A counted run of bytes in place. */
const unsigned char *dec_bytes(struct dec *d, size_t *ret_len);
/* A counted text, to free; NUL inside is bad; never NULL. */
char *dec_text(struct dec *d);
/* Everything was read and nothing was odd. */
bool dec_end(const struct dec *d);

#endif
