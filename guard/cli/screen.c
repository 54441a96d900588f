#include "guard/cli/screen.h"

#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/text.h"
#include "guard/cli/output.h"
#include "guard/cli/screen_private.h"

#define WHEEL_LINES 3

/* --- moves --- */

void screen_select_row(struct review_ui *u, size_t at)
{
	const struct review_row *before = review_ui_row(u);

	review_list_select(&u->list, at);
	review_ui_moved(u, before);
}

/* The part under the cursor is that of the line. */
static void go_to_line(struct review_ui *u, size_t line)
{
	u->line = line;
	u->list.part = screen_part_at(u, line);
}

static void scroll_text(struct review_ui *u, size_t lines, bool back)
{
	size_t count = u->text.lines.count, rows = screen_text_rows(u);
	size_t at = u->in_text ? u->line : u->text_top, last;

	/* Without the cursor the top moves, and the line with it. */
	last = u->in_text     ? count - (count > 0)
	       : count > rows ? count - rows
			      : 0;
	at = !back ? at + lines : at > lines ? at - lines : 0;
	at = at < last ? at : last;
	go_to_line(u, at);
	if (!u->in_text)
		u->text_top = at;
}

void screen_scroll(struct review_ui *u, int key)
{
	scroll_text(u, screen_text_rows(u) - 1, key == SCREEN_KEY_PAGE_UP);
}

void screen_step(struct review_ui *u, int key)
{
	bool back = key == '[' || key == 'k';

	if (!back || u->list.at)
		screen_select_row(u, u->list.at + (back ? -(size_t)1 : 1));
}

void screen_move(struct review_ui *u, int key)
{
	if (u->in_text)
		scroll_text(u, 1, key == 'k');
	else
		screen_step(u, key);
}

void screen_go_to_end(struct review_ui *u, int key)
{
	size_t count = u->text.lines.count;

	if (u->in_text)
		go_to_line(u, key == 'g' || !count ? 0 : count - 1);
	else
		screen_select_row(u, key == 'g' ? 0 : (size_t)-1);
}

/* The head of the part is on top, where there is a choice. */
static void go_to_part(struct review_ui *u, size_t part)
{
	u->list.part = part;
	u->line = u->text_top = screen_text_find_part(&u->text, part);
}

void screen_move_hunk(struct review_ui *u, int key)
{
	const struct review_item *item = review_ui_item(u);
	size_t part = u->in_text ? u->list.part : 0;

	if (!item)
		return;
	if (!u->in_text)
		u->in_text = true;
	else if (key == '{' && part)
		part--;
	else if (key == '}' && part + 1 < item->parts)
		part++;
	else
		review_ui_say(u, key == '{' ? "the first hunk: [ goes to the "
					      "file before"
					    : "the last hunk: ] goes to the "
					      "next file");
	go_to_part(u, part);
}

void screen_select_bucket(struct review_ui *u, int key)
{
	const struct review_row *before = review_ui_row(u);
	int number = key - '0';
	enum review_bucket b;
	size_t open;

	for (b = 0; b < REVIEW_BUCKETS; b++)
		if (review_list_count_bucket(&u->list, b, &open) && !--number)
			break;
	if (!before || b == REVIEW_BUCKETS)
		return;
	u->in_text = false;
	if (!review_list_select_bucket(&u->list, b))
		review_ui_say(u, "no change of this bucket passes the filter");
	review_ui_moved(u, before);
}

void screen_focus(struct review_ui *u, int key)
{
	const struct review_item *item = review_ui_item(u);
	bool in_text = key == '\n';
	size_t i;

	if (in_text == u->in_text || !item)
		return;
	u->in_text = in_text;
	/* The cursor begins at the first open hunk. */
	for (i = 0; in_text && !u->line && i < item->parts; i++)
		if (item->answers[i] == REVIEW_OPEN) {
			go_to_line(u, screen_text_find_part(&u->text, i));
			break;
		}
}

void screen_show_match(struct review_ui *u)
{
	size_t i;

	screen_draw(u);
	for (i = u->line; i < u->text.lines.count; i++) {
		const struct screen_line *line = &u->text.lines.items[i];
		AUTO(buf) struct buf text = {0};

		screen_text_row(&u->text, i, &text);
		if ((line->sign == '+' || line->sign == '-') &&
		    regexec(&u->regex, buf_text(&text), 0, NULL, 0) == 0) {
			go_to_line(u, i);
			break;
		}
	}
	review_ui_say(u, "> next match, < match before");
}

