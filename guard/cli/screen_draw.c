/* The picture of the full screen. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/text.h"
#include "guard/change/changes.h"
#include "guard/cli/output.h"
#include "guard/cli/review_show.h"
#include "guard/cli/screen_private.h"
#include "guard/review/view.h"

/* From this width on the list stands left of the text. */
#define BESIDE_LEAST 100
#define LIST_COLUMNS_LEAST 42
#define LIST_COLUMNS_MOST 64
/* Columns in front of a line of text: '>' or the mark of a wrapped row, sign, a
 * blank: the mark cannot be read as a part of the text. */
#define TEXT_MARGIN 3
#define WRAP_MARK ':'
#define BAR_ROWS 2

/* The places of list and text. */
struct layout {
	int list_row, list_rows, list_columns;
	int rule_row, rule_column;
	int text_row, text_rows, text_column, text_columns;
};

static int count_verdict_rows(const struct screen *s)
{
	return s->verdict && s->job->verdict ? (int)s->job->verdict->count : 0;
}

static void make_layout(const struct screen *s, struct layout *l)
{
	int verdict = count_verdict_rows(s);
	int body = s->rows - 2 - BAR_ROWS - verdict; /* header, message */
	int count = (int)s->list.shown.count;

	l->list_row = 1 + verdict;
	if (s->columns >= BESIDE_LEAST) {
		l->list_columns = s->columns * 2 / 5;
		if (l->list_columns < LIST_COLUMNS_LEAST)
			l->list_columns = LIST_COLUMNS_LEAST;
		if (l->list_columns > LIST_COLUMNS_MOST)
			l->list_columns = LIST_COLUMNS_MOST;
		l->list_rows = body;
		l->rule_row = l->list_row;
		l->rule_column = l->list_columns + 2;
		l->text_row = l->list_row + 1;
		l->text_rows = body - 1;
	} else {
		/* The list takes the rows that the text does not need. */
		int text = (int)s->text.lines.count, spare = body - 1 - text;

		l->list_columns = s->columns;
		l->list_rows = body / 3 > 4 ? body / 3 : 4;
		if (spare > l->list_rows)
			l->list_rows = spare;
		if (count < l->list_rows)
			l->list_rows = count ? count : 1;
		l->rule_row = l->list_row + l->list_rows;
		l->rule_column = 0;
		l->text_row = l->rule_row + 1;
		l->text_rows = body - l->list_rows - 1;
	}
	l->text_column = l->rule_column;
	l->text_columns = s->columns - l->rule_column;
}

size_t screen_text_rows(const struct screen *s)
{
	struct layout l;

	make_layout(s, &l);
	return (size_t)l.text_rows;
}

bool screen_row_at(const struct screen *s, int row, int column, size_t *ret_at)
{
	struct layout l;

	make_layout(s, &l);
	if (row < l.list_row || row >= l.list_row + l.list_rows ||
	    column >= l.list_columns)
		return false;
	*ret_at = s->list_top + (size_t)(row - l.list_row);
	return *ret_at < s->list.shown.count;
}

bool screen_line_at(const struct screen *s, int row, int column, size_t *ret_at)
{
	struct layout l;

	make_layout(s, &l);
	if (row < l.text_row || row >= l.text_row + l.text_rows ||
	    column < l.text_column)
		return false;
	*ret_at = s->text_top + (size_t)(row - l.text_row);
	return *ret_at < s->text.lines.count;
}

static int put_text(struct screen *s, int row, int column,
		    enum screen_style style, const char *text)
{
	return screen_term_put(s->term, row, column, style, text, strlen(text));
}

/* Cut at the front: the end of a path tells more. */
static int put_path(struct screen *s, int row, int column, int columns,
		    enum screen_style style, const char *path)
{
	size_t width = text_width(path), i;

	if (columns < 4)
		return column;
	if (width <= (size_t)columns)
		return put_text(s, row, column, style, path);
	for (i = 0; path[i] && text_width(path + i) > (size_t)columns - 3;) {
		size_t len = text_fit(path + i, 1);

		i += len ? len : text_fit(path + i, 2);
	}
	column = put_text(s, row, column, SCREEN_FAINT, "...");
	return put_text(s, row, column, style, path + i);
}

/* --- header --- */

