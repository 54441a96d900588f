#include "guard/cli/screen_text.h"

#include <string.h>

#include "base/auto.h"
#include "base/text.h"
#include "guard/change/changes.h"
#include "guard/cli/review_show.h"

#define TAB_COLUMNS 8
/* Entries of a directory that are listed. */
#define ENTRIES_MAX 5000
/* Places of a risk that are listed. */
#define PLACES_MAX 5

/* --- rows --- */

/* A line while it is cut into rows. */
struct cutter {
	struct screen_text *t;
	const struct styled_line *line;
	size_t column; /* column in the line */
	size_t left; /* columns of the row */
	char style, mark; /* the styles in effect; 0: none */
};

static void add_chars(struct cutter *c, const char *text, size_t len)
{
	buf_add(&c->t->chars, text, len);
	c->t->lines.items[c->t->lines.count - 1].len += len;
}

static void begin_row(struct cutter *c, bool wrapped)
{
	*VEC_ADD(&c->t->lines) = (struct screen_line){
		.sign = c->line->sign,
		.wrapped = wrapped,
		.part = c->t->styled.part,
		.at = c->t->chars.len,
	};
	c->left = c->t->styled.width;
	if (c->style)
		add_chars(c, &c->style, 1);
	if (c->mark)
		add_chars(c, &c->mark, 1);
}

static void add_run(struct cutter *c, const char *text)
{
	while (*text) {
		size_t len = text_fit(text, c->left), width;

		if (!len && c->left < c->t->styled.width) {
			begin_row(c, true);
			continue;
		}
		/* A row of fewer columns than its character has. */
		if (!len)
			len = strlen(text);
		width = text[len] ? c->left : text_width(text);
		add_chars(c, text, len);
		c->column += width;
		c->left -= width;
		text += len;
	}
}

static void take_line(struct styled *to, const struct styled_line *line)
{
	struct cutter c = {.t = (struct screen_text *)to, .line = line};
	const char *at;
	size_t len;

	begin_row(&c, false);
	for (at = line->text; *at; at += len) {
		auto_free char *run = NULL;

		for (len = 0; (unsigned char)at[len] >= ' ';)
			len++;
		run = mem_strndup(at, len);
		add_run(&c, run);
		if (len)
			continue;
		len = 1;
		if (*at == '\t') {
			do
				add_run(&c, " ");
			while (c.column % TAB_COLUMNS);
			continue;
		}
		if (*at == '\n') {
			begin_row(&c, false);
			continue;
		}
		if (*at == *MARK || *at == *MARK_END)
			c.mark = *at == *MARK ? *at : 0;
		else if (*at <= *FAINT)
			c.style = *at == *PLAIN ? 0 : *at;
		add_chars(&c, at, 1);
	}
}

void screen_text_begin(struct screen_text *t, size_t columns)
{
	t->styled = (struct styled){
		.take = take_line,
		.width = columns ?: 1,
	};
	buf_clear(&t->chars);
	t->lines.count = 0;
}

void screen_text_free(struct screen_text *t)
{
	buf_free(&t->chars);
	VEC_FREE(&t->lines);
}

void screen_text_row(const struct screen_text *t, size_t row, struct buf *to)
{
	const struct screen_line *line = &t->lines.items[row];
	size_t i;

	for (i = line->at; i < line->at + line->len; i++)
		if (t->chars.data[i] >= ' ')
			buf_add_char(to, (char)t->chars.data[i]);
}

size_t screen_text_find_part(const struct screen_text *t, size_t part)
{
	size_t i;

	for (i = 0; i < t->lines.count; i++)
		if (t->lines.items[i].part == part &&
		    (part || t->lines.items[i].sign == '@'))
			return i;
	return 0;
}

/* --- an item --- */

struct text_maker {
	struct styled *to;
	struct review *r;
	struct review_item *item;
};

/* Text that is escaped already. */
static void add_remark(struct text_maker *m, char sign, const char *escaped)
{
	const struct styled_line line = {LINE_TEXT, sign, escaped};

	m->to->take(m->to, &line);
}

/* A risk of an entry, and whether its sentence was shown. */
struct shown_risk {
	const struct review_entry *entry;
	const struct risk *risk;
	bool done;
};

struct shown_risks {
	struct shown_risk *items;
	size_t count, capacity;
};

static void shown_risks_free(struct shown_risks *l)
{
	VEC_FREE(l);
}

static void list_risks(const struct text_maker *m, struct shown_risks *to)
{
	bool group = review_is_group(m->item);
	size_t i, k;

	for (i = 0; i < m->item->count; i++) {
		const struct review_entry *e =
			review_entry_at(m->r, m->item, i);

		for (k = 0; k < e->risks.count; k++) {
			const struct risk *risk = &e->risks.items[k];

			/* Of generated files mere notes are thousands. */
			if (!group || risk->level >= RISK_HIGH)
				*VEC_ADD(to) = (struct shown_risk){e, risk};
		}
	}
}

