/* Conflicts of an apply on the full screen: three sides, and a choice. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/text.h"
#include "guard/cli/review_edit.h"
#include "guard/cli/screen_private.h"
#include "snapshot/store/content.h"

/* From this width on the sides stand side by side. */
#define SIDES_LEAST 120
#define BETWEEN " | "
#define CONTEXT_LINES 3
/* Bytes of a whole file that are shown. */
#define FILE_MAX (256u << 10)

struct conflict_screen {
	struct screen s;
	struct store *store;
	struct review_conflicts *list;
	size_t at, place; /* the conflict, and the place in it */
	bool warned; /* of open ones, at Enter */
	bool early; /* from the list, before an apply */
};

static struct review_conflict *current(const struct conflict_screen *c)
{
	return &c->list->items[c->at];
}

static void count_places(const struct conflict_screen *c, size_t *ret_number,
			 size_t *ret_count, size_t *ret_open)
{
	size_t i;

	*ret_count = *ret_open = 0;
	for (i = 0; i < c->list->count; i++) {
		if (i == c->at)
			*ret_number = *ret_count + c->place + 1;
		*ret_count += c->list->items[i].count;
		*ret_open += review_conflict_open(&c->list->items[i]);
	}
}

/* --- the sides --- */

struct side {
	const char *title;
	const struct buf *text; /* of the place; NULL: not merged */
	const struct entry *entry;
	bool taken;
};

static void add_rule(struct screen_text *t, size_t columns)
{
	AUTO(buf) struct buf b = {0};

	while (b.len < columns)
		buf_add_char(&b, '-');
	screen_text_add_escaped(t, '#', buf_text(&b), columns);
}

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

static void add_side_title(struct screen_text *t, const struct side *side,
			   size_t columns)
{
	AUTO(buf) struct buf b = {0};

	buf_printf(&b, "-- %s %s", side->title, side->taken ? "[taken] " : "");
	while (b.len < columns)
		buf_add_char(&b, '-');
	screen_text_add_escaped(t, '@', buf_text(&b), columns);
}

/* A whole file, if it is a text of readable length. */
static bool add_file(struct screen_text *t, struct store *store,
		     const struct entry *e, size_t columns)
{
	AUTO(buf) struct buf text = {0};
	struct err ignored;

	if (!S_ISREG(e->mode) || !e->size || e->size > FILE_MAX ||
	    content_append(store, &e->content, &text, &ignored) < 0 ||
	    !textmerge_is_text(&text))
		return false;
	screen_text_add(t, ' ', (const char *)text.data, text.len, columns);
	return true;
}

static void add_side_body(struct screen_text *t, struct store *store,
			  const struct side *side, size_t columns)
{
	const struct entry *e = side->entry;
	AUTO(buf) struct buf b = {0};

	if (!side->text && add_file(t, store, e, columns))
		return;
	if (side->text && side->text->len) {
		screen_text_add(t, ' ', (const char *)side->text->data,
				side->text->len, columns);
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
		text_escape_name(&b, e->link);
	} else
		buf_add_text(&b, "a special file");
	screen_text_add_escaped(t, '#', buf_text(&b), columns);
}

/* One row of each side, at their widths. */
static void add_row_of_sides(struct screen_text *page,
			     const struct screen_text sides[3], size_t row,
			     size_t columns)
{
	AUTO(buf) struct buf line = {0};
	char sign = ' ';
	size_t i;

	for (i = 0; i < 3; i++) {
		AUTO(buf) struct buf text = {0};
		size_t width;

		if (row < sides[i].lines.count) {
			const struct screen_line *l =
				&sides[i].lines.items[row];

			buf_add_text(&text, l->wrapped ? ": " : "  ");
			screen_text_row(&sides[i], row, &text);
			sign = l->sign == '@' ? '@' : sign;
		}
		width = text_width(buf_text(&text));
		buf_add(&line, text.data, text.len);
		for (; i < 2 && width < columns + 2; width++)
			buf_add_char(&line, ' ');
		if (i < 2)
			buf_add_text(&line, BETWEEN);
	}
	screen_text_add_escaped(page, sign, buf_text(&line), (size_t)-1 / 2);
}

static void add_sides_beside(struct screen_text *page, struct store *store,
			     const struct side sides[3], size_t columns)
{
	struct screen_text texts[3] = {0};
	/* Each has two columns for the mark of a wrapped row. */
	size_t width = (columns - 2 * strlen(BETWEEN)) / 3 - 2, rows = 0, i;

	for (i = 0; i < 3; i++) {
		add_side_title(&texts[i], &sides[i], width);
		add_side_body(&texts[i], store, &sides[i], width);
		if (texts[i].lines.count > rows)
			rows = texts[i].lines.count;
	}
	for (i = 0; i < rows; i++)
		add_row_of_sides(page, texts, i, width);
	for (i = 0; i < 3; i++)
		screen_text_free(&texts[i]);
}