static void draw_header(struct screen *s)
{
	AUTO(buf) struct buf left = {0}, right = {0};
	struct review_counts n;
	enum review_bucket b;
	size_t columns = (size_t)s->columns, at;
	bool brief = false;
	int number;

	review_list_sum(&s->list, &n);
	buf_printf(&right, " yes %zu  no %zu  open %zu ", n.yes + n.partly,
		   n.no, n.open);
	for (;;) {
		buf_clear(&left);
		buf_add_char(&left, ' ');
		text_escape_name(&left, s->job->run);
		number = 0;
		for (b = 0; b < REVIEW_BUCKETS; b++) {
			const char *name = review_list_bucket_name(b);
			size_t open;
			size_t count =
				review_list_count_bucket(&s->list, b, &open);

			if (!count)
				continue;
			number++;
			buf_printf(&left,
				   brief ? "  %d %.3s %zu" : "  %d %s %zu",
				   number, name, count);
		}
		if (brief || left.len + right.len < columns)
			break;
		brief = true;
	}
	screen_term_fill(s->term, 0, 0, SCREEN_BAR);
	put_text(s, 0, 0, SCREEN_BAR, buf_text(&left));
	at = columns > right.len ? columns - right.len : 0;
	put_text(s, 0, (int)at, SCREEN_BAR, buf_text(&right));
}

static void draw_verdict(struct screen *s)
{
	int rows = count_verdict_rows(s), i, x;

	for (i = 0; i < rows; i++) {
		const struct verdict_line *line = &s->job->verdict->items[i];
		enum screen_style style =
			line->level == RISK_CRITICAL ? SCREEN_DELETED
			: line->level == RISK_HIGH   ? SCREEN_CHANGED
						     : SCREEN_FAINT;

		x = put_text(s, 1 + i, 0, style, verdict_sign(line->level));
		put_text(s, 1 + i, x + 1, SCREEN_BOLD, line->text);
	}
}

/* --- list --- */

static enum screen_style style_of(char letter)
{
	switch (letter) {
	case 'D':
		return SCREEN_DELETED;
	case 'A':
		return SCREEN_ADDED;
	default:
		return SCREEN_CHANGED;
	}
}

static void add_detail(struct review *r, struct review_item *item,
		       struct buf *to)
{
	const struct change *c = &review_entry(r, item)->change;
	bool was_open = item->opened;
	struct err ignored;

	if (item->move) {
		buf_add_text(to, "  from ");
		text_escape_name(to, review_moved_from(r, item, 0)->path);
		return;
	}
	if (review_is_group(item)) {
		review_show_group(r, item, to);
		return;
	}
	if (c->kind == CHANGE_MODIFIED && !item->counted) {
		(void)review_open(r, item, &ignored);
		if (!was_open)
			review_close(r, item);
	}
	if (c->kind == CHANGE_MODIFIED && item->counted)
		buf_printf(to, "  +%zu -%zu", item->added, item->removed);
	else
		changes_detail(c, to);
}

