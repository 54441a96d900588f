#include "guard/cli/screen_text.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/text.h"
#include "guard/change/changes.h"
#include "guard/cli/review_show.h"
#include "guard/review/words.h"

#define TAB_COLUMNS 8
/* Entries of a directory that are listed. */
#define ENTRIES_MAX 5000
/* Places of a risk that are listed. */
#define PLACES_MAX 5

struct text_maker {
	struct screen_text *t;
	struct review *r;
	struct review_item *item;
	size_t columns;
	size_t part;
	bool words;
};

/* A logical line before it is cut into rows. */
struct whole_line {
	struct buf text;
	size_t column;
	struct words_ranges words; /* in text */
};

static void whole_line_free(struct whole_line *l)
{
	buf_free(&l->text);
	VEC_FREE(&l->words);
}

/* Escaped, with blanks for tabs. */
static void add_piece(struct whole_line *l, const char *raw, size_t len,
		      bool word)
{
	AUTO(buf) struct buf escaped = {0};
	size_t from = l->text.len;
	const char *at;

	text_escape(&escaped, raw, len, true);
	for (at = buf_text(&escaped); *at;) {
		size_t plain = strcspn(at, "\t\n");
		auto_free char *chunk = mem_strndup(at, plain);

		buf_add(&l->text, chunk, plain);
		l->column += text_width(chunk);
		at += plain;
		if (!*at)
			break;
		do {
			buf_add_char(&l->text, ' ');
			l->column++;
		} while (*at == '\t' && l->column % TAB_COLUMNS);
		at++;
	}
	if (word && l->text.len > from)
		*VEC_ADD(&l->words) =
			(struct words_range){from, l->text.len - from};
}

static void add_span(struct screen_text *t, const char *text, size_t len,
		     bool word)
{
	if (!len)
		return;
	*VEC_ADD(&t->spans) = (struct screen_span){t->chars.len, len, word};
	buf_add(&t->chars, text, len);
	t->lines.items[t->lines.count - 1].count++;
}

/* The row of bytes [from, end) as spans. */
static void add_row(struct screen_text *t, const struct whole_line *l,
		    size_t from, size_t end)
{
	const char *text = (const char *)l->text.data;
	size_t i;

	for (i = 0; i < l->words.count; i++) {
		size_t at = l->words.items[i].at;
		size_t stop = at + l->words.items[i].len;

		if (stop <= from || at >= end)
			continue;
		at = at < from ? from : at;
		stop = stop > end ? end : stop;
		add_span(t, text + from, at - from, false);
		add_span(t, text + at, stop - at, true);
		from = stop;
	}
	add_span(t, text + from, end - from, false);
}

static void add_line(struct screen_text *t, char sign, size_t part,
		     struct whole_line *l, size_t columns)
{
	const char *text = buf_text(&l->text);
	size_t at = 0;
	bool wrapped = false;

	do {
		size_t len = text_fit(text + at, columns);
		struct screen_line *line = VEC_ADD(&t->lines);

		if (!len && text[at])
			len = strlen(text + at);
		line->sign = sign;
		line->part = part;
		line->wrapped = wrapped;
		line->first = t->spans.count;
		add_row(t, l, at, at + len);
		at += len;
		wrapped = true;
	} while (text[at]);
}

void screen_text_add(struct screen_text *t, char sign, const char *text,
		     size_t len, size_t columns)
{
	while (len) {
		const char *end = memchr(text, '\n', len);
		size_t piece = end ? (size_t)(end - text) : len;
		AUTO(whole_line) struct whole_line l = {0};

		add_piece(&l, text, piece, false);
		add_line(t, sign, 0, &l, columns);
		piece += end != NULL;
		text += piece;
		len -= piece;
	}
}

void screen_text_add_escaped(struct screen_text *t, char sign, const char *text,
			     size_t columns)
{
	AUTO(whole_line) struct whole_line l = {0};

	buf_add_text(&l.text, text);
	add_line(t, sign, 0, &l, columns);
}

void screen_text_row(const struct screen_text *t, size_t row, struct buf *to)
{
	const struct screen_line *line = &t->lines.items[row];
	size_t i;

	for (i = 0; i < line->count; i++) {
		const struct screen_span *span =
			&t->spans.items[line->first + i];

		buf_add(to, t->chars.data + span->at, span->len);
	}
}

