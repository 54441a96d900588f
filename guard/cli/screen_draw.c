/* The picture of the full screen. */
#include <string.h>

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

static int count_verdict_rows(const struct review_ui *u)
{
	return u->verdict && u->job->verdict ? (int)u->job->verdict->count : 0;
}

static void make_layout(const struct review_ui *u, struct layout *l)
{
	int verdict = count_verdict_rows(u);
	int body = u->rows - 2 - BAR_ROWS - verdict; /* header, message */
	int count = (int)u->list.shown.count;

	l->list_row = 1 + verdict;
	if (u->columns >= BESIDE_LEAST) {
		l->list_columns = u->columns * 2 / 5;
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
		int text = (int)u->text.lines.count, spare = body - 1 - text;

		l->list_columns = u->columns;
		l->list_rows = body / 3 > 4 ? body / 3 : 4;
		if (spare > l->list_rows)
			l->list_rows = spare;
		if (count < l->list_rows)
			l->list_rows = count ?: 1;
		l->rule_row = l->list_row + l->list_rows;
		l->rule_column = 0;
		l->text_row = l->rule_row + 1;
		l->text_rows = body - l->list_rows - 1;
	}
	l->text_column = l->rule_column;
	l->text_columns = u->columns - l->rule_column;
}

size_t screen_part_at(const struct review_ui *u, size_t line)
{
	return line < u->text.lines.count ? u->text.lines.items[line].part : 0;
}

size_t screen_page_columns(const struct review_ui *u)
{
	return u->columns > 8 ? (size_t)u->columns - 4 : 4;
}

size_t screen_text_rows(const struct review_ui *u)
{
	struct layout l;

	make_layout(u, &l);
	return (size_t)l.text_rows;
}

bool screen_row_at(const struct review_ui *u, int row, int column,
		   size_t *ret_at)
{
	struct layout l;

	make_layout(u, &l);
	if (row < l.list_row || row >= l.list_row + l.list_rows ||
	    column >= l.list_columns)
		return false;
	*ret_at = u->list_top + (size_t)(row - l.list_row);
	return *ret_at < u->list.shown.count;
}

bool screen_line_at(const struct review_ui *u, int row, int column,
		    size_t *ret_at)
{
	struct layout l;

	make_layout(u, &l);
	if (row < l.text_row || row >= l.text_row + l.text_rows ||
	    column < l.text_column)
		return false;
	*ret_at = u->text_top + (size_t)(row - l.text_row);
	return *ret_at < u->text.lines.count;
}

static int put_text(struct review_ui *u, int row, int column,
		    enum screen_style style, const char *text)
{
	return screen_term_put(u->term, row, column, style, text, strlen(text));
}

/* Cut at the front: the end of a path tells more. */
static int put_path(struct review_ui *u, int row, int column, int columns,
		    enum screen_style style, const char *path)
{
	size_t width = text_width(path), i;

	if (columns < 4)
		return column;
	if (width <= (size_t)columns)
		return put_text(u, row, column, style, path);
	for (i = 0; path[i] && text_width(path + i) > (size_t)columns - 3;) {
		size_t len = text_fit(path + i, 1);

		i += len ?: text_fit(path + i, 2);
	}
	column = put_text(u, row, column, SCREEN_FAINT, "...");
	return put_text(u, row, column, style, path + i);
}

/* --- header --- */