static void draw_row(struct screen *s, const struct layout *l, size_t at)
{
	const struct review_row *row =
		&s->list.rows.items[s->list.shown.items[at]];
	struct review_item *item = review_list_item(row);
	int y = l->list_row + (int)(at - s->list_top), x, end;
	bool selected = at == s->list.at;
	char kind = review_show_letter(row->review, item), state[8];
	char letter = review_list_letter(item);
	AUTO(buf) struct buf path = {0}, detail = {0};
	const struct review_entry *e = review_entry(row->review, item);
	enum loss loss;
	bool critical;
	size_t lost, work;

	text_escape_name(&path, row->review->prefix);
	text_escape_name(&path, item->path);
	if (review_is_group(item) || review_is_dir(e))
		buf_add_char(&path, '/');
	if (letter == ' ' && item->viewed)
		letter = 'v';
	(void)snprintf(state, sizeof(state), "%c%c ", selected ? '>' : ' ',
		       letter);
	x = put_text(s, y, 0, selected ? SCREEN_BOLD : SCREEN_PLAIN, state);
	(void)snprintf(state, sizeof(state), "%c ", kind);
	x = put_text(s, y, x, style_of(kind), state);
	loss = (enum loss)review_worst_loss(row->review, item);
	lost = review_list_count_lost(row, &work);
	if (review_is_group(item) && loss == LOSS_NO_COPY)
		buf_printf(&detail, "  %zu without another copy", lost);
	else if (loss >= LOSS_WORK)
		buf_add_text(&detail, loss == LOSS_NO_COPY
					      ? "  no other copy"
					      : "  uncommitted work");
	if (review_has_clash(row->review, item))
		buf_add_text(&detail, "  conflict");
	add_detail(row->review, item, &detail);
	critical = review_needs_consent(row->review, item) || loss >= LOSS_WORK;
	x = put_text(s, y, x,
		     critical || item->worst >= RISK_HIGH ? SCREEN_DELETED
							  : SCREEN_PLAIN,
		     critical			? "!! "
		     : item->worst >= RISK_HIGH ? " ! "
						: "   ");
	end = l->list_columns - (int)text_width(buf_text(&detail));
	if (end - x < l->list_columns / 3)
		end = x + l->list_columns / 3;
	x = put_path(s, y, x, end - x, selected ? SCREEN_BOLD : SCREEN_PLAIN,
		     buf_text(&path));
	if (x < l->list_columns) {
		size_t len = text_fit(buf_text(&detail),
				      (size_t)(l->list_columns - x));

		screen_term_put(s->term, y, x, SCREEN_FAINT, buf_text(&detail),
				len);
	}
}

static void draw_list(struct screen *s, const struct layout *l)
{
	size_t rows = (size_t)l->list_rows, i;

	if (s->list.at < s->list_top)
		s->list_top = s->list.at;
	if (s->list.at >= s->list_top + rows)
		s->list_top = s->list.at - rows + 1;
	if (s->list_top + rows > s->list.shown.count)
		s->list_top = s->list.shown.count > rows
				      ? s->list.shown.count - rows
				      : 0;
	for (i = s->list_top; i < s->list.shown.count && i < s->list_top + rows;
	     i++)
		draw_row(s, l, i);
	if (!s->list.shown.count)
		put_text(s, l->list_row, 1, SCREEN_FAINT,
			 "no change passes the filter: f, then Enter, shows "
			 "all");
}

/* --- text --- */

static void draw_rule(struct screen *s, const struct layout *l)
{
	const struct review_row *row = review_list_row(&s->list);
	struct review_item *item = row ? review_list_item(row) : NULL;
	AUTO(buf) struct buf path = {0}, right = {0};
	int x = l->rule_column, end, y;

	for (y = l->list_row; x && y < l->list_row + l->list_rows; y++)
		put_text(s, y, x - 2, SCREEN_FAINT, "|");
	if (!item)
		return;
	text_escape_name(&path, row->review->prefix);
	text_escape_name(&path, item->path);
	if (item->parts > 1)
		buf_printf(&right, " hunk %zu of %zu --", screen_part(s) + 1,
			   item->parts);
	buf_printf(&right, " %s --", item->viewed ? "seen" : "not seen");
	for (end = x; end < s->columns;)
		end = put_text(s, l->rule_row, end, SCREEN_FAINT, "----------");
	end = s->columns - (int)right.len;
	put_text(s, l->rule_row, end, SCREEN_FAINT, buf_text(&right));
	x = put_text(s, l->rule_row, x, SCREEN_FAINT, "-- ");
	x = put_text(s, l->rule_row, x, SCREEN_PLAIN,
		     review_list_bucket_name(row->bucket));
	x = put_text(s, l->rule_row, x, SCREEN_PLAIN, ": ");
	x = put_path(s, l->rule_row, x, end - x - 2, SCREEN_BOLD,
		     buf_text(&path));
	put_text(s, l->rule_row, x, SCREEN_FAINT, " ");
}

static enum screen_style line_style(char sign, bool word)
{
	switch (sign) {
	case '+':
		return word ? SCREEN_WORD_ADDED : SCREEN_ADDED;
	case '-':
		return word ? SCREEN_WORD_DELETED : SCREEN_DELETED;
	case '@':
		return SCREEN_HUNK;
	case '!':
		return SCREEN_CHANGED;
	case '#':
		return SCREEN_FAINT;
	default:
		return SCREEN_PLAIN;
	}
}