/* Text that is escaped already. */
static void add_remark(struct text_maker *m, char sign, const char *escaped)
{
	AUTO(whole_line) struct whole_line l = {0};

	buf_add_text(&l.text, escaped);
	add_line(m->t, sign, m->part, &l, m->columns);
}

/* --- hunks --- */

static void add_text_line(struct text_maker *m, const struct hunk_line *line,
			  const struct words_ranges *words)
{
	AUTO(whole_line) struct whole_line l = {0};
	bool feed = line->len && line->text[line->len - 1] == '\n';
	size_t len = line->len - feed, at = 0, i;

	for (i = 0; i < words->count; i++) {
		const struct words_range *w = &words->items[i];

		add_piece(&l, line->text + at, w->at - at, false);
		add_piece(&l, line->text + w->at, w->len, true);
		at = w->at + w->len;
	}
	add_piece(&l, line->text + at, len - at, false);
	add_line(m->t, line->kind, m->part, &l, m->columns);
	if (!feed)
		add_remark(m, '#', "no line end at the end of the file");
}

static size_t run_length(const struct hunk *h, size_t at, char kind)
{
	size_t n = 0;

	while (at + n < h->lines.count && h->lines.items[at + n].kind == kind)
		n++;
	return n;
}

static size_t length_without_feed(const struct hunk_line *line)
{
	return line->len - (line->len && line->text[line->len - 1] == '\n');
}

/* Deleted lines and the added lines after them, compared pair by pair. */
static size_t add_changed_lines(struct text_maker *m, const struct hunk *h,
				size_t at)
{
	size_t old = run_length(h, at, '-');
	size_t now = run_length(h, at + old, '+'), i;
	struct words_ranges *words = mem_zalloc((old + now) * sizeof(*words));

	for (i = 0; m->words && i < old && i < now; i++) {
		const struct hunk_line *a = &h->lines.items[at + i];
		const struct hunk_line *b = &h->lines.items[at + old + i];

		words_compare(a->text, length_without_feed(a), b->text,
			      length_without_feed(b), &words[i],
			      &words[old + i]);
	}
	for (i = 0; i < old + now; i++) {
		add_text_line(m, &h->lines.items[at + i], &words[i]);
		VEC_FREE(&words[i]);
	}
	free(words);
	return old + now;
}

static void add_hunk_lines(struct text_maker *m, const struct hunk *h)
{
	static const struct words_ranges none;
	size_t i = 0;

	while (i < h->lines.count) {
		if (h->lines.items[i].kind != ' ') {
			i += add_changed_lines(m, h, i);
			continue;
		}
		add_text_line(m, &h->lines.items[i], &none);
		i++;
	}
}

static void add_hunk_head(struct text_maker *m, const struct hunk *h)
{
	AUTO(buf) struct buf b = {0};

	hunks_add_head(&b, h);
	buf_add_text(&b, h->edited ? "  edited" : "");
	add_remark(m, '@', buf_text(&b));
}

/* --- other kinds of items --- */

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
	add_remark(m, risk->level >= RISK_HIGH ? '!' : '#', buf_text(&b));
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

static void add_dir_entries(struct text_maker *m)
{
	size_t i;

	for (i = 0; i < m->item->count && i < ENTRIES_MAX; i++) {
		const struct review_entry *e =
			review_entry_at(m->r, m->item, i);
		AUTO(buf) struct buf b = {0};

		review_show_entry(e, &b);
		add_remark(m, e->now.mode ? e->old.mode ? ' ' : '+' : '-',
			   buf_text(&b));
	}
	if (i < m->item->count) {
		AUTO(buf) struct buf b = {0};

		buf_printf(&b, "and %s more: s splits the directory",
			   text_count(m->item->count - i, "entry"));
		add_remark(m, '#', buf_text(&b));
	}
}

static void add_pairs(struct text_maker *m)
{
	size_t i;

	for (i = 0; 2 * i < m->item->count && i < ENTRIES_MAX; i++) {
		AUTO(buf) struct buf b = {0};

		review_show_pair(m->r, m->item, i, &b);
		screen_text_add(m->t, ' ', buf_text(&b), b.len, m->columns);
	}
}

