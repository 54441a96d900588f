#include "guard/cli/conflict_view.h"

#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/text.h"
#include "guard/cli/review_edit.h"
#include "guard/review/decisions.h"
#include "snapshot/store/content.h"

/* From this width on the sides stand side by side: of a screen of 120 columns.
 */
#define SIDES_LEAST 116
#define BETWEEN " | "
#define CONTEXT_LINES 3
/* Bytes of a whole file that are shown. */
#define FILE_MAX (256u << 10)

struct review_conflict *conflict_view_current(const struct review_ui *u)
{
	return &u->conflict.list->items[u->conflict.at];
}

/* --- the sides --- */

struct side {
	const char *title;
	const struct buf *text; /* merged text of the place; NULL: not merged */
	const struct entry *entry;
	bool taken;
};

static void list_sides(const struct review_conflict *c, size_t place,
		       struct side sides[3])
{
	enum conflict_choice choice =
		c->is_edited ? CHOICE_OPEN : c->choices[place];
	size_t at, line;
	const struct textmerge_part *p =
		review_conflict_part(c, place, &at, &line);

	sides[0] = (struct side){"BEFORE the run", p ? &p->base : NULL,
				 &c->base, false};
	sides[1] =
		(struct side){"YOURS now", p ? &p->ours : NULL, &c->ours,
			      choice == CHOICE_OURS || choice == CHOICE_BOTH};
	sides[2] =
		(struct side){"THE RUN'S", p ? &p->theirs : NULL, &c->theirs,
			      choice == CHOICE_THEIRS || choice == CHOICE_BOTH};
}

static void add_rule(struct styled *to, const char *begin, char sign)
{
	AUTO(buf) struct buf b = {0};

	buf_add_text(&b, begin);
	while (b.len < to->width)
		buf_add_char(&b, '-');
	styled_text(to, sign, buf_text(&b), b.len, NULL);
}

static void add_side_title(struct styled *to, const struct side *side)
{
	add_rule(to,
		 text_printf("-- %s %s", side->title,
			     side->taken ? "[taken] " : ""),
		 '@');
}

/* A whole file, if it is a text of readable length. */
static bool add_file(struct styled *to, struct store *store,
		     const struct entry *e)
{
	AUTO(buf) struct buf text = {0};
	struct err ignored;

	if (!S_ISREG(e->mode) || !e->size || e->size > FILE_MAX ||
	    content_append(store, &e->content, &text, &ignored) < 0 ||
	    !textmerge_is_text(&text))
		return false;
	styled_lines(to, ' ', (const char *)text.data, text.len);
	return true;
}

static void add_side_body(struct styled *to, struct store *store,
			  const struct side *side)
{
	const struct entry *e = side->entry;
	AUTO(buf) struct buf b = {0};

	if (!side->text && add_file(to, store, e))
		return;
	if (side->text && side->text->len) {
		styled_lines(to, ' ', (const char *)side->text->data,
			     side->text->len);
		return;
	}
	if (side->text)
		buf_add_text(&b, "(no line)");
	else if (!e->mode)
		buf_add_text(&b, "(nothing is there)");
	else if (S_ISREG(e->mode))
		buf_printf(&b, "a file of %s, mode %04o", text_size(e->size),
			   e->mode & 07777);
	else if (S_ISDIR(e->mode))
		buf_printf(&b, "a directory, mode %04o", e->mode & 07777);
	else if (S_ISLNK(e->mode)) {
		buf_add_text(&b, "a link to ");
		styled_name(&b, "", e->link);
	} else
		buf_add_text(&b, "a special file");
	styled_line(to, LINE_PLAIN, FAINT "%s", buf_text(&b));
}

