#include "guard/cli/screen.h"

#include <regex.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/parse.h"
#include "base/text.h"
#include "guard/cli/output.h"
#include "guard/cli/report_sink.h"
#include "guard/cli/review_edit.h"
#include "guard/cli/screen_private.h"
#include "guard/state/report.h"

#define WHEEL_LINES 3

void screen_say(struct screen *s, const char *format, ...)
{
	va_list ap;
	int len;

	free(s->message);
	va_start(ap, format);
	len = vasprintf(&s->message, format, ap);
	va_end(ap);
	if (len < 0)
		s->message = NULL;
}

void screen_hush(struct screen *s)
{
	free(s->message);
	s->message = NULL;
}

size_t screen_part(const struct screen *s)
{
	if (s->line >= s->text.lines.count)
		return 0;
	return s->text.lines.items[s->line].part;
}

/* The text is made again, with the cursor at a part. */
static void remake_text(struct screen *s, size_t part)
{
	s->stale = true;
	s->next_part = part + 1;
}

/* --- reports of the code below, while the terminal is the screen --- */

static struct screen *reporting;

static void say_reported(enum report_kind kind, const char *text)
{
	(void)kind;
	screen_say(reporting, "%s", text);
}

static void say_error(const struct err *err)
{
	screen_say(reporting, "%s", err->text);
}

static bool be_quiet(void)
{
	return false;
}

static void take_reports(struct screen *s)
{
	static const struct report_sink sink = {
		.message = say_reported,
		.error = say_error,
		.is_quiet = be_quiet,
	};

	reporting = s;
	report_to(&sink);
}

void screen_leave(struct screen *s)
{
	screen_term_leave(s->term);
	report_sink_install();
}

void screen_return(struct screen *s)
{
	take_reports(s);
}

void screen_wait_enter(struct screen *s)
{
	(void)s;
	/* The terminal reads lines now. */
	for (;;) {
		int c = getchar();

		if (c == '\n' || c == EOF)
			return;
	}
}

/* --- moves --- */

/* Texts that are not on the screen any more are freed. */
static void leave_row(struct screen *s, const struct review_row *row)
{
	if (row != review_list_row(&s->list)) {
		review_close(row->review, review_list_item(row));
		s->text_of = NULL;
		s->next_part = 0;
		s->line = s->text_top = 0;
	}
}

static void select_row(struct screen *s, size_t at)
{
	struct review_row *before = review_list_row(&s->list);

	if (!before)
		return;
	review_list_select(&s->list, at);
	leave_row(s, before);
}

static void scroll_text(struct screen *s, size_t lines, bool back)
{
	size_t count = s->text.lines.count, rows = screen_text_rows(s);
	size_t last = count > rows ? count - rows : 0;

	if (s->in_text) {
		s->line = back ? s->line < lines ? 0 : s->line - lines
			       : s->line + lines;
		if (s->line >= count)
			s->line = count ? count - 1 : 0;
		return;
	}
	/* Without the cursor the top moves, and the line with it. */
	s->text_top = back ? s->text_top < lines ? 0 : s->text_top - lines
			   : s->text_top + lines;
	if (s->text_top > last)
		s->text_top = last;
	s->line = s->text_top;
}

static void move(struct screen *s, bool back)
{
	if (s->in_text)
		scroll_text(s, 1, back);
	else if (!back)
		select_row(s, s->list.at + 1);
	else if (s->list.at)
		select_row(s, s->list.at - 1);
}

static void go_to_end(struct screen *s, bool back)
{
	if (s->in_text)
		s->line = back			? 0
			  : s->text.lines.count ? s->text.lines.count - 1
						: 0;
	else
		select_row(s, back ? 0 : (size_t)-1);
}

static void move_hunk(struct screen *s, bool back)
{
	const struct review_row *row = review_list_row(&s->list);
	size_t part = screen_part(s);

	if (!row)
		return;
	if (!s->in_text) {
		s->in_text = true;
		part = 0;
	} else if (back && part) {
		part--;
	} else if (!back && part + 1 < review_list_item(row)->parts) {
		part++;
	} else {
		screen_say(s, back ? "the first hunk: [ goes to the file before"
				   : "the last hunk: ] goes to the next file");
	}
	s->line = screen_text_find_part(&s->text, part);
	/* With its head on top, where there is a choice. */
	s->text_top = s->line;
}