/* Changes of a moved file. */
static void add_moved_text(struct text_maker *m)
{
	AUTO(hunks) struct hunks hunks = {0};
	AUTO(buf) struct buf a = {0}, b = {0};
	struct err err;
	size_t i;

	if (review_moved_hunks(m->r, m->item, &a, &b, &hunks, &err) < 0)
		add_remark(m, '#', err.text);
	for (i = 0; i < hunks.count; i++) {
		add_hunk_head(m, &hunks.items[i]);
		add_hunk_lines(m, &hunks.items[i]);
	}
}

static void add_link_target(struct text_maker *m, char sign,
			    const struct entry *e)
{
	AUTO(buf) struct buf b = {0};

	if (!S_ISLNK(e->mode))
		return;
	buf_add_text(&b, "link to ");
	text_escape_name(&b, e->link);
	add_remark(m, sign, buf_text(&b));
}

/* A part that is no hunk: permissions, or a file without a text. */
static void add_whole_file(struct text_maker *m)
{
	const struct review_entry *e = review_entry(m->r, m->item);
	struct change c = e->change;
	AUTO(buf) struct buf b = {0};

	if (c.kind == CHANGE_MODIFIED && m->item->rights) {
		c.kind = CHANGE_META;
		buf_add_text(&b, "permissions:");
		changes_detail(&c, &b);
		add_remark(m, '@', buf_text(&b));
		return;
	}
	buf_add_text(&b, c.kind == CHANGE_DELETED ? "deleted:"
			 : c.kind == CHANGE_ADDED ? "added:"
						  : "changed:");
	changes_detail(&c, &b);
	add_remark(m, '#', buf_text(&b));
	add_link_target(m, '-', &e->old);
	add_link_target(m, '+', &e->now);
	if (S_ISREG(e->now.mode ? e->now.mode : e->old.mode) &&
	    c.kind != CHANGE_META && e->now.size + e->old.size)
		add_remark(m, '#',
			   m->item->uncompared
				   ? "the texts are not compared"
				   : "not a text, or too large to show");
}

static void add_parts(struct text_maker *m)
{
	struct err err;

	if (review_open(m->r, m->item, &err) < 0) {
		add_remark(m, '#', err.text);
		return;
	}
	/* A deletion is one part of many hunks. */
	if (m->item->parts == 1 && m->item->hunks.count) {
		size_t i;

		for (i = 0; i < m->item->hunks.count; i++) {
			add_hunk_head(m, &m->item->hunks.items[i]);
			add_hunk_lines(m, &m->item->hunks.items[i]);
		}
		return;
	}
	for (m->part = 0; m->part < m->item->parts; m->part++) {
		const struct hunk *h = review_hunk(m->item, m->part);

		if (h) {
			add_hunk_head(m, h);
			add_hunk_lines(m, h);
		} else {
			add_whole_file(m);
		}
	}
	m->part = 0;
}

void screen_text_make(struct screen_text *t, struct review *r,
		      struct review_item *item, size_t columns, bool words)
{
	struct text_maker m = {
		.t = t,
		.r = r,
		.item = item,
		.columns = columns ? columns : 1,
		.words = words,
	};

	screen_text_clear(t);
	if (review_has_clash(r, item))
		add_remark(&m, '!',
			   "you changed it, too, and the two conflict: c shows "
			   "the sides");
	else if (item->here)
		add_remark(&m, '!',
			   "you changed it since the run started: an apply "
			   "merges the two");
	add_risk_lines(&m);
	if (item->move)
		add_pairs(&m);
	if (item->move && !review_is_group(item))
		add_moved_text(&m);
	else if (review_is_group(item) && !item->move)
		add_dir_entries(&m);
	else if (!item->move)
		add_parts(&m);
}

void screen_text_clear(struct screen_text *t)
{
	buf_clear(&t->chars);
	t->spans.count = t->lines.count = 0;
}

void screen_text_free(struct screen_text *t)
{
	buf_free(&t->chars);
	VEC_FREE(&t->spans);
	VEC_FREE(&t->lines);
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
