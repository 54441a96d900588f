/* Pages of the full screen besides list and text: help, menu, prompts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/text.h"
#include "guard/cli/output.h"
#include "guard/cli/report_sink.h"
#include "guard/cli/screen_private.h"
#include "guard/cli/styled.h"
#include "guard/state/report.h"

#define PROMPT_MAX 1000

/* --- the terminal --- */

static void say_on_screen(struct review_ui *u, const char *text)
{
	free(u->message);
	u->message = mem_strdup(text);
}

void screen_hush(struct review_ui *u)
{
	say_on_screen(u, NULL);
}

/* Removes the last character. */
static void remove_last(struct buf *b)
{
	while (b->len && (b->data[--b->len] & 0xc0) == 0x80)
		;
}

static char *ask_on_screen(struct review_ui *u, const char *question,
			   const char *begin)
{
	AUTO(buf) struct buf text = {0};
	int key;

	buf_add_text(&text, begin);
	for (;;) {
		AUTO(buf) struct buf shown = {0};

		buf_add_text(&shown, question);
		buf_add_char(&shown, ' ');
		text_escape(&shown, text.data, text.len, false);
		buf_add_char(&shown, '_');
		say_on_screen(u, buf_text(&shown));
		u->asks = true;
		screen_draw(u);
		u->asks = false;
		key = screen_term_key(u->term);
		if (key == '\n')
			break;
		if (key == SCREEN_KEY_ESCAPE || key == ('C' & 0x1f) ||
		    key == SCREEN_KEY_CLOSED) {
			screen_hush(u);
			return NULL;
		}
		if (key == '\b')
			remove_last(&text);
		else if (key == ('U' & 0x1f))
			buf_clear(&text);
		else if (key >= ' ' && key < 0x110000 && text.len < PROMPT_MAX)
			text_encode(&text, (uint32_t)key);
	}
	screen_hush(u);
	return mem_strdup(buf_text(&text));
}

/* Reports of the code below, while the terminal is the screen. */
static struct review_ui *reporting;

static void say_reported(enum report_kind kind, const char *text)
{
	(void)kind;
	say_on_screen(reporting, text);
}

static void say_error(const struct err *err)
{
	say_on_screen(reporting, err->text);
}

static bool be_quiet(void)
{
	return false;
}

static void take_reports(struct review_ui *u)
{
	static const struct report_sink sink = {
		.message = say_reported,
		.error = say_error,
		.is_quiet = be_quiet,
	};

	reporting = u;
	report_to(&sink);
}

static void leave_screen(struct review_ui *u)
{
	screen_term_leave(u->term);
	report_sink_install();
}

int screen_open(struct review_ui *u, struct err *err)
{
	static const struct review_terminal calls = {
		.say = say_on_screen,
		.ask = ask_on_screen,
		.leave = leave_screen,
		.enter = take_reports,
	};

	(void)fflush(stdout);
	if (screen_term_open(output_has_color(), u->job->mouse, &u->term, err) <
	    0)
		return -err->num;
	u->terminal = &calls;
	u->typed = "";
	take_reports(u);
	return 0;
}

void screen_close(struct review_ui *u)
{
	report_sink_install();
	screen_term_free(&u->term);
	screen_hush(u);
}

/* --- pages --- */

int screen_page_key(struct review_ui *u, const char *title,
		    const struct screen_text *page, size_t *top,
		    const char *bar, bool letters)
{
	int columns = u->columns, key;
	size_t rows;

	for (;;) {
		screen_draw_page(u, title, page, top, bar);
		/* The size has changed since the page was made. */
		if (u->columns != columns)
			return SCREEN_KEY_RESIZE;
		key = screen_term_key(u->term);
		if (!letters && (key == 'j' || key == 'k'))
			return key;
		rows = u->rows > 4 ? (size_t)u->rows - 4 : 1;
		switch (key) {
		case 'j':
		case SCREEN_KEY_DOWN:
		case SCREEN_KEY_WHEEL_DOWN:
			++*top;
			break;
		case 'k':
		case SCREEN_KEY_UP:
		case SCREEN_KEY_WHEEL_UP:
			*top -= *top > 0;
			break;
		case ' ':
		case SCREEN_KEY_PAGE_DOWN:
			*top += rows;
			break;
		case SCREEN_KEY_PAGE_UP:
			*top -= *top < rows ? *top : rows;
			break;
		case 'Z' & 0x1f:
			screen_term_stop(u->term);
			break;
		case SCREEN_KEY_MOUSE:
			break;
		default:
			return key;
		}
	}
}