static void select_bucket(struct screen *s, int number)
{
	struct review_row *before = review_list_row(&s->list);
	enum review_bucket b;
	size_t open;

	for (b = 0; b < REVIEW_BUCKETS; b++)
		if (review_list_count_bucket(&s->list, b, &open) && !--number)
			break;
	if (!before || b == REVIEW_BUCKETS)
		return;
	s->in_text = false;
	if (!review_list_select_bucket(&s->list, b))
		screen_say(s, "no change of this bucket passes the filter");
	leave_row(s, before);
}

/* --- answers --- */

static const char *answer_word(enum review_answer answer)
{
	static const char *const words[] = {
		[REVIEW_OPEN] = "open",
		[REVIEW_YES] = "taken",
		[REVIEW_NO] = "left",
	};

	return words[answer];
}

/* To the next open part of the text, else to the next open row. */
static void go_on(struct screen *s)
{
	struct review_row *row = review_list_row(&s->list);
	struct review_item *item = review_list_item(row);
	size_t part;

	for (part = screen_part(s) + 1; s->in_text && part < item->parts;
	     part++)
		if (item->answers[part] == REVIEW_OPEN) {
			s->line = screen_text_find_part(&s->text, part);
			s->text_top = s->line;
			return;
		}
	if (!review_list_select_open(&s->list) && !s->list.open_only &&
	    !s->list.pattern)
		s->all_decided = true;
	leave_row(s, row);
}

static void say_refused(struct screen *s, const struct review_row *row)
{
	screen_say(s,
		   review_is_group(review_list_item(row))
			   ? "critical changes, set-id bits and nodes need a "
			     "yes of their own: left (s splits the directory)"
			   : "set-id bits, capabilities and nodes cannot be "
			     "applied here: left");
}

/* Only copies and uncommitted work are given up only when the number of these
 * files is typed. A single only copy needs no number, nor do fewer than `least`
 * files that lose work. */
static bool may_take(struct screen *s, const struct review_targets *t,
		     size_t least)
{
	size_t files = t->lost + t->work;
	AUTO(buf) struct buf question = {0};
	auto_free char *typed = NULL;
	unsigned long number;

	if (files < 2 && t->work < least)
		return true;
	if (t->lost)
		buf_printf(&question,
			   "%s without another copy would be deleted",
			   text_count(t->lost, "file"));
	if (t->work)
		buf_printf(&question, "%s%s would lose uncommitted work",
			   t->lost ? ", " : "", text_count(t->work, "file"));
	buf_printf(&question, ". Type %zu:", files);
	typed = screen_prompt(s, buf_text(&question), "");
	if (typed && parse_number(typed, files, &number) == 0 &&
	    number == files)
		return true;
	screen_say(s, "nothing changed: the number was not typed");
	return false;
}

static void answer_one(struct screen *s, enum review_answer answer)
{
	struct review_row *row = review_list_row(&s->list);
	struct review_targets targets;

	if (!row)
		return;
	if (answer == REVIEW_YES &&
	    review_is_refused(row->review, review_list_item(row)))
		say_refused(s, row);
	review_list_view(&s->list, true);
	if (s->in_text && review_list_item(row)->parts > 1) {
		review_list_answer_part(&s->list, screen_part(s), answer);
	} else {
		review_list_targets(&s->list, REVIEW_SCOPE_ITEM, answer,
				    &targets);
		if (answer != REVIEW_YES || may_take(s, &targets, 2))
			(void)review_list_answer(&s->list, &targets, answer);
		else
			answer = REVIEW_OPEN;
		review_list_targets_free(&targets);
	}
	if (answer != REVIEW_OPEN)
		go_on(s);
}

static void answer_many(struct screen *s, enum review_scope scope,
			enum review_answer answer)
{
	struct review_row *row = review_list_row(&s->list);
	AUTO(buf) struct buf apart = {0};
	struct review_targets targets;
	size_t n;