static void draw_line(struct screen *s, const struct screen_text *t, size_t at,
		      int y, int x, bool marked)
{
	const struct screen_line *line = &t->lines.items[at];
	char sign = line->sign == '@' || line->sign == '#' ? ' ' : line->sign;
	char margin[TEXT_MARGIN + 1];
	size_t i;

	margin[0] = marked ? '>' : line->wrapped ? WRAP_MARK : ' ';
	margin[1] = sign;
	margin[2] = ' ';
	margin[3] = '\0';
	x = put_text(s, y, x, line_style(line->sign, false), margin);
	for (i = 0; i < line->count; i++) {
		const struct screen_span *span =
			&t->spans.items[line->first + i];

		x = screen_term_put(
			s->term, y, x, line_style(line->sign, span->word),
			(const char *)t->chars.data + span->at, span->len);
	}
}

/* The answer for a part stands at the end of its head. */
static void draw_part_state(struct screen *s, size_t at, int y)
{
	const struct review_row *row = review_list_row(&s->list);
	const struct screen_line *line = &s->text.lines.items[at];
	const struct review_item *item = review_list_item(row);
	static const char *const states[] = {
		[REVIEW_OPEN] = "",
		[REVIEW_YES] = " y: taken ",
		[REVIEW_NO] = " n: left ",
	};
	const char *state;

	if (line->sign != '@' || line->wrapped || item->parts < 2)
		return;
	state = states[item->answers[line->part]];
	put_text(s, y, s->columns - (int)strlen(state) - 1, SCREEN_BOLD, state);
}

static void draw_text(struct screen *s, const struct layout *l)
{
	size_t rows = (size_t)l->text_rows, count = s->text.lines.count, i;

	if (s->line >= count)
		s->line = count ? count - 1 : 0;
	if (s->line < s->text_top)
		s->text_top = s->line;
	if (s->line >= s->text_top + rows)
		s->text_top = s->line - rows + 1;
	for (i = 0; i < rows && s->text_top + i < count; i++) {
		size_t at = s->text_top + i;
		int y = l->text_row + (int)i;

		draw_line(s, &s->text, at, y, l->text_column,
			  s->in_text && at == s->line);
		draw_part_state(s, at, y);
	}
}

/* The number of lines that are below the screen, at the end of a row. */
static void draw_more(struct screen *s, int row, size_t below, size_t count)
{
	AUTO(buf) struct buf more = {0};

	if (below >= count)
		return;
	buf_printf(&more, " %zu more: space ", count - below);
	put_text(s, row, s->columns - (int)more.len - 1, SCREEN_BAR,
		 buf_text(&more));
}

static void draw_message_row(struct screen *s, const struct layout *l)
{
	draw_more(s, s->rows - BAR_ROWS - 1, s->text_top + (size_t)l->text_rows,
		  s->text.lines.count);
	if (s->message)
		put_text(s, s->rows - BAR_ROWS - 1, 0, SCREEN_BOLD, s->message);
}

static void make_text(struct screen *s, const struct layout *l)
{
	const struct review_row *row = review_list_row(&s->list);
	struct review_item *item = row ? review_list_item(row) : NULL;
	size_t columns = (size_t)(l->text_columns - TEXT_MARGIN - 1);

	if (!item) {
		screen_text_clear(&s->text);
		s->text_of = NULL;
		return;
	}
	if (s->text_of == item && s->text_columns == columns && !s->stale)
		return;
	/* In other columns the lines have other numbers. */
	if (s->text_of == item && !s->next_part && s->line)
		s->next_part = screen_part(s) + 1;
	screen_text_make(&s->text, row->review, item, columns, s->words);
	if (s->next_part)
		s->line = screen_text_find_part(&s->text, s->next_part - 1);
	s->text_of = item;
	s->text_columns = columns;
	s->stale = false;
	s->next_part = 0;
}

/* --- key bar --- */

static void draw_title(struct screen *s, const char *text)
{
	screen_term_fill(s->term, 0, 0, SCREEN_BAR);
	put_text(s, 0, 0, SCREEN_BAR, text);
}

/* Where the last `count` keys of a bar begin. */
static const char *find_last_keys(const char *bar, int count)
{
	const char *at = bar + strlen(bar);

	while (at > bar && count)
		if (strncmp(--at, "  ", 2) == 0)
			count--;
	return at;
}