int screen_page(struct review_ui *u, const char *title,
		const struct screen_text *page, const char *bar, bool letters)
{
	size_t top = 0;
	int key;

	do
		key = screen_page_key(u, title, page, &top, bar, letters);
	while (key == SCREEN_KEY_RESIZE);
	return key;
}

/* --- help --- */

static const char about[] =
	"You decide here which changes of the run go into your project. "
	"Nothing\n"
	"is written before you choose so in the menu of C, and an apply can "
	"be\n"
	"undone by guard undo. What is left open or is answered by n is not\n"
	"applied. No key deletes anything.\n"
	"\n";

static const char signs[] =
	"\n"
	"Conflicts: your changes since the run began are merged where that is\n"
	"clear; elsewhere an apply first shows the three sides, and asks.\n"
	"\n"
	"Signs in the list: y taken, n left, * in part, v seen; D deleted,\n"
	"M modified, A added, R moved, T another type, P permissions;\n"
	"!! critical, ! executed later or dangerous. In the text : stands\n"
	"before the rest of a long line.\n";

void screen_help(struct review_ui *u, int key)
{
	struct screen_text page = {0};
	AUTO(buf) struct buf text = {0};

	(void)key;
	review_ui_key_help(u, UI_LIST | UI_TEXT, false, screen_page_columns(u),
			   &text);
	screen_text_begin(&page, screen_page_columns(u));
	styled_lines(&page.styled, ' ', about, strlen(about));
	styled_lines(&page.styled, ' ', buf_text(&text), text.len);
	styled_lines(&page.styled, ' ', signs, strlen(signs));
	(void)screen_page(u, " Help", &page,
			  " j k space scroll   any other key: back", true);
	screen_text_free(&page);
}

/* --- the menu at the end --- */

static void add_menu_line(struct buf *b, bool possible, const char *key,
			  const char *text)
{
	buf_printf(b, "  %s  %s\n", possible ? key : "-", text);
}

#define CONSENTS_SHOWN 3

/* The critical changes that are taken: the yes to each was its consent. */
static void write_consents(const struct review_ui *u, struct buf *b)
{
	AUTO(mem_list) char **paths = NULL;
	size_t count = 0, i;

	for (i = 0; i < u->list.review_count; i++)
		review_list_agreed(u->list.reviews[i], &paths);
	while (paths && paths[count])
		count++;
	if (!count)
		return;
	buf_printf(b, "!! %zu of them %s critical, with your consent: ", count,
		   count == 1 ? "is" : "are");
	for (i = 0; i < count && i < CONSENTS_SHOWN; i++) {
		buf_add_text(b, i ? ", " : "");
		text_escape_name(b, paths[i]);
	}
	if (count > i)
		buf_printf(b, " and %zu more", count - i);
	buf_add_char(b, '\n');
}

static void write_menu(const struct review_ui *u, const struct review_counts *n,
		       struct buf *b)
{
	const struct screen_job *job = u->job;
	size_t taken = n->yes + n->partly;
	AUTO(buf) struct buf line = {0};
	bool all = n->yes == n->items;

	buf_printf(b, "%zu taken", taken);
	if (n->partly)
		buf_printf(b, " (%zu in part)", n->partly);
	buf_printf(b, ", %zu left, %zu open%s\n", n->no, n->open,
		   n->open ? " (open changes are not applied)" : "");
	write_consents(u, b);
	buf_add_char(b, '\n');
	buf_printf(&line, "apply %s to ", text_count(taken, "change"));
	text_escape_name(&line, job->project);
	add_menu_line(b, taken > 0, "a", buf_text(&line));
	if (!all && !job->running && !job->part)
		add_menu_line(b, taken > 0, "r",
			      job->commits_to
				      ? "apply, and discard the rest and the "
					"commits (guard undo 2 reverts both)"
				      : "apply, and discard the rest (guard "
					"undo 2 reverts both)");
	if (job->commits_to) {
		buf_clear(&line);
		buf_add_text(&line, "apply all with the commits (branch ");
		text_escape_name(&line, job->commits_to);
		buf_add_text(&line, all ? ")" : "): take every change first");
		add_menu_line(b, all, "c", buf_text(&line));
	}
	buf_clear(&line);
	buf_add_text(&line, "only commit them, on the branch ");
	text_escape_name(&line, job->branch);
	add_menu_line(b, taken > 0, "b", buf_text(&line));
	buf_clear(&line);
	buf_add_text(&line, "write them as a patch to ");
	text_escape_name(&line, job->patch);
	add_menu_line(b, taken > 0, "p", buf_text(&line));
	add_menu_line(b, true, "h",
		      "write an HTML report of the whole run to a file");
	add_menu_line(b, true, "k", "keep the run for later, and quit");
	add_menu_line(b, !job->running, "discard",
		      "type the word: the run's changes go, your files stay");
	buf_add_text(b, "\n  Esc  back to the review\n");
	if (!taken)
		buf_add_text(b, "\nNothing is taken yet: y takes a change.\n");
}

