/* Conflicts of an apply on the full screen: three sides, and a choice. */

#include "base/auto.h"
#include "base/path.h"
#include "base/text.h"
#include "guard/cli/conflict_view.h"
#include "guard/cli/screen.h"
#include "guard/cli/screen_private.h"

static void write_title(const struct review_ui *u, struct buf *to)
{
	const struct conflict_cursor *v = &u->conflict;
	size_t number = 0, count = 0, open = 0, part, line, i;
	const struct review_conflict *c = conflict_view_current(u);

	for (i = 0; i < v->list->count; i++) {
		if (i == v->at)
			number = count + v->place + 1;
		count += v->list->items[i].count;
		open += review_conflict_open(&v->list->items[i]);
	}
	buf_printf(to, " Conflict %zu of %zu, %zu open: ", number, count, open);
	text_escape_name(to, c->path);
	if (review_conflict_part(c, v->place, &part, &line))
		buf_printf(to, ", from line %zu of yours on", line);
}

static int show_conflict(struct review_ui *u)
{
	struct screen_text page = {0};
	AUTO(buf) struct buf title = {0}, keys = {0};
	size_t top = 0;
	int key;

	/* The width decides about the page. */
	screen_term_size(u->term, &u->rows, &u->columns);
	write_title(u, &title);
	screen_text_begin(&page, screen_page_columns(u));
	conflict_view_make(u, &page.styled);
	review_ui_key_bar(u, NULL, &keys);
	key = screen_page_key(u, buf_text(&title), &page, &top, buf_text(&keys),
			      true);
	screen_text_free(&page);
	return key;
}

/* Until the user leaves, beginning with this conflict. true: goes on. */
static bool show_conflicts(struct review_ui *u, struct conflict_cursor begin)
{
	u->conflict = begin;
	u->conflict.place = (size_t)-1;
	u->place = UI_CONFLICT;
	u->all_decided = !conflict_view_find_open(u);
	if (u->all_decided)
		u->conflict.place = 0;
	else if (u->conflict.at == begin.at && !u->conflict.place)
		review_ui_say(u, "you and the run changed the same lines: "
				 "which version is applied?");
	while (!u->conflict.done) {
		const struct review_key *k;
		int key;

		if (u->all_decided)
			review_ui_say(u,
				      "all are decided: Enter %s; [ ] shows "
				      "them again",
				      begin.early ? "goes back" : "applies");
		u->all_decided = false;
		key = show_conflict(u);
		if (key == SCREEN_KEY_RESIZE)
			continue;
		screen_hush(u);
		if (key == SCREEN_KEY_ESCAPE || key == ('C' & 0x1f) ||
		    key == SCREEN_KEY_CLOSED)
			key = 'q';
		k = review_ui_find_key(u, key);
		if (k)
			k->act(u, key);
		else
			review_ui_say(u, "O T M: the same for all open ones; "
					 "[ ] previous, next");
	}
	return u->conflict.confirmed;
}

bool screen_conflict_run(struct review_ui *u, struct review_conflicts *list)
{
	struct err err;
	bool done;

	if (screen_open(u, &err) < 0)
		return false;
	done = show_conflicts(u, (struct conflict_cursor){.list = list});
	screen_close(u);
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

void screen_conflict_show(struct review_ui *u, int key)
{
	const struct review_row *row = review_ui_row(u);
	struct conflict_cursor begin = {.early = true};
	struct err err;
	size_t i;

	(void)key;
	if (!row)
		return;
	if (u->job->list_conflicts(u->job->arg, &begin.list, &err) < 0) {
		review_ui_say(u, "%s", err.text);
		return;
	}
	if (!begin.list->count) {
		review_ui_say(u, "no change conflicts with your edits");
		return;
	}
	for (i = begin.list->count; i-- > 0;)
		if (is_of_row(&begin.list->items[i], row))
			begin.at = i;
	(void)show_conflicts(u, begin);
	screen_hush(u);
}
