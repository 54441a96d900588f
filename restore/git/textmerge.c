#include "restore/git/textmerge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/codec.h"
#include "base/text.h"
#include "base/vec.h"
#include "restore/parse/parse.h"

bool textmerge_is_text(const struct buf *text)
{
	return text->len <= TEXTMERGE_MAX &&
	       (!text->len || !memchr(text->data, '\0', text->len));
}

/* --- the check of an answer --- */

struct line {
	const char *text;
	size_t len; /* without its end */
};

struct lines {
	struct line *items;
	size_t count, capacity;
};

static void lines_free(struct lines *l)
{
	VEC_FREE(l);
}

/* The next line without LF or CR LF, which a merge may change. */
static struct line take_line(const char **at, const char *end)
{
	struct line l = {*at, text_line_len(*at, end)};

	*at += l.len + (*at + l.len < end);
	while (l.len && l.text[l.len - 1] == '\r')
		l.len--;
	return l;
}

static void add_lines(struct lines *to, const struct buf *text)
{
	const char *at = (const char *)text->data, *end = at + text->len;

	while (text->len && at < end)
		*VEC_ADD(to) = take_line(&at, end);
}

static int compare_lines(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	return mem_compare(x->text, x->len, y->text, y->len);
}

static bool is_marker(const struct line *l)
{
	static const char *const marks[] = {"<<<<<<<", "|||||||",
					    "=======", ">>>>>>>"};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(marks); i++)
		if (l->len >= 7 && memcmp(l->text, marks[i], 7) == 0)
			return true;
	return false;
}

static void add_both_sides(struct lines *to,
			   const struct textmerge_sides *sides)
{
	add_lines(to, sides->ours);
	add_lines(to, sides->theirs);
	VEC_SORT(to, compare_lines);
}

/* Whether each line of the text, from a byte on, is known, or a conflict marker
 * where these may be. */
static bool has_known_lines(const struct buf *text, size_t from,
			    const struct lines *known, bool markers)
{
	const char *at = text->len ? (const char *)text->data + from : NULL;
	const char *end =
		text->len ? (const char *)text->data + text->len : NULL;

	while (at < end) {
		struct line l = take_line(&at, end);

		if (!(known->count && bsearch(&l, known->items, known->count,
					      sizeof(l), compare_lines)) &&
		    !(markers && is_marker(&l)))
			return false;
	}
	return true;
}

/* marker: 0 for git's usual conflict markers; else conflicts have all three
 * sides, and markers of that length. */
static int call_merge(const struct textmerge_sides *sides, uint64_t marker,
		      struct buf *ret, struct err *err)
{
	AUTO(buf) struct buf labels = {0};

	enc_text(&labels, sides->our_label ?: "");
	enc_text(&labels, sides->their_label ?: "");
	enc_var(&labels, marker);
	return parse_call(PARSE_MERGE,
			  (struct parse_text[]){parse_text_of(sides->base),
						parse_text_of(sides->ours),
						parse_text_of(sides->theirs),
						parse_text_of(&labels)},
			  4, ret, err);
}

int textmerge(const struct textmerge_sides *sides, struct buf *ret,
	      struct err *err)
{
	AUTO(buf) struct buf answer = {0};
	AUTO(lines) struct lines known = {0};
	struct dec d;
	bool clean;

	if (call_merge(sides, 0, &answer, err) < 0)
		return -err->num;
	d = dec_start(answer.data, answer.len);
	clean = dec_u8(&d);
	/* A worker cannot write other lines into a file of the user. */
	add_both_sides(&known, sides);
	if (d.bad || !has_known_lines(&answer, 1, &known, !clean))
		return parse_refuse(err);
	buf_add(ret, d.at, (size_t)(d.end - d.at));
	return clean;
}

/* --- parts --- */

#define MARKS "<|=>"

void textmerge_parts_free(struct textmerge_parts *parts)
{
	size_t i;

	for (i = 0; i < parts->count; i++) {
		buf_free(&parts->items[i].base);
		buf_free(&parts->items[i].ours);
		buf_free(&parts->items[i].theirs);
	}
	VEC_FREE(parts);
}

static size_t count_leading(const char *at, const char *end)
{
	const char *from = at;

	while (at < end && *at == *from && strchr(MARKS, *at) && *at)
		at++;
	return (size_t)(at - from);
}