void screen_toggle_words(struct review_ui *u, int key)
{
	(void)key;
	u->words = !u->words;
	u->stale = true;
	review_ui_say(u, "marks of changed words: %s", u->words ? "on" : "off");
}

void screen_toggle_verdict(struct review_ui *u, int key)
{
	(void)key;
	u->verdict = !u->verdict;
}

void screen_finish(struct review_ui *u, int key)
{
	(void)key;
	u->all_decided = true;
}

/* --- keys --- */

static void click(struct review_ui *u)
{
	int row, column;
	size_t at;

	screen_term_mouse(u->term, &row, &column);
	if (screen_row_at(u, row, column, &at)) {
		u->in_text = false;
		screen_select_row(u, at);
	} else if (screen_line_at(u, row, column, &at)) {
		u->in_text = true;
		go_to_line(u, at);
	}
}

/* The letter that does the same. */
static int find_letter(const struct review_ui *u, int key)
{
	switch (key) {
	case SCREEN_KEY_DOWN:
		return 'j';
	case SCREEN_KEY_UP:
		return 'k';
	case SCREEN_KEY_PAGE_DOWN:
		return ' ';
	case SCREEN_KEY_HOME:
		return 'g';
	case SCREEN_KEY_END:
		return 'G';
	case SCREEN_KEY_RIGHT:
		return '\n';
	case SCREEN_KEY_LEFT:
		return SCREEN_KEY_ESCAPE;
	case '\t':
		return u->in_text ? SCREEN_KEY_ESCAPE : '\n';
	case 'C' & 0x1f:
	case SCREEN_KEY_CLOSED:
		return 'q';
	default:
		return key;
	}
}

static void handle_key(struct review_ui *u, int key)
{
	const struct review_key *k;
	size_t counted = u->list.undo.count;

	switch (key) {
	case SCREEN_KEY_MOUSE:
		click(u);
		return;
	case SCREEN_KEY_WHEEL_UP:
	case SCREEN_KEY_WHEEL_DOWN:
		scroll_text(u, WHEEL_LINES, key == SCREEN_KEY_WHEEL_UP);
		return;
	case SCREEN_KEY_RESIZE:
		return;
	case 'L' & 0x1f:
		screen_term_leave(u->term);
		return;
	case 'Z' & 0x1f:
		screen_term_stop(u->term);
		return;
	}
	u->place = u->in_text ? UI_TEXT : UI_LIST;
	key = find_letter(u, key);
	k = review_ui_find_key(u, key);
	if (!k) {
		review_ui_say(u, "no such key; ? lists the keys");
		return;
	}
	k->act(u, key);
	/* The verdict has been read, and the list needs the lines. */
	if (u->list.undo.count != counted)
		u->verdict = false;
}

static enum screen_choice review_on_screen(struct review_ui *u)
{
	while (!u->done) {
		enum screen_choice choice;
		int key;

		review_ui_check_record(u);
		screen_draw(u);
		key = screen_term_key(u->term);
		if (key != SCREEN_KEY_RESIZE)
			screen_hush(u);
		handle_key(u, key);
		if (!u->all_decided)
			continue;
		u->all_decided = false;
		choice = screen_menu(u);
		if (choice != SCREEN_NOT)
			return choice;
	}
	return SCREEN_KEEP;
}

bool screen_is_possible(void)
{
	struct winsize size = {0};

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return false;
	if (!output_term_is_capable()) {
		output_print("the terminal has no full screen (TERM is %s), "
			     "using --plain",
			     text_quote(getenv("TERM") ?: ""));
		return false;
	}
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || !size.ws_row ||
	    !size.ws_col)
		return false;
	if (size.ws_row >= SCREEN_ROWS_LEAST &&
	    size.ws_col >= SCREEN_COLUMNS_LEAST)
		return true;
	output_print("the terminal is smaller than 60x15, using --plain");
	return false;
}

enum screen_choice screen_run(struct review_ui *u)
{
	enum screen_choice choice;
	struct err err;

	if (screen_open(u, &err) < 0) {
		output_print("%s (using --plain)", err.text);
		return SCREEN_NOT;
	}
	u->words = u->verdict = true;
	u->in_text = u->done = u->all_decided = false;
	u->text_of = NULL;
	review_list_order(&u->list, false);
	(void)review_list_select_open(&u->list, false);
	if (u->job->message)
		review_ui_say(u, "%s", u->job->message);
	choice = review_on_screen(u);
	screen_close(u);
	return choice;
}
