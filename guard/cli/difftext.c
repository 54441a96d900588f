#include "guard/cli/difftext.h"

#include <string.h>

#include "base/auto.h"
#include "guard/cli/output.h"
#include "guard/review/words.h"

/* Without a terminal. */
#define WIDTH 80u
#define LEAST_WIDTH 20u
#define TAB 8u
#define CUT_MARK "..."

/* --- words --- */

static void add_words(struct buf *to, enum diff_layout layout, char kind,
		      const struct difftext_line *line, size_t at, size_t len)
{
	const bool marks = layout == LAYOUT_WORDS || !output_has_color();

	if (!len)
		return;
	buf_add_text(to, styled_of(kind));
	if (marks)
		buf_add_text(to, kind == '-' ? "[-" : "{+");
	text_escape_part(to, line->text, line->len, at, len, true);
	if (marks)
		buf_add_text(to, kind == '-' ? "-]" : "+}");
	buf_add_text(to, PLAIN);
}

/* A blank in front of each line, so that no text looks like the head of a file
 * or hunk. */
static void print_whole(const struct difftext *t, char kind,
			const struct difftext_line *line)
{
	AUTO(buf) struct buf b = {0};

	if (kind == ' ')
		text_escape(&b, line->text, line->len, true);
	else
		add_words(&b, t->layout, kind, line, 0, line->len);
	styled_line(t->to, LINE_TEXT, " %s", buf_text(&b));
}

/* The next range of a line: the bytes before it are equal in both lines. */
struct words_walk {
	const struct difftext_line *line;
	struct words_ranges ranges;
	size_t next, at;
};

static size_t equal_bytes(const struct words_walk *w)
{
	return (w->next < w->ranges.count ? w->ranges.items[w->next].at
					  : w->line->len) -
	       w->at;
}

static void add_range(struct buf *to, enum diff_layout layout, char kind,
		      struct words_walk *w)
{
	const struct words_range *range = &w->ranges.items[w->next];

	if (w->next == w->ranges.count || range->at != w->at)
		return;
	add_words(to, layout, kind, w->line, w->at, range->len);
	w->at += range->len;
	w->next++;
}

static void add_changed(struct buf *to, enum diff_layout layout,
			struct words_walk *old, struct words_walk *now)
{
	while (old->at < old->line->len || now->at < now->line->len) {
		size_t left = equal_bytes(old), right = equal_bytes(now);
		size_t equal = left < right ? left : right;

		text_escape_part(to, now->line->text, now->line->len, now->at,
				 equal, true);
		old->at += equal;
		now->at += equal;
		add_range(to, layout, '-', old);
		add_range(to, layout, '+', now);
	}
}

static void print_words(const struct difftext *t,
			const struct difftext_line *before,
			const struct difftext_line *after)
{
	struct words_walk old = {.line = before}, now = {.line = after};
	AUTO(buf) struct buf b = {0};

	words_compare(before->text, before->len, after->text, after->len,
		      &old.ranges, &now.ranges);
	if (!old.ranges.count && !now.ranges.count &&
	    (before->len != after->len ||
	     memcmp(before->text, after->text, after->len) != 0)) {
		/* Little is equal. */
		print_whole(t, '-', before);
		print_whole(t, '+', after);
	} else {
		add_changed(&b, t->layout, &old, &now);
		styled_line(t->to, LINE_TEXT, " %s", buf_text(&b));
	}
	VEC_FREE(&old.ranges);
	VEC_FREE(&now.ranges);
}

/* --- columns --- */

/* Appends the line with its tabs as blanks. */
static void add_expanded(struct buf *to, const struct difftext_line *line)
{
	const char *at = line->text, *end = at + line->len;
	size_t column = 0;

	while (at < end) {
		const char *tab = memchr(at, '\t', (size_t)(end - at));
		const size_t len = (size_t)((tab ?: end) - at);
		const size_t start = to->len;

		text_escape_part(to, line->text, line->len,
				 (size_t)(at - line->text), len, false);
		column += text_width(buf_text(to) + start);
		at += len;
		if (!tab)
			break;
		do
			buf_add_char(to, ' ');
		while (++column % TAB);
		at++;
	}
}

/* One side of a row, cut or filled to the columns; line: NULL for none. */
static void add_column(struct buf *to, char kind, size_t columns,
		       const struct difftext_line *line)
{
	AUTO(buf) struct buf b = {0};
	size_t len, width;

	if (line)
		add_expanded(&b, line);
	width = text_width(buf_text(&b));
	len = b.len;
	if (width > columns) {
		len = text_fit(buf_text(&b), columns - strlen(CUT_MARK));
		b.len = len;
		buf_add_text(&b, CUT_MARK);
		width = text_width(buf_text(&b));
	}
	buf_printf(to, kind == ' ' ? "%s%s" : "%s%s" PLAIN, styled_of(kind),
		   buf_text(&b));
	for (; width < columns; width++)
		buf_add_char(to, ' ');
}

