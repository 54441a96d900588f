#include "base/codec.h"

#include <string.h>

void enc_u8(struct buf *b, uint8_t v)
{
	buf_add(b, &v, 1);
}

static void enc_le(struct buf *b, uint64_t v, int len)
{
	put_le(buf_reserve(b, (size_t)len), v, len);
	b->len += (size_t)len;
}

void enc_u16(struct buf *b, uint16_t v)
{
	enc_le(b, v, 2);
}

void enc_u32(struct buf *b, uint32_t v)
{
	enc_le(b, v, 4);
}

void enc_u64(struct buf *b, uint64_t v)
{
	enc_le(b, v, 8);
}

void enc_var(struct buf *b, uint64_t v)
{
	while (v >= 0x80) {
		enc_u8(b, (uint8_t)(v | 0x80));
		v >>= 7;
	}
	enc_u8(b, (uint8_t)v);
}

void enc_svar(struct buf *b, int64_t v)
{
	enc_var(b, ((uint64_t)v << 1) ^ (v < 0 ? UINT64_MAX : 0));
}

void enc_bytes(struct buf *b, const void *data, size_t len)
{
	enc_var(b, len);
	buf_add(b, data, len);
}

void enc_text(struct buf *b, const char *text)
{
	enc_bytes(b, text ? text : "", text ? strlen(text) : 0);
}

const unsigned char *dec_raw(struct dec *d, size_t len)
{
	const unsigned char *p = d->at;

	if (d->bad || (size_t)(d->end - d->at) < len) {
		d->bad = true;
		d->at = d->end;
		return NULL;
	}
	d->at += len;
	return p;
}

static uint64_t dec_le(struct dec *d, int len)
{
	const unsigned char *p = dec_raw(d, (size_t)len);

	return p ? get_le(p, len) : 0;
}

uint8_t dec_u8(struct dec *d)
{
	return (uint8_t)dec_le(d, 1);
}

uint16_t dec_u16(struct dec *d)
{
	return (uint16_t)dec_le(d, 2);
}

uint32_t dec_u32(struct dec *d)
{
	return (uint32_t)dec_le(d, 4);
}

uint64_t dec_u64(struct dec *d)
{
	return dec_le(d, 8);
}

uint64_t dec_var(struct dec *d)
{
	uint64_t v = 0;
	unsigned int shift;

	if (!d->bad && d->at < d->end && *d->at < 0x80)
		return *d->at++;
	for (shift = 0; shift < 64; shift += 7) {
		uint8_t c = dec_u8(d);

		if (d->bad)
			return 0;
		v |= (uint64_t)(c & 0x7f) << shift;
		if (!(c & 0x80)) {
			/* Bits beyond 64, or an encoding longer than needed. */
			if ((shift == 63 && c > 1) || (shift && !c))
				break;
			return v;
		}
	}
	d->bad = true;
	return 0;
}

int64_t dec_svar(struct dec *d)
{
	uint64_t v = dec_var(d);

	return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

const unsigned char *dec_bytes(struct dec *d, size_t *ret_len)
{
	uint64_t len = dec_var(d);
	const unsigned char *p;

	*ret_len = 0;
	if (d->bad || len > (uint64_t)(d->end - d->at)) {
		d->bad = true;
		d->at = d->end;
		return NULL;
	}
	p = dec_raw(d, (size_t)len);
	*ret_len = (size_t)len;
	return p;
}

char *dec_text(struct dec *d)
{
	size_t len;
	const unsigned char *p = dec_bytes(d, &len);

	if (p && memchr(p, '\0', len)) {
		d->bad = true;
		len = 0;
	}
	return p ? mem_strndup((const char *)p, len) : mem_strdup("");
}

bool dec_end(const struct dec *d)
{
	return !d->bad && d->at == d->end;
}
