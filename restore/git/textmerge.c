#include "restore/git/textmerge.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/codec.h"
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
	const char *feed = memchr(*at, '\n', (size_t)(end - *at));
	struct line l = {*at, (size_t)((feed ? feed : end) - *at)};

	*at = feed ? feed + 1 : end;
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
	size_t len = x->len < y->len ? x->len : y->len;
	int order = len ? memcmp(x->text, y->text, len) : 0;

	return order ? order : (x->len > y->len) - (x->len < y->len);
}

static bool is_marker(const struct line *l)
{
	static const char *const marks[] = {"<<<<<<<", "|||||||",
					    "=======", ">>>>>>>"};
	size_t i;

	for (i = 0; i < sizeof(marks) / sizeof(*marks); i++)
		if (l->len >= 7 && memcmp(l->text, marks[i], 7) == 0)
			return true;
	return false;
}

/* Each line of a merge is one of the two sides, or a conflict marker: a worker
 * cannot write others into a file of the user. */
static bool has_lines_of(const struct textmerge_sides *sides, const char *at,
			 const char *end, bool clean)
{
	AUTO(lines) struct lines known = {0};

	add_lines(&known, sides->ours);
	add_lines(&known, sides->theirs);
	VEC_SORT(&known, compare_lines);
	while (at < end) {
		struct line l = take_line(&at, end);

		if (!(known.count && bsearch(&l, known.items, known.count,
					     sizeof(l), compare_lines)) &&
		    (clean || !is_marker(&l)))
			return false;
	}
	return true;
}

static struct parse_text text_of(const struct buf *text)
{
	return text ? (struct parse_text){text->len ? (const void *)text->data
						    : "",
					  text->len}
		    : (struct parse_text){0};
}

int textmerge(const struct textmerge_sides *sides, struct buf *ret,
	      struct err *err)
{
	AUTO(buf) struct buf labels = {0}, answer = {0};
	struct dec d;
	bool clean;

	enc_text(&labels, sides->our_label);
	enc_text(&labels, sides->their_label);
	if (parse_call(PARSE_MERGE,
		       (struct parse_text[]){
			       text_of(sides->base), text_of(sides->ours),
			       text_of(sides->theirs), text_of(&labels)},
		       4, &answer, err) < 0)
		return -err->num;
	d = dec_start(answer.data, answer.len);
	clean = dec_u8(&d);
	if (d.bad || !has_lines_of(sides, (const char *)d.at,
				   (const char *)d.end, clean))
		return parse_refuse(err);
	buf_add(ret, d.at, (size_t)(d.end - d.at));
	return clean;
}