/* One row of each side, at their widths. */
static void add_row_of_sides(struct styled *to,
			     const struct screen_text sides[3], size_t row)
{
	AUTO(buf) struct buf line = {0};
	struct styled_line all = {.kind = LINE_TEXT, .sign = ' '};
	size_t i;

	for (i = 0; i < 3; i++) {
		AUTO(buf) struct buf text = {0};
		size_t width;

		if (row < sides[i].lines.count) {
			const struct screen_line *l =
				&sides[i].lines.items[row];

			buf_add_text(&text, l->wrapped ? ": " : "  ");
			screen_text_row(&sides[i], row, &text);
			all.sign = l->sign == '@' ? '@' : all.sign;
		}
		width = text_width(buf_text(&text));
		buf_add(&line, text.data, text.len);
		for (; i < 2 && width < sides[i].styled.width + 2; width++)
			buf_add_char(&line, ' ');
		if (i < 2)
			buf_add_text(&line, BETWEEN);
	}
	all.text = buf_text(&line);
	to->take(to, &all);
}

static void add_sides_beside(struct styled *to, struct store *store,
			     const struct side sides[3])
{
	struct screen_text texts[3] = {0};
	/* Each has two columns for the mark of a wrapped row. */
	size_t width = (to->width - 2 * strlen(BETWEEN)) / 3 - 2, rows = 0, i;

	for (i = 0; i < 3; i++) {
		screen_text_begin(&texts[i], width);
		add_side_title(&texts[i].styled, &sides[i]);
		add_side_body(&texts[i].styled, store, &sides[i]);
		if (texts[i].lines.count > rows)
			rows = texts[i].lines.count;
	}
	for (i = 0; i < rows; i++)
		add_row_of_sides(to, texts, i);
	for (i = 0; i < 3; i++)
		screen_text_free(&texts[i]);
}

/* The last (or first) lines of a part without a conflict. */
static void add_context(struct styled *to, const struct review_conflict *c,
			size_t part, bool last)
{
	const struct buf *text;
	size_t from = 0, end, lines = 0;

	if (part >= c->parts.count || c->parts.items[part].conflict)
		return;
	text = &c->parts.items[part].ours;
	end = text->len;
	if (last) {
		for (from = end; from; from--)
			if (text->data[from - 1] == '\n' && from < end &&
			    ++lines == CONTEXT_LINES)
				break;
	} else {
		for (end = 0; end < text->len && lines < CONTEXT_LINES; end++)
			lines += text->data[end] == '\n';
	}
	styled_lines(to, ' ', (const char *)text->data + from, end - from);
}

void conflict_view_make(const struct review_ui *u, struct styled *to)
{
	const struct review_conflict *c = conflict_view_current(u);
	size_t part = 0, line, i;
	bool text = review_conflict_part(c, u->conflict.place, &part, &line);
	struct side sides[3];

	list_sides(c, u->conflict.place, sides);
	if (!text || c->refused)
		styled_line(to, LINE_PLAIN, CHANGED "%s",
			    conflict_text(c->kind));
	if (c->is_edited)
		styled_line(to, LINE_PLAIN,
			    CHANGED "you have edited the result: o, t and m "
				    "drop that");
	if (text && part)
		add_context(to, c, part - 1, true);
	if (to->width >= SIDES_LEAST) {
		add_sides_beside(to, u->store, sides);
	} else {
		for (i = 0; i < 3; i++) {
			add_side_title(to, &sides[i]);
			add_side_body(to, u->store, &sides[i]);
		}
	}
	if (text) {
		add_rule(to, "", ' ');
		add_context(to, c, part + 1, false);
	}
}

/* --- acts --- */

bool conflict_view_find_open(struct review_ui *u)
{
	struct conflict_cursor *v = &u->conflict;
	size_t i, k;

	for (i = 0; i <= v->list->count; i++) {
		size_t at = (v->at + i) % v->list->count;
		const struct review_conflict *c = &v->list->items[at];

		/* The places behind this one, those of the others, and at last
		 * those before it. */
		for (k = i ? 0 : v->place + 1; k < c->count; k++)
			if (!c->is_edited && !c->left_out &&
			    c->choices[k] == CHOICE_OPEN) {
				v->at = at;
				v->place = k;
				return true;
			}
	}
	return false;
}