/* "src/a.mk, line 3: curl x": one place of a risk that has several. */
static void add_risk_place(struct text_maker *m, const struct shown_risk *r)
{
	const struct risk *risk = r->risk;
	AUTO(buf) struct buf b = {0};
	const char *between = "";

	buf_add_text(&b, "   ");
	if (review_is_group(m->item)) {
		text_escape_name(&b, r->entry->path);
		between = ", ";
	}
	if (risk->number)
		buf_printf(&b, "%sline %zu", between, risk->number);
	if (risk->line)
		buf_printf(&b, "%s%s", b.len > 3 ? ": " : "", risk->line);
	if (risk->more)
		buf_printf(&b, " (and %s)",
			   text_count(risk->more, "more line"));
	if (b.len > 3)
		add_remark(m, ' ', buf_text(&b));
}

/* All risks with the sentence of the one at this place: it stands once, and
 * below it the places. */
static void add_risk(struct text_maker *m, struct shown_risks *l, size_t at)
{
	const struct shown_risk *first = &l->items[at];
	const struct risk *risk = first->risk;
	size_t count = 0, shown = 0, i;
	auto_free char *sentence = NULL;
	AUTO(buf) struct buf b = {0};

	for (i = at; i < l->count; i++) {
		struct shown_risk *r = &l->items[i];

		if (r->done || strcmp(r->risk->text, risk->text) != 0)
			continue;
		r->done = true;
		count++;
	}
	if (risk->level == RISK_CRITICAL)
		buf_add_text(&b, "critical: ");
	if (count == 1 && review_is_group(m->item)) {
		text_escape_name(&b, first->entry->path);
		buf_add_text(&b, ": ");
	}
	sentence = count == 1 ? risk_sentence(risk)
			      : mem_printf("%s:", risk->text);
	buf_add_text(&b, sentence);
	if (risk->level >= RISK_HIGH)
		add_remark(m, '!', buf_text(&b));
	else
		styled_line(m->to, LINE_PLAIN, FAINT "%s", buf_text(&b));
	for (i = at; count > 1 && i < l->count && shown < PLACES_MAX; i++)
		if (strcmp(l->items[i].risk->text, risk->text) == 0) {
			add_risk_place(m, &l->items[i]);
			shown++;
		}
	if (shown && shown < count) {
		buf_clear(&b);
		buf_printf(&b, "   and %zu more", count - shown);
		add_remark(m, ' ', buf_text(&b));
	}
}

static void add_risk_lines(struct text_maker *m)
{
	AUTO(shown_risks) struct shown_risks l = {0};
	size_t i;

	list_risks(m, &l);
	for (i = 0; i < l.count; i++)
		if (!l.items[i].done)
			add_risk(m, &l, i);
}

/* The words of the list about an entry without a text. */
static void add_whole_entry(struct text_maker *m)
{
	const struct change *c = &review_entry(m->r, m->item)->change;
	AUTO(buf) struct buf b = {0};

	changes_detail(c, &b);
	styled_line(m->to, LINE_PLAIN, FAINT "%s:%s",
		    c->kind == CHANGE_DELETED ? "deleted"
		    : c->kind == CHANGE_ADDED ? "added"
					      : "modified",
		    buf_text(&b));
}

void screen_text_make(struct screen_text *t, struct review *r,
		      struct review_item *item, size_t columns, bool words)
{
	struct text_maker m = {.to = &t->styled, .r = r, .item = item};
	bool group = review_is_group(item);
	AUTO(buf) struct buf pair = {0};
	struct err ignored;
	size_t i, more;

	screen_text_begin(t, columns);
	t->styled.words = words;
	if (review_has_clash(r, item))
		add_remark(&m, '!',
			   "you changed it, too, and the two conflict: c shows "
			   "the sides");
	else if (item->here)
		add_remark(&m, '!',
			   "you changed it since the run started: an apply "
			   "merges the two");
	add_risk_lines(&m);
	(void)review_open(r, item, &ignored);
	if (item->move && !group) {
		review_show_pair(r, item, 0, &pair);
		styled_line(m.to, LINE_ROW, "%s", buf_text(&pair));
	} else if (!group && !item->hunks.count) {
		add_whole_entry(&m);
	}
	for (i = 0; i < item->parts; i++) {
		t->styled.part = i;
		more = review_show_part(r, item, i, group ? ENTRIES_MAX : 0,
					m.to);
		if (more)
			styled_line(m.to, LINE_PLAIN,
				    FAINT "and %s more: s splits the directory",
				    text_count(more, "entry"));
	}
}