/* The last (or first) lines of a part without a conflict. */
static void add_context(struct screen_text *page,
			const struct review_conflict *c, size_t part, bool last,
			size_t columns)
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
	screen_text_add(page, '#', (const char *)text->data + from, end - from,
			columns);
}

static void make_page(struct conflict_screen *c, struct screen_text *page)
{
	const struct review_conflict *conflict = current(c);
	size_t columns = c->s.columns > 8 ? (size_t)c->s.columns - 4 : 4, i;
	size_t part = 0, line;
	bool text = review_conflict_part(conflict, c->place, &part, &line);
	struct side sides[3];

	list_sides(conflict, c->place, sides);
	if (!text || conflict->refused)
		screen_text_add_escaped(page, '!',
					conflict_text(conflict->kind), columns);
	if (conflict->is_edited)
		screen_text_add_escaped(
			page, '!',
			"you have edited the result: o, t and m drop that",
			columns);
	if (text && part)
		add_context(page, conflict, part - 1, true, columns);
	if (c->s.columns >= SIDES_LEAST) {
		add_sides_beside(page, c->store, sides, columns);
	} else {
		for (i = 0; i < 3; i++) {
			add_side_title(page, &sides[i], columns);
			add_side_body(page, c->store, &sides[i], columns);
		}
	}
	if (text)
		add_rule(page, columns);
	if (text)
		add_context(page, conflict, part + 1, false, columns);
}

/* --- keys --- */

static bool find_open(struct conflict_screen *c)
{
	size_t i, k, at;

	for (i = 0; i <= c->list->count; i++) {
		struct review_conflict *x;

		at = (c->at + i) % c->list->count;
		x = &c->list->items[at];
		/* The places behind this one, those of the others, and at last
		 * those before it. */
		for (k = i ? 0 : c->place + 1; k < x->count; k++)
			if (!x->is_edited && x->choices[k] == CHOICE_OPEN) {
				c->at = at;
				c->place = k;
				return true;
			}
	}
	return false;
}

static void go_to_open(struct conflict_screen *c)
{
	if (!find_open(c))
		screen_say(&c->s,
			   "all are decided: Enter %s; [ ] shows them "
			   "again",
			   c->early ? "goes back" : "applies");
}

static void choose(struct conflict_screen *c, enum conflict_choice choice)
{
	struct review_conflict *x = current(c);

	if (!review_conflict_can(x, choice)) {
		screen_say(&c->s, "that is not possible here: %s",
			   conflict_text(x->kind));
		return;
	}
	review_conflict_choose(x, c->place, choice);
	decisions_conflict(c->s.job->decisions, c->store, x);
	go_to_open(c);
	if (choice == CHOICE_OPEN)
		screen_say(&c->s, "open: the file stays in the run");
}

/* The same for all that are open, where it is possible. */
static void choose_all(struct conflict_screen *c, enum conflict_choice choice)
{
	review_conflict_list_choose(c->list, choice);
	decisions_conflicts(c->s.job->decisions, c->store, c->list);
	go_to_open(c);
}

static void edit_result(struct conflict_screen *c)
{
	struct review_conflict *x = current(c);
	const struct screen_job *job = c->s.job;
	AUTO(buf) struct buf text = {0};
	struct err err;
	bool marked;
	int got;

	if (!x->parts.count) {
		screen_say(&c->s, "only texts can be edited");
		return;
	}
	review_conflict_text(x, &text, &marked);
	screen_leave(&c->s);
	got = review_edit_text(&text, job->scratch_fd, job->scratch, &err);
	screen_return(&c->s);
	if (got < 0)
		screen_say(&c->s, "%s", err.text);
	if (got <= 0)
		return;
	review_conflict_edit(x, &text);
	decisions_conflict(job->decisions, c->store, x);
	go_to_open(c);
}

static void step(struct conflict_screen *c, bool back)
{
	if (back && c->place)
		c->place--;
	else if (!back && c->place + 1 < current(c)->count)
		c->place++;
	else if (back && c->at)
		c->place = c->list->items[--c->at].count - 1;
	else if (!back && c->at + 1 < c->list->count) {
		c->at++;
		c->place = 0;
	}
}

/* Enter: whether to go on. */
static bool is_done(struct conflict_screen *c)
{
	size_t i, open = 0;

	for (i = 0; i < c->list->count; i++)
		open += review_conflict_open(&c->list->items[i]) > 0;
	if (open && !c->warned) {
		c->warned = true;
		screen_say(&c->s,
			   "%s open: Enter again leaves %s out, in the run",
			   open == 1 ? "1 file is" : text_count(open, "file"),
			   open == 1 ? "it" : "them");
		return false;
	}
	for (i = 0; i < c->list->count; i++)
		c->list->items[i].left_out =
			review_conflict_open(&c->list->items[i]) > 0;
	return true;
}

