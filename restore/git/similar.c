#include "restore/git/similar.h"

#include "base/auto.h"
#include "base/codec.h"
#include "restore/parse/parse.h"

#define PERCENT_MAX 99

int similar_percent(const struct buf *a, const struct buf *b, struct err *err)
{
	AUTO(buf) struct buf answer = {0};

	if (parse_call(
		    PARSE_SIMILAR,
		    (struct parse_text[]){parse_text_of(a), parse_text_of(b)},
		    2, &answer, err) < 0)
		return -err->num;
	if (answer.len != 1 || answer.data[0] > PERCENT_MAX)
		return parse_refuse(err);
	return answer.data[0];
}

void similar_free(struct similar *s)
{
	VEC_FREE(&s->has);
}

int similar_add(struct similar *s, const struct buf *text, struct err *err)
{
	AUTO(buf) struct buf number = {0}, answer = {0};
	struct dec d;
	uint32_t got;
	uint8_t has;

	enc_u32(&number, (uint32_t)s->has.count);
	if (parse_call(PARSE_SIGN,
		       (struct parse_text[]){parse_text_of(text),
					     parse_text_of(&number)},
		       2, &answer, err) < 0)
		return -err->num;
	d = dec_start(answer.data, answer.len);
	got = dec_u32(&d);
	has = dec_u8(&d);
	/* A worker that was started since has fewer. */
	if (!dec_end(&d) || got != s->has.count)
		return parse_refuse(err);
	*VEC_ADD(&s->has) = has == 1;
	return 0;
}

int similar_compare(const struct similar *s, size_t number, const size_t *with,
		    size_t count, struct buf *ret, struct err *err)
{
	AUTO(buf) struct buf pairs = {0}, answer = {0};
	size_t i, at = 0, asked = 0;

	for (i = 0; i < count && s->has.items[number]; i++) {
		if (!s->has.items[with[i]])
			continue;
		enc_u32(&pairs, (uint32_t)with[i]);
		enc_u32(&pairs, (uint32_t)number);
		asked++;
	}
	if (asked && parse_call(PARSE_COMPARE,
				(struct parse_text[]){parse_text_of(&pairs)}, 1,
				&answer, err) < 0)
		return -err->num;
	if (answer.len != asked)
		return parse_refuse(err);
	for (i = 0; i < count; i++) {
		bool compared = s->has.items[number] && s->has.items[with[i]];
		unsigned char percent = compared ? answer.data[at++] : 0;

		if (percent > PERCENT_MAX)
			return parse_refuse(err);
		buf_add_char(ret, (char)percent);
	}
	return 0;
}