/* The word is typed in full. */
static bool is_discard_typed(struct review_ui *u)
{
	const char *wanted = "discard";
	size_t len = 1;
	int key;

	for (;;) {
		review_ui_say(u, "Discard the run? Type the word: %.*s_",
			      (int)len, wanted);
		u->asks = true;
		screen_draw(u);
		u->asks = false;
		if (!wanted[len]) {
			screen_hush(u);
			return true;
		}
		key = screen_term_key(u->term);
		if (key == SCREEN_KEY_RESIZE)
			continue;
		if (key != wanted[len]) {
			review_ui_say(u, "not discarded");
			return false;
		}
		len++;
	}
}

static void write_html(struct review_ui *u)
{
	auto_free char *file =
		ask_on_screen(u, "Write the HTML report to:", u->job->html);
	struct err err;
	int got;

	if (!file || !*file)
		return;
	leave_screen(u);
	got = u->job->write_html(u->job->arg, file, &err);
	take_reports(u);
	if (got < 0)
		review_ui_say(u, "%s", err.text);
	else
		review_ui_say(u, "the report is in %s", text_quote(file));
}

/* The menu until a key; only keys that are possible are in the bar. */
static int ask_how_to_finish(struct review_ui *u, const struct review_counts *n,
			     bool taken, bool rest, bool commits)
{
	struct screen_text page = {0};
	AUTO(buf) struct buf b = {0}, bar = {0};
	int key;

	write_menu(u, n, &b);
	buf_printf(&bar, "%s%s%s%s h HTML  k keep %s Esc back",
		   taken ? " a apply " : "", rest ? " r rest " : "",
		   commits ? " c commits " : "",
		   taken ? " b branch  p patch " : "",
		   u->job->running ? "" : " d discard ");
	screen_text_begin(&page, screen_page_columns(u));
	styled_lines(&page.styled, ' ', buf_text(&b), b.len);
	key = screen_page(u, " Finish", &page, buf_text(&bar), false);
	screen_text_free(&page);
	return key;
}

static void ask_to_discard_rest(struct review_ui *u,
				const struct review_counts *n)
{
	size_t rest = n->no + n->open;
	AUTO(buf) struct buf b = {0};

	if (rest)
		buf_add_text(&b, text_count(rest, "change"));
	if (n->partly)
		buf_printf(&b, "%sthe rest of %s", rest ? " and " : "",
			   text_count(n->partly, "change"));
	review_ui_say(u, "r again applies, and discards %s%s", buf_text(&b),
		      n->open ? " (some are open)" : "");
}

enum screen_choice screen_menu(struct review_ui *u)
{
	bool asked = false;

	for (;;) {
		struct review_counts n;
		bool taken, rest, commits;
		int key;

		review_list_sum(&u->list, &n);
		taken = n.yes + n.partly > 0;
		commits = u->job->commits_to && n.yes == n.items;
		rest = taken && n.yes < n.items && !u->job->running &&
		       !u->job->part;
		key = ask_how_to_finish(u, &n, taken, rest, commits);
		screen_hush(u);
		if (key == 'r' && rest && asked)
			return SCREEN_APPLY_DISCARD;
		asked = key == 'r' && rest;
		if (asked)
			ask_to_discard_rest(u, &n);
		if (key == 'a' && taken)
			return SCREEN_APPLY;
		if (key == 'c' && commits)
			return SCREEN_COMMITS;
		if (key == 'h')
			write_html(u);
		if (key == 'b' && taken)
			return SCREEN_BRANCH;
		if (key == 'p' && taken)
			return SCREEN_PATCH;
		if (key == 'k' || key == SCREEN_KEY_CLOSED)
			return SCREEN_KEEP;
		if (key == 'd' && !u->job->running && is_discard_typed(u))
			return SCREEN_DISCARD;
		if (key == SCREEN_KEY_ESCAPE || key == 'q' ||
		    key == ('C' & 0x1f))
			return SCREEN_NOT;
	}
}