	if (!row)
		return;
	review_list_targets(&s->list, scope, answer, &targets);
	if (answer == REVIEW_YES && !may_take(s, &targets, 1)) {
		review_list_targets_free(&targets);
		return;
	}
	n = review_list_answer(&s->list, &targets, answer);
	if (targets.apart)
		buf_printf(&apart, ", %zu need%s an answer of %s own",
			   targets.apart, targets.apart == 1 ? "s" : "",
			   targets.apart == 1 ? "its" : "their");
	screen_say(s, "%s %s%s; U takes that back", text_count(n, "change"),
		   answer_word(answer), buf_text(&apart));
	review_list_targets_free(&targets);
	go_on(s);
}

static void answer_dir(struct screen *s, enum review_answer answer)
{
	bool in_text = s->in_text;

	if (!in_text) {
		answer_many(s, REVIEW_SCOPE_DIR, answer);
		return;
	}
	s->in_text = false;
	answer_one(s, answer);
	s->in_text = in_text;
}

static void answer_rest(struct screen *s)
{
	struct review_counts n;

	review_list_sum(&s->list, &n);
	if (n.open_first)
		screen_say(
			s, "not yet: decide first on %s, one by one",
			text_count(n.open_first, "deleted or dangerous file"));
	else
		answer_many(s, REVIEW_SCOPE_REST, REVIEW_YES);
}

static void undo_answer(struct screen *s)
{
	struct review_row *before = review_list_row(&s->list);

	if (!review_list_undo(&s->list))
		screen_say(s, "no answer to take back");
	else
		screen_say(s, "the last answer is taken back");
	if (before)
		leave_row(s, before);
	s->all_decided = false;
}

static void split(struct screen *s)
{
	size_t part = s->in_text ? screen_part(s) : 0;
	size_t n = review_list_split(&s->list, part);

	if (n < 2)
		screen_say(s, "this cannot be split%s",
			   s->in_text ? "" : ": Enter, then s on a hunk");
	else
		screen_say(s, "split into %zu", n);
	remake_text(s, part);
}

static void edit(struct screen *s)
{
	struct review_row *row = review_list_row(&s->list);
	struct review_item *item = row ? review_list_item(row) : NULL;
	size_t part = screen_part(s);
	struct err err;
	int got;

	if (!item || !review_hunk(item, part) ||
	    !review_entry(row->review, item)->now.mode) {
		screen_say(s, "only a hunk of a text can be edited");
		return;
	}
	screen_leave(s);
	got = review_edit(&item->hunks, part - item->rights, s->job->scratch_fd,
			  s->job->scratch, &err);
	screen_return(s);
	if (got < 0)
		screen_say(s, "%s", err.text);
	remake_text(s, part);
	if (got > 0) {
		review_list_edited(&s->list, part);
		screen_say(s, "edited and taken");
	}
}

static void mark_viewed(struct screen *s)
{
	struct review_row *row = review_list_row(&s->list);

	if (!row)
		return;
	review_list_view(&s->list, !review_list_item(row)->viewed);
	if (review_list_item(row)->viewed)
		select_row(s, s->list.at + 1);
}

/* --- search and filter --- */

static void search_again(struct screen *s, bool back)
{
	struct review_row *before = review_list_row(&s->list);
	size_t i;

	if (!before || !s->searched) {
		screen_say(s, "nothing to find yet: / asks");
		return;
	}
	if (!review_list_search(&s->list, &s->regex, back)) {
		screen_say(s, "no path and no changed line matches");
		return;
	}
	leave_row(s, before);
	screen_draw(s);
	for (i = 0; i < s->text.lines.count; i++) {
		const struct screen_line *line = &s->text.lines.items[i];
		AUTO(buf) struct buf text = {0};

		screen_text_row(&s->text, i, &text);
		if ((line->sign == '+' || line->sign == '-') &&
		    regexec(&s->regex, buf_text(&text), 0, NULL, 0) == 0) {
			s->line = i;
			break;
		}
	}
	screen_say(s, "> next match, < match before");
}