static void handle_key(struct conflict_screen *c, int key)
{
	switch (key) {
	case 'o':
		choose(c, CHOICE_OURS);
		break;
	case 't':
		choose(c, CHOICE_THEIRS);
		break;
	case 'm':
		choose(c, CHOICE_BOTH);
		break;
	case 'u':
		choose(c, CHOICE_OPEN);
		break;
	case 'O':
		choose_all(c, CHOICE_OURS);
		break;
	case 'T':
		choose_all(c, CHOICE_THEIRS);
		break;
	case 'M':
		choose_all(c, CHOICE_BOTH);
		break;
	case 'e':
		edit_result(c);
		break;
	case ']':
	case '[':
		step(c, key == '[');
		break;
	default:
		screen_say(&c->s, "O T M: the same for all open ones; "
				  "[ ] previous, next");
	}
}

/* The keys of the choices that are possible here. */
static void add_keys(const struct review_conflict *x, struct buf *to)
{
	if (review_conflict_can(x, CHOICE_OURS))
		buf_add_text(to, " o yours ");
	if (review_conflict_can(x, CHOICE_THEIRS))
		buf_add_text(to, " t the run's ");
	if (review_conflict_can(x, CHOICE_BOTH))
		buf_add_text(to, " m both with markers  e edit the result ");
	buf_add_text(to, " u later  q back");
}

static int show_conflict(struct conflict_screen *c)
{
	const struct review_conflict *x = current(c);
	struct screen_text page = {0};
	AUTO(buf) struct buf title = {0}, keys = {0};
	size_t number = 0, count, open, part, line, top = 0;
	int key;

	/* The width decides about the page. */
	screen_term_size(c->s.term, &c->s.rows, &c->s.columns);
	count_places(c, &number, &count, &open);
	buf_printf(&title, " Conflict %zu of %zu, %zu open: ", number, count,
		   open);
	text_escape_name(&title, x->path);
	if (review_conflict_part(x, c->place, &part, &line))
		buf_printf(&title, ", from line %zu of yours on", line);
	make_page(c, &page);
	add_keys(x, &keys);
	key = screen_page_key(&c->s, buf_text(&title), &page, &top,
			      buf_text(&keys), true);
	screen_text_free(&page);
	return key;
}

/* Until the user leaves. true: Enter. */
static bool show_conflicts(struct conflict_screen *c)
{
	bool done = false, back = false;

	if (review_conflict_open(current(c)) == 0 ||
	    current(c)->choices[0] != CHOICE_OPEN)
		go_to_open(c);
	else
		screen_say(&c->s, "you and the run changed the same lines: "
				  "which version is applied?");
	while (!done && !back) {
		int key = show_conflict(c);

		if (key == SCREEN_KEY_RESIZE)
			continue;
		screen_hush(&c->s);
		back = key == 'q' || key == SCREEN_KEY_ESCAPE ||
		       key == ('C' & 0x1f) || key == SCREEN_KEY_CLOSED;
		if (key == '\n')
			done = c->early || is_done(c);
		else if (!back)
			handle_key(c, key);
	}
	return done;
}

bool screen_conflict_run(const struct screen_job *job, struct store *store,
			 struct review_conflicts *list)
{
	struct conflict_screen c = {
		.s = {.job = job},
		.store = store,
		.list = list,
	};
	struct err err;
	bool done;

	if (screen_open(&c.s, &err) < 0)
		return false;
	done = show_conflicts(&c);
	screen_close(&c.s);
	return done;
}

/* Whether the path is that of an entry of the row, or below it. */
static bool is_of_row(const struct review_conflict *c,
		      const struct review_row *row)
{
	const struct review_item *item = review_list_item(row);
	size_t i;

	for (i = 0; c->root == row->root && i < item->count; i++)
		if (path_below(c->path,
			       review_entry_at(row->review, item, i)->path))
			return true;
	return false;
}

void screen_conflict_show(struct screen *s)
{
	const struct review_row *row = review_list_row(&s->list);
	struct conflict_screen c = {
		.s = {.job = s->job, .term = s->term},
		.early = true,
	};
	struct err err;
	size_t i;

	if (!row)
		return;
	if (s->job->list_conflicts(s->job->arg, &c.list, &err) < 0) {
		screen_say(s, "%s", err.text);
		return;
	}
	if (!c.list->count) {
		screen_say(s, "no change conflicts with your edits");
		return;
	}
	for (i = c.list->count; i-- > 0;)
		if (is_of_row(&c.list->items[i], row))
			c.at = i;
	c.store = row->review->store;
	screen_return(&c.s);
	(void)show_conflicts(&c);
	screen_return(s);
	screen_hush(&c.s);
}