/* More characters than any line of the text begins with. */
static size_t longer_marker(const struct buf *text, size_t least)
{
	const char *at = text ? (const char *)text->data : NULL;
	const char *end = at ? at + text->len : NULL;

	while (at < end) {
		size_t n = count_leading(at, end);
		const char *feed = memchr(at, '\n', (size_t)(end - at));

		if (n >= least)
			least = n + 1;
		at = feed ? feed + 1 : end;
	}
	return least;
}

/* Cuts the text at the markers; false: they are in another order. */
static bool cut_parts(const char *at, const char *end, size_t marker,
		      struct textmerge_parts *ret)
{
	/* The marker that ends the lines of the side before it. */
	const char *expected = MARKS;
	struct textmerge_part *part = NULL;

	while (at < end) {
		const char *feed = memchr(at, '\n', (size_t)(end - at));
		const char *next = feed ? feed + 1 : end;

		if (count_leading(at, end) >= marker) {
			if (*at != *expected)
				return false;
			if (*at == '<' || *at == '>') {
				part = VEC_ADD(ret);
				*part = (struct textmerge_part){
					.conflict = *at == '<'};
			}
			expected = expected[1] ? expected + 1 : MARKS;
		} else {
			if (!part) {
				part = VEC_ADD(ret);
				*part = (struct textmerge_part){0};
			}
			buf_add(*expected == '=' && part->conflict ? &part->base
				: *expected == '>' ? &part->theirs
						   : &part->ours,
				at, (size_t)(next - at));
		}
		at = next;
	}
	return *expected == '<';
}

/* A conflict at the end: the merge has added a line end to a side without. */
static void cut_added_feed(struct buf *part, const struct buf *side)
{
	if (!side || !side->len || side->data[side->len - 1] == '\n' ||
	    !part->len || part->data[part->len - 1] != '\n')
		return;
	part->len--;
	if (part->len && part->data[part->len - 1] == '\r' &&
	    side->data[side->len - 1] != '\r')
		part->len--;
}

static bool are_parts_of(const struct textmerge_sides *sides,
			 const struct textmerge_parts *parts)
{
	AUTO(lines) struct lines base = {0}, ours = {0}, theirs = {0};
	AUTO(lines) struct lines both = {0};
	bool good = true;
	size_t i;

	if (sides->base)
		add_lines(&base, sides->base);
	add_lines(&ours, sides->ours);
	add_lines(&theirs, sides->theirs);
	add_both_sides(&both, sides);
	VEC_SORT(&base, compare_lines);
	VEC_SORT(&ours, compare_lines);
	VEC_SORT(&theirs, compare_lines);
	for (i = 0; good && i < parts->count; i++) {
		const struct textmerge_part *p = &parts->items[i];

		good = has_known_lines(&p->ours, 0, p->conflict ? &ours : &both,
				       false) &&
		       has_known_lines(&p->base, 0, &base, false) &&
		       has_known_lines(&p->theirs, 0, &theirs, false);
	}
	return good;
}

int textmerge_parts_make(const struct textmerge_sides *sides,
			 struct textmerge_parts *ret, struct err *err)
{
	AUTO(buf) struct buf answer = {0};
	struct textmerge_part *last;
	size_t marker = 7;
	struct dec d;
	bool clean;

	marker = longer_marker(sides->base, marker);
	marker = longer_marker(sides->ours, marker);
	marker = longer_marker(sides->theirs, marker);
	if (marker > UINT16_MAX)
		return fail(err, EFBIG, "a line looks like a conflict marker");
	if (call_merge(sides, marker, &answer, err) < 0)
		return -err->num;
	d = dec_start(answer.data, answer.len);
	clean = dec_u8(&d);
	if (d.bad ||
	    !cut_parts((const char *)d.at, (const char *)d.end, marker, ret))
		return parse_refuse(err);
	/* Behind the last marker there is nothing. */
	while (ret->count && !ret->items[ret->count - 1].conflict &&
	       !ret->items[ret->count - 1].ours.len)
		ret->count--;
	last = ret->count ? &ret->items[ret->count - 1] : NULL;
	if (last && last->conflict) {
		cut_added_feed(&last->base, sides->base);
		cut_added_feed(&last->ours, sides->ours);
		cut_added_feed(&last->theirs, sides->theirs);
	}
	if (!are_parts_of(sides, ret))
		return parse_refuse(err);
	return clean;
}