static void search(struct screen *s)
{
	const char *question = "Find (regular expression):";

	for (;;) {
		auto_free char *text = screen_prompt(s, question, "");

		if (!text)
			return;
		if (!*text) {
			search_again(s, false);
			return;
		}
		if (s->searched)
			regfree(&s->regex);
		s->searched =
			regcomp(&s->regex, text,
				REG_EXTENDED | REG_NOSUB | REG_NEWLINE) == 0;
		if (s->searched) {
			search_again(s, false);
			return;
		}
		question = "No regular expression; find:";
	}
}

static void filter(struct screen *s, const char *pattern, bool open_only)
{
	struct review_row *before = review_list_row(&s->list);

	review_list_filter(&s->list, pattern, open_only);
	if (before)
		leave_row(s, before);
	if (pattern || open_only)
		screen_say(s, "%zu of %s shown; %s shows all",
			   s->list.shown.count,
			   text_count(s->list.rows.count, "change"),
			   open_only ? "F" : "f, then Enter,");
}

static void ask_for_filter(struct screen *s)
{
	auto_free char *text =
		screen_prompt(s, "Only paths with (or a pattern with *):", "");

	if (text)
		filter(s, *text ? text : NULL, s->list.open_only);
}

/* --- keys --- */

static void focus(struct screen *s, bool in_text)
{
	const struct review_row *row = review_list_row(&s->list);
	size_t i;

	if (in_text == s->in_text || !row)
		return;
	s->in_text = in_text;
	/* The cursor begins at the first open hunk. */
	for (i = 0; in_text && !s->line && i < review_list_item(row)->parts;
	     i++)
		if (review_list_item(row)->answers[i] == REVIEW_OPEN) {
			s->line = screen_text_find_part(&s->text, i);
			break;
		}
}

static void handle_mouse(struct screen *s)
{
	int row, column;
	size_t at;

	screen_term_mouse(s->term, &row, &column);
	if (screen_row_at(s, row, column, &at)) {
		s->in_text = false;
		select_row(s, at);
	} else if (screen_line_at(s, row, column, &at)) {
		s->in_text = true;
		s->line = at;
	}
}

/* Moves and views. */
static bool handle_view_key(struct screen *s, int key)
{
	switch (key) {
	case 'j':
	case SCREEN_KEY_DOWN:
	case 'k':
	case SCREEN_KEY_UP:
		move(s, key == 'k' || key == SCREEN_KEY_UP);
		return true;
	case ' ':
	case SCREEN_KEY_PAGE_DOWN:
	case SCREEN_KEY_PAGE_UP:
		scroll_text(s, screen_text_rows(s) - 1,
			    key == SCREEN_KEY_PAGE_UP);
		return true;
	case 'g':
	case SCREEN_KEY_HOME:
	case 'G':
	case SCREEN_KEY_END:
		go_to_end(s, key == 'g' || key == SCREEN_KEY_HOME);
		return true;
	case '\n':
	case SCREEN_KEY_RIGHT:
		focus(s, true);
		return true;
	case '\t':
		focus(s, !s->in_text);
		return true;
	case SCREEN_KEY_ESCAPE:
	case SCREEN_KEY_LEFT:
		focus(s, false);
		return true;
	case ']':
		select_row(s, s->list.at + 1);
		return true;
	case '[':
		select_row(s, s->list.at ? s->list.at - 1 : 0);
		return true;
	case '}':
	case '{':
		move_hunk(s, key == '{');
		return true;
	case SCREEN_KEY_MOUSE:
		handle_mouse(s);
		return true;
	case SCREEN_KEY_WHEEL_UP:
	case SCREEN_KEY_WHEEL_DOWN:
		scroll_text(s, WHEEL_LINES, key == SCREEN_KEY_WHEEL_UP);
		return true;
	case SCREEN_KEY_RESIZE:
		return true;
	default:
		if (key < '1' || key > '8')
			return false;
		select_bucket(s, key - '0');
		return true;
	}
}