static void go_to_open(struct review_ui *u)
{
	if (!conflict_view_find_open(u))
		u->all_decided = true;
}

static enum conflict_choice choice_of(int key)
{
	switch (key) {
	case 'o':
	case 'O':
		return CHOICE_OURS;
	case 't':
	case 'T':
		return CHOICE_THEIRS;
	case 'm':
	case 'M':
		return CHOICE_BOTH;
	default:
		return CHOICE_OPEN;
	}
}

bool conflict_view_can(struct review_ui *u, int key)
{
	return review_conflict_can(conflict_view_current(u),
				   key == 'e' ? CHOICE_BOTH : choice_of(key));
}

void conflict_view_choose(struct review_ui *u, int key)
{
	struct review_conflict *c = conflict_view_current(u);
	enum conflict_choice choice = choice_of(key);

	if (!review_conflict_can(c, choice)) {
		review_ui_say(u, "that is not possible here: %s",
			      conflict_text(c->kind));
		return;
	}
	review_conflict_choose(c, u->conflict.place, choice);
	c->left_out = choice == CHOICE_OPEN;
	decisions_conflict(u->list.decisions, u->store, c);
	if (choice == CHOICE_OPEN)
		review_ui_say(u, "open: the file stays in the run");
	go_to_open(u);
}

void conflict_view_choose_all(struct review_ui *u, int key)
{
	review_conflict_list_choose(u->conflict.list, choice_of(key));
	decisions_conflicts(u->list.decisions, u->store, u->conflict.list);
	go_to_open(u);
}

void conflict_view_edit(struct review_ui *u, int key)
{
	struct review_conflict *c = conflict_view_current(u);
	AUTO(buf) struct buf text = {0};
	struct err err;
	bool marked;
	int got;

	(void)key;
	if (!c->parts.count) {
		review_ui_say(u, "only texts can be edited");
		return;
	}
	review_conflict_text(c, &text, &marked);
	u->terminal->leave(u);
	got = review_edit_text(&text, u->scratch_fd, u->scratch, &err);
	u->terminal->enter(u);
	if (got < 0)
		review_ui_say(u, "%s", err.text);
	if (got <= 0)
		return;
	review_conflict_edit(c, &text);
	decisions_conflict(u->list.decisions, u->store, c);
	go_to_open(u);
}

void conflict_view_step(struct review_ui *u, int key)
{
	struct conflict_cursor *v = &u->conflict;

	if (key == '[' && v->place)
		v->place--;
	else if (key == ']' && v->place + 1 < conflict_view_current(u)->count)
		v->place++;
	else if (key == '[' && v->at)
		v->place = v->list->items[--v->at].count - 1;
	else if (key == ']' && v->at + 1 < v->list->count) {
		v->at++;
		v->place = 0;
	}
}

void conflict_view_confirm(struct review_ui *u, int key)
{
	struct review_conflicts *list = u->conflict.list;
	size_t i, open = 0;

	(void)key;
	for (i = 0; i < list->count; i++)
		open += review_conflict_open(&list->items[i]) > 0;
	u->conflict.done = u->conflict.confirmed =
		u->conflict.early || !open || u->conflict.warned;
	if (!u->conflict.done) {
		u->conflict.warned = true;
		review_ui_say(
			u, "%s open: Enter again leaves %s out, in the run",
			open == 1 ? "1 file is" : text_count(open, "file"),
			open == 1 ? "it" : "them");
	}
	for (i = 0; u->conflict.done && i < list->count; i++)
		list->items[i].left_out =
			review_conflict_open(&list->items[i]) > 0;
}

void conflict_view_leave(struct review_ui *u, int key)
{
	(void)key;
	u->conflict.done = true;
}