static void draw_header(struct review_ui *u)
{
	AUTO(buf) struct buf left = {0}, right = {0};
	struct review_counts n;
	enum review_bucket b;
	size_t columns = (size_t)u->columns, at;
	bool brief = false;
	int number;

	review_list_sum(&u->list, &n);
	buf_printf(&right, " yes %zu  no %zu  open %zu ", n.yes + n.partly,
		   n.no, n.open);
	for (;;) {
		buf_clear(&left);
		buf_add_char(&left, ' ');
		text_escape_name(&left, u->job->run);
		number = 0;
		for (b = 0; b < REVIEW_BUCKETS; b++) {
			const char *name = review_list_bucket_name(b);
			size_t open;
			size_t count =
				review_list_count_bucket(&u->list, b, &open);

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
	screen_term_bar(u->term, 0);
	put_text(u, 0, 0, SCREEN_BAR, buf_text(&left));
	at = columns > right.len ? columns - right.len : 0;
	put_text(u, 0, (int)at, SCREEN_BAR, buf_text(&right));
}

static void draw_verdict(struct review_ui *u)
{
	int rows = count_verdict_rows(u), i, x;

	for (i = 0; i < rows; i++) {
		const struct verdict_line *line = &u->job->verdict->items[i];
		enum screen_style style =
			line->level == RISK_CRITICAL ? SCREEN_DELETED
			: line->level == RISK_HIGH   ? SCREEN_CHANGED
						     : SCREEN_FAINT;

		x = put_text(u, 1 + i, 0, style, verdict_sign(line->level));
		put_text(u, 1 + i, x + 1, SCREEN_BOLD, line->text);
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

static void draw_row(struct review_ui *u, const struct layout *l, size_t at)
{
	const struct review_row *row =
		&u->list.rows.items[u->list.shown.items[at]];
	struct review_item *item = review_list_item(row);
	int y = l->list_row + (int)(at - u->list_top), x, end;
	bool selected = at == u->list.at;
	char kind = review_show_letter(row->review, item);
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
	x = put_text(u, y, 0, selected ? SCREEN_BOLD : SCREEN_PLAIN,
		     text_printf("%c%c ", selected ? '>' : ' ', letter));
	x = put_text(u, y, x, style_of(kind), text_printf("%c ", kind));
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
	x = put_text(u, y, x,
		     critical || item->worst >= RISK_HIGH ? SCREEN_DELETED
							  : SCREEN_PLAIN,
		     critical			? "!! "
		     : item->worst >= RISK_HIGH ? " ! "
						: "   ");
	end = l->list_columns - (int)text_width(buf_text(&detail));
	if (end - x < l->list_columns / 3)
		end = x + l->list_columns / 3;
	x = put_path(u, y, x, end - x, selected ? SCREEN_BOLD : SCREEN_PLAIN,
		     buf_text(&path));
	if (x < l->list_columns) {
		size_t len = text_fit(buf_text(&detail),
				      (size_t)(l->list_columns - x));

		screen_term_put(u->term, y, x, SCREEN_FAINT, buf_text(&detail),
				len);
	}
}

static void draw_list(struct review_ui *u, const struct layout *l)
{
	size_t rows = (size_t)l->list_rows, i;

	if (u->list.at < u->list_top)
		u->list_top = u->list.at;
	if (u->list.at >= u->list_top + rows)
		u->list_top = u->list.at - rows + 1;
	if (u->list_top + rows > u->list.shown.count)
		u->list_top = u->list.shown.count > rows
				      ? u->list.shown.count - rows
				      : 0;
	for (i = u->list_top; i < u->list.shown.count && i < u->list_top + rows;
	     i++)
		draw_row(u, l, i);
	if (!u->list.shown.count)
		put_text(u, l->list_row, 1, SCREEN_FAINT,
			 "no change passes the filter: f, then Enter, shows "
			 "all");
}

/* --- text --- */

static void draw_rule(struct review_ui *u, const struct layout *l)
{
	const struct review_row *row = review_ui_row(u);
	struct review_item *item = review_ui_item(u);
	AUTO(buf) struct buf path = {0}, right = {0};
	int x = l->rule_column, end, y;

	for (y = l->list_row; x && y < l->list_row + l->list_rows; y++)
		put_text(u, y, x - 2, SCREEN_FAINT, "|");
	if (!item)
		return;
	text_escape_name(&path, row->review->prefix);
	text_escape_name(&path, item->path);
	if (item->parts > 1)
		buf_printf(&right, " hunk %zu of %zu --", u->list.part + 1,
			   item->parts);
	buf_printf(&right, " %s --", item->viewed ? "seen" : "not seen");
	for (end = x; end < u->columns;)
		end = put_text(u, l->rule_row, end, SCREEN_FAINT, "----------");
	end = u->columns - (int)right.len;
	put_text(u, l->rule_row, end, SCREEN_FAINT, buf_text(&right));
	x = put_text(u, l->rule_row, x, SCREEN_FAINT, "-- ");
	x = put_text(u, l->rule_row, x, SCREEN_PLAIN,
		     review_list_bucket_name(row->bucket));
	x = put_text(u, l->rule_row, x, SCREEN_PLAIN, ": ");
	x = put_path(u, l->rule_row, x, end - x - 2, SCREEN_BOLD,
		     buf_text(&path));
	put_text(u, l->rule_row, x, SCREEN_FAINT, " ");
}

/* The style of a line with this sign, and of a changed word in it. */
static enum screen_style sign_style(char sign, bool word)
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
	default:
		return SCREEN_PLAIN;
	}
}

/* Puts the text of a styled line, behind the sign. */
static int put_styled(struct review_ui *u, int y, int x, const char *text,
		      size_t len, char sign)
{
	static const enum screen_style styles[] = {
		[2] = SCREEN_BOLD,  [3] = SCREEN_DELETED, [4] = SCREEN_CHANGED,
		[5] = SCREEN_ADDED, [6] = SCREEN_HUNK,	  [7] = SCREEN_FAINT,
	};
	enum screen_style style = sign_style(sign, false);
	const char *end = text + len;

	for (; text < end; text += len) {
		for (len = 0;
		     text + len < end && (unsigned char)text[len] >= ' ';)
			len++;
		if (len) {
			x = screen_term_put(u->term, y, x, style, text, len);
			continue;
		}
		len = 1;
		if (*text == *PLAIN || *text == *MARK || *text == *MARK_END)
			style = sign_style(sign, *text == *MARK);
		else if (*text <= *FAINT)
			style = styles[(unsigned char)*text];
	}
	return x;
}

static void draw_line(struct review_ui *u, const struct screen_text *t,
		      size_t at, int y, int x, bool marked)
{
	const struct screen_line *line = &t->lines.items[at];
	bool shown = line->sign && !strchr("@\\", line->sign);

	x = put_text(u, y, x, sign_style(line->sign, false),
		     text_printf("%c%c ",
				 marked		 ? '>'
				 : line->wrapped ? WRAP_MARK
						 : ' ',
				 shown ? line->sign : ' '));
	put_styled(u, y, x, (const char *)t->chars.data + line->at, line->len,
		   line->sign);
}

/* The answer for a part stands at the end of its head. */
static void draw_part_state(struct review_ui *u, size_t at, int y)
{
	const struct screen_line *line = &u->text.lines.items[at];
	const struct review_item *item = review_ui_item(u);
	static const char *const states[] = {
		[REVIEW_OPEN] = "",
		[REVIEW_YES] = " y: taken ",
		[REVIEW_NO] = " n: left ",
	};
	const char *state;

	if (line->sign != '@' || line->wrapped || item->parts < 2)
		return;
	state = states[item->answers[line->part]];
	put_text(u, y, u->columns - (int)strlen(state) - 1, SCREEN_BOLD, state);
}

static void draw_text(struct review_ui *u, const struct layout *l)
{
	size_t rows = (size_t)l->text_rows, count = u->text.lines.count, i;

	if (u->line >= count)
		u->line = count ? count - 1 : 0;
	if (u->line < u->text_top)
		u->text_top = u->line;
	if (u->line >= u->text_top + rows)
		u->text_top = u->line - rows + 1;
	for (i = 0; i < rows && u->text_top + i < count; i++) {
		size_t at = u->text_top + i;
		int y = l->text_row + (int)i;

		draw_line(u, &u->text, at, y, l->text_column,
			  u->in_text && at == u->line);
		draw_part_state(u, at, y);
	}
}

/* The number of lines that are below the screen, at the end of a row. */
static void draw_more(struct review_ui *u, int row, size_t below, size_t count)
{
	AUTO(buf) struct buf more = {0};

	if (below >= count)
		return;
	buf_printf(&more, " %zu more: space ", count - below);
	put_text(u, row, u->columns - (int)more.len - 1, SCREEN_BAR,
		 buf_text(&more));
}

static void draw_message_row(struct review_ui *u, const struct layout *l)
{
	draw_more(u, u->rows - BAR_ROWS - 1, u->text_top + (size_t)l->text_rows,
		  u->text.lines.count);
	if (u->message)
		put_text(u, u->rows - BAR_ROWS - 1, 0, SCREEN_BOLD, u->message);
}

static void make_text(struct review_ui *u, const struct layout *l)
{
	const struct review_row *row = review_ui_row(u);
	struct review_item *item = review_ui_item(u);
	size_t columns = (size_t)(l->text_columns - TEXT_MARGIN - 1);

	if (!item) {
		screen_text_begin(&u->text, columns);
		u->text_of = NULL;
		return;
	}
	if (u->text_of != item || u->text_columns != columns || u->stale)
		screen_text_make(&u->text, row->review, item, columns,
				 u->words);
	u->text_of = item;
	u->text_columns = columns;
	u->stale = false;
	/* An act has moved the cursor, or the lines have other numbers. */
	if (screen_part_at(u, u->line) != u->list.part)
		u->line = u->text_top =
			screen_text_find_part(&u->text, u->list.part);
}

/* --- key bar --- */

static void draw_title(struct review_ui *u, const char *text)
{
	screen_term_bar(u->term, 0);
	put_text(u, 0, 0, SCREEN_BAR, text);
}

/* Keys that do not fit are left out, but for those from `end` on, which points
 * into the bar. */
static void draw_keys(struct review_ui *u, int row, const char *bar,
		      const char *end)
{
	const char *at = bar, *next;
	int x = 0, columns = u->columns - (int)text_width(end);

	screen_term_bar(u->term, row);
	for (; at < end; at = next) {
		next = strstr(at + 1, "  ");
		if (!next || next > end)
			next = end;
		if (x + (int)(next - at) > columns)
			break;
		x = screen_term_put(u->term, row, x, SCREEN_BAR, at,
				    (size_t)(next - at));
	}
	put_text(u, row, x, SCREEN_BAR, end);
}

/* Answers in the first bar; moves and views, then the end, in the second. */
static void draw_bars(struct review_ui *u)
{
	int row = u->rows - BAR_ROWS;
	AUTO(buf) struct buf answers = {0}, views = {0};
	size_t end;

	u->place = u->in_text ? UI_TEXT : UI_LIST;
	review_ui_key_bar(u, "Answers", &answers);
	review_ui_key_bar(u, "Moves and views", &views);
	end = views.len;
	review_ui_key_bar(u, "End", &views);
	draw_keys(u, row, buf_text(&answers), buf_text(&answers) + answers.len);
	draw_keys(u, row + 1, buf_text(&views), buf_text(&views) + end);
}

static bool draw_too_small(struct review_ui *u)
{
	AUTO(buf) struct buf text = {0};
	const char *line;
	int row = 0;

	if (u->rows >= SCREEN_ROWS_LEAST && u->columns >= SCREEN_COLUMNS_LEAST)
		return false;
	(void)output_wrap(&text,
			  "The window is too small: 60x15. q keeps all and "
			  "quits.",
			  0, 0, (size_t)u->columns);
	for (line = buf_text(&text); *line; line += *line == '\n') {
		size_t len = strcspn(line, "\n");

		(void)screen_term_put(u->term, row++, 0, SCREEN_BOLD, line,
				      len);
		line += len;
	}
	screen_term_end(u->term, 0, 0);
	return true;
}

void screen_draw(struct review_ui *u)
{
	struct layout l;
	int row, column;

	screen_term_size(u->term, &u->rows, &u->columns);
	screen_term_begin(u->term);
	if (draw_too_small(u))
		return;
	make_layout(u, &l);
	make_text(u, &l);
	make_layout(u, &l);
	draw_header(u);
	draw_verdict(u);
	draw_list(u, &l);
	draw_rule(u, &l);
	draw_text(u, &l);
	draw_message_row(u, &l);
	draw_bars(u);
	row = u->in_text ? l.text_row + (int)(u->line - u->text_top)
			 : l.list_row + (int)(u->list.at - u->list_top);
	column = u->in_text ? l.text_column : 0;
	if (u->asks && u->message) {
		row = u->rows - BAR_ROWS - 1;
		column = (int)text_width(u->message) - 1;
	}
	screen_term_end(u->term, row, column);
}

void screen_draw_page(struct review_ui *u, const char *title,
		      const struct screen_text *page, size_t *top,
		      const char *bar)
{
	size_t rows, count = page->lines.count, i;
	const char *end;

	screen_term_size(u->term, &u->rows, &u->columns);
	screen_term_begin(u->term);
	if (draw_too_small(u))
		return;
	rows = (size_t)u->rows - 3;
	if (*top + rows > count)
		*top = count > rows ? count - rows : 0;
	draw_title(u, title);
	for (i = 0; i < rows && *top + i < count; i++)
		draw_line(u, page, *top + i, 1 + (int)i, 0, false);
	draw_more(u, u->rows - 2, *top + rows, count);
	if (u->message)
		put_text(u, u->rows - 2, 0, SCREEN_BOLD, u->message);
	for (end = bar + strlen(bar); end > bar && strncmp(end, "  ", 2);)
		end--;
	draw_keys(u, u->rows - 1, bar, end);
	screen_term_end(u->term, 1, 0);
}