static bool handle_answer_key(struct screen *s, int key)
{
	bool verdict = s->verdict;

	/* It has been read, and the list needs the lines. */
	s->verdict = false;
	switch (key) {
	case 'y':
		answer_one(s, REVIEW_YES);
		return true;
	case 'n':
		answer_one(s, REVIEW_NO);
		return true;
	case 'u':
		answer_one(s, REVIEW_OPEN);
		return true;
	case 'Y':
		answer_dir(s, REVIEW_YES);
		return true;
	case 'N':
		answer_dir(s, REVIEW_NO);
		return true;
	case 'b':
		answer_many(s, REVIEW_SCOPE_BUCKET, REVIEW_YES);
		return true;
	case 'B':
		answer_many(s, REVIEW_SCOPE_BUCKET, REVIEW_NO);
		return true;
	case 'A':
		answer_rest(s);
		return true;
	case 'U':
		undo_answer(s);
		return true;
	case 's':
		split(s);
		return true;
	case 'e':
		edit(s);
		return true;
	case 'm':
		mark_viewed(s);
		return true;
	default:
		s->verdict = verdict;
		return false;
	}
}

static void handle_other_key(struct screen *s, int key)
{
	switch (key) {
	case '/':
		search(s);
		break;
	case '>':
	case '<':
		search_again(s, key == '<');
		break;
	case 'f':
		ask_for_filter(s);
		break;
	case 'F':
		filter(s, s->list.pattern, !s->list.open_only);
		break;
	case 'c':
		screen_conflict_show(s);
		break;
	case 'i':
		screen_show_versions(s);
		break;
	case '=':
		if (screen_answer_kind(s))
			go_on(s);
		break;
	case 't':
		screen_try(s);
		break;
	case 'w':
		s->words = !s->words;
		remake_text(s, screen_part(s));
		screen_say(s, "marks of changed words: %s",
			   s->words ? "on" : "off");
		break;
	case 'v':
		s->verdict = !s->verdict;
		break;
	case '?':
		screen_help(s);
		break;
	case 'L' & 0x1f:
		screen_term_leave(s->term);
		break;
	case 'Z' & 0x1f:
		screen_term_stop(s->term);
		break;
	default:
		screen_say(s, "no such key; ? lists the keys");
	}
}

/* Once: the review goes on without its record. */
static void warn_of_record(struct screen *s)
{
	struct err err;

	if (s->warned || decisions_failed(s->job->decisions, &err) == 0)
		return;
	s->warned = true;
	screen_say(s, "the answers are not kept: %s", err.text);
}

static enum screen_choice review_on_screen(struct screen *s)
{
	for (;;) {
		enum screen_choice choice;
		int key;

		warn_of_record(s);
		screen_draw(s);
		key = screen_term_key(s->term);
		if (key != SCREEN_KEY_RESIZE)
			screen_hush(s);
		if (key == 'q' || key == ('C' & 0x1f) ||
		    key == SCREEN_KEY_CLOSED)
			return SCREEN_KEEP;
		if (!handle_view_key(s, key) && !handle_answer_key(s, key) &&
		    key != 'C')
			handle_other_key(s, key);
		if (key != 'C' && !s->all_decided)
			continue;
		s->all_decided = false;
		choice = screen_finish(s);
		if (choice != SCREEN_NOT)
			return choice;
	}
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

int screen_open(struct screen *s, struct err *err)
{
	(void)fflush(stdout);
	if (screen_term_open(*output_style(STYLE_BOLD) != '\0', s->job->mouse,
			     &s->term, err) < 0)
		return -err->num;
	take_reports(s);
	return 0;
}

void screen_close(struct screen *s)
{
	report_sink_install();
	screen_term_free(&s->term);
	free(s->message);
}

enum screen_choice screen_run(const struct screen_job *job)
{
	struct screen s = {.job = job, .words = true, .verdict = true};
	enum screen_choice choice;
	struct err err;

	if (screen_open(&s, &err) < 0) {
		output_print("%s (using --plain)", err.text);
		return SCREEN_NOT;
	}
	review_list_make(&s.list, job->reviews, job->count, job->decisions);
	(void)review_list_select_open(&s.list);
	if (job->message)
		screen_say(&s, "%s", job->message);
	choice = review_on_screen(&s);
	screen_close(&s);
	if (s.searched)
		regfree(&s.regex);
	review_list_free(&s.list);
	screen_text_free(&s.text);
	free(s.test);
	return choice;
}