/* Keys that do not fit are left out, but for the last ones. */
static void draw_keys(struct screen *s, int row, const char *bar, int last)
{
	const char *end = find_last_keys(bar, last), *at = bar, *next;
	int x = 0, columns = s->columns - (int)text_width(end);

	screen_term_fill(s->term, row, 0, SCREEN_BAR);
	for (; at < end; at = next) {
		next = strstr(at + 1, "  ");
		if (!next || next > end)
			next = end;
		if (x + (int)(next - at) > columns)
			break;
		x = screen_term_put(s->term, row, x, SCREEN_BAR, at,
				    (size_t)(next - at));
	}
	put_text(s, row, x, SCREEN_BAR, end);
}

#define END_KEYS "  C finish  ? help  q keep"
#define END_KEYS_COUNT 3

static void draw_bars(struct screen *s)
{
	int row = s->rows - BAR_ROWS;

	if (s->in_text) {
		draw_keys(s, row,
			  " y take  n leave  u open this hunk  Y N file  "
			  "s split  e edit  = alike  U undo  m seen",
			  0);
		draw_keys(s, row + 1,
			  " { } hunk  [ ] file  Esc list  w words  i versions  "
			  "t test  / find  c conflict" END_KEYS,
			  END_KEYS_COUNT);
	} else {
		draw_keys(s, row,
			  " y take  n leave  u open  Y N directory  b B bucket"
			  "  A rest  U undo  = alike  s split  e edit  m seen",
			  0);
		draw_keys(s, row + 1,
			  " Enter text  1-8 bucket  / find  t test  c conflict"
			  "  f filter  i versions  w words  v verdict" END_KEYS,
			  END_KEYS_COUNT);
	}
}

static bool draw_too_small(struct screen *s)
{
	AUTO(buf) struct buf text = {0};
	const char *line;
	int row = 0;

	if (s->rows >= SCREEN_ROWS_LEAST && s->columns >= SCREEN_COLUMNS_LEAST)
		return false;
	(void)output_wrap(&text,
			  "The window is too small: 60x15. q keeps all and "
			  "quits.",
			  0, 0, (size_t)s->columns);
	for (line = buf_text(&text); *line; line += *line == '\n') {
		size_t len = strcspn(line, "\n");

		(void)screen_term_put(s->term, row++, 0, SCREEN_BOLD, line,
				      len);
		line += len;
	}
	screen_term_end(s->term, 0, 0);
	return true;
}

void screen_draw(struct screen *s)
{
	struct layout l;
	int row, column;

	screen_term_size(s->term, &s->rows, &s->columns);
	screen_term_begin(s->term);
	if (draw_too_small(s))
		return;
	make_layout(s, &l);
	make_text(s, &l);
	make_layout(s, &l);
	draw_header(s);
	draw_verdict(s);
	draw_list(s, &l);
	draw_rule(s, &l);
	draw_text(s, &l);
	draw_message_row(s, &l);
	draw_bars(s);
	row = s->in_text ? l.text_row + (int)(s->line - s->text_top)
			 : l.list_row + (int)(s->list.at - s->list_top);
	column = s->in_text ? l.text_column : 0;
	if (s->asks && s->message) {
		row = s->rows - BAR_ROWS - 1;
		column = (int)text_width(s->message) - 1;
	}
	screen_term_end(s->term, row, column);
}

void screen_draw_page(struct screen *s, const char *title,
		      const struct screen_text *page, size_t *top,
		      const char *bar)
{
	size_t rows, count = page->lines.count, i;

	screen_term_size(s->term, &s->rows, &s->columns);
	screen_term_begin(s->term);
	if (draw_too_small(s))
		return;
	rows = (size_t)s->rows - 3;
	if (*top + rows > count)
		*top = count > rows ? count - rows : 0;
	draw_title(s, title);
	for (i = 0; i < rows && *top + i < count; i++)
		draw_line(s, page, *top + i, 1 + (int)i, 0, false);
	draw_more(s, s->rows - 2, *top + rows, count);
	if (s->message)
		put_text(s, s->rows - 2, 0, SCREEN_BOLD, s->message);
	draw_keys(s, s->rows - 1, bar, 1);
	screen_term_end(s->term, 1, 0);
}