/* NULL: the side has no line. */
static void print_row(const struct difftext *t, const struct difftext_line *old,
		      const struct difftext_line *now)
{
	const size_t terminal = t->to->width;
	size_t columns = !terminal		  ? WIDTH
			 : terminal < LEAST_WIDTH ? LEAST_WIDTH
						  : terminal;
	bool equal = old && now && old->len == now->len &&
		     memcmp(old->text, now->text, now->len) == 0;
	char sign = !now ? '<' : !old ? '>' : equal ? ' ' : '|';
	AUTO(buf) struct buf row = {0};

	columns = (columns - 3) / 2;
	add_column(&row, equal ? ' ' : '-', columns, old);
	buf_printf(&row, " %c ", sign);
	if (now)
		add_column(&row, equal ? ' ' : '+', columns, now);
	while (row.len && row.data[row.len - 1] == ' ')
		row.len--;
	styled_line(t->to, LINE_TEXT, "%s", buf_text(&row));
}

/* --- blocks --- */

/* So many lines on each side are tried for a similar one. */
#define LOOK_AHEAD 5u

static bool is_similar(const struct difftext_line *a,
		       const struct difftext_line *b)
{
	struct words_ranges old = {0}, now = {0};
	bool similar;

	words_compare(a->text, a->len, b->text, b->len, &old, &now);
	similar = old.count || now.count ||
		  (a->len == b->len && memcmp(a->text, b->text, a->len) == 0);
	VEC_FREE(&old);
	VEC_FREE(&now);
	return similar;
}

/* How many lines of one side come before the next similar pair. */
static void find_pair(const struct difftext *t, size_t i, size_t k,
		      size_t *ret_old, size_t *ret_now)
{
	size_t n;

	*ret_old = *ret_now = 0;
	for (n = 0; n < LOOK_AHEAD; n++) {
		if (k + n < t->now.count &&
		    is_similar(&t->old.items[i], &t->now.items[k + n])) {
			*ret_now = n;
			return;
		}
		if (n && i + n < t->old.count &&
		    is_similar(&t->old.items[i + n], &t->now.items[k])) {
			*ret_old = n;
			return;
		}
	}
}

static void print_pair(const struct difftext *t,
		       const struct difftext_line *old,
		       const struct difftext_line *now)
{
	if (t->layout == LAYOUT_COLUMNS)
		print_row(t, old, now);
	else if (old && now)
		print_words(t, old, now);
	else
		print_whole(t, old ? '-' : '+', old ?: now);
}

void difftext_end(struct difftext *t)
{
	size_t i = 0, k = 0, alone, added;

	while (i < t->old.count && k < t->now.count && !t->to->full) {
		find_pair(t, i, k, &alone, &added);
		for (; alone; alone--)
			print_pair(t, &t->old.items[i++], NULL);
		for (; added; added--)
			print_pair(t, NULL, &t->now.items[k++]);
		print_pair(t, &t->old.items[i++], &t->now.items[k++]);
	}
	for (; i < t->old.count && !t->to->full; i++)
		print_pair(t, &t->old.items[i], NULL);
	for (; k < t->now.count && !t->to->full; k++)
		print_pair(t, NULL, &t->now.items[k]);
	VEC_FREE(&t->old);
	VEC_FREE(&t->now);
}

void difftext_line(struct difftext *t, const struct textdiff_line *line)
{
	struct difftext_line text = {line->text, line->len};
	/* The end of a side without a line feed is a line of that side. */
	const char kind = line->kind == '\\' ? t->last : line->kind;

	while (text.len && text.text[text.len - 1] == '\n')
		text.len--;
	t->last = kind;
	if (t->layout == LAYOUT_UNIFIED) {
		styled_text(t->to, line->kind, text.text, text.len, NULL);
	} else if (kind == '-') {
		if (t->now.count)
			difftext_end(t);
		*VEC_ADD(&t->old) = text;
	} else if (kind == '+' && t->old.count) {
		*VEC_ADD(&t->now) = text;
	} else {
		difftext_end(t);
		if (kind == '+')
			print_pair(t, NULL, &text);
		else if (kind == '@')
			styled_text(t->to, kind, text.text, text.len, NULL);
		else if (t->layout == LAYOUT_COLUMNS)
			print_row(t, &text, &text);
		else
			print_whole(t, ' ', &text);
	}
}
