/* Pages of the full screen besides list and text: help, menu, prompts. */
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/text.h"
#include "guard/cli/output.h"
#include "guard/cli/screen_private.h"

#define PROMPT_MAX 1000

int screen_page_key(struct screen *s, const char *title,
		    const struct screen_text *page, size_t *top,
		    const char *bar, bool letters)
{
	size_t rows;
	int key;

	for (;;) {
		screen_draw_page(s, title, page, top, bar);
		key = screen_term_key(s->term);
		if (!letters && (key == 'j' || key == 'k'))
			return key;
		rows = s->rows > 4 ? (size_t)s->rows - 4 : 1;
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
			screen_term_stop(s->term);
			break;
		case SCREEN_KEY_MOUSE:
			break;
		default:
			return key;
		}
	}
}

int screen_page(struct screen *s, const char *title,
		const struct screen_text *page, const char *bar)
{
	size_t top = 0;
	int key;

	do
		key = screen_page_key(s, title, page, &top, bar, true);
	while (key == SCREEN_KEY_RESIZE);
	return key;
}

/* --- help --- */

static const char help[] =
	"You decide here which changes of the run go into your project. "
	"Nothing\n"
	"is written before you choose so in the menu of C, and an apply can "
	"be\n"
	"undone by guard undo. What is left open or is answered by n is not\n"
	"applied. No key deletes anything.\n"
	"\n"
	"Answers\n"
	"  y  take this change       n  leave it        u  open again\n"
	"     in the list the whole file, in the text (Enter) one hunk\n"
	"  Y N  all open changes in the same directory; in the text the file\n"
	"  b B  all open changes of this bucket (Deleted, Modified...)\n"
	"  A  take all open changes but those with !!, once deletions and\n"
	"     risks are decided; critical ones always need a y of their own\n"
	"  U  take the last answer back\n"
	"  =  the hunks that are alike up to names and numbers, all at once:\n"
	"     in the list those like the first open hunk of the file\n"
	"  s  split a hunk, or a directory into its files\n"
	"  e  edit the hunk in your editor and take the result\n"
	"\n"
	"Moves\n"
	"  j k arrows  row or line   Enter Tab  into the text   Esc  back\n"
	"  space, PgUp PgDn  page of the text     g G  first, last\n"
	"  [ ]  file before, next    { }  hunk before, next\n"
	"  1-8  first change of a bucket, in the order of the top line\n"
	"\n"
	"Views\n"
	"  /  find in paths and changed lines; then > next, < previous\n"
	"  f  only paths with a text in them; F  only open changes\n"
	"  w  marks of changed words on and off\n"
	"  i  stored versions of the path\n"
	"  t  run a command in a throw-away copy of the run\n"
	"  m  mark as seen           v  the verdict, above the list\n"
	"\n"
	"Conflicts: your changes since the run began are merged where that is\n"
	"clear; elsewhere an apply first shows the three sides, and asks.\n"
	"  c  the same now, for the rows with the word conflict\n"
	"\n"
	"End\n"
	"  C  menu: apply, apply and discard the rest, commit, patch, report,\n"
	"     keep, discard\n"
	"  q  keep the run, and quit\n"
	"\n"
	"Signs in the list: y taken, n left, * in part, v seen; D deleted,\n"
	"M modified, A added, R moved, T another type, P permissions;\n"
	"!! critical, ! executed later or dangerous. In the text : stands\n"
	"before the rest of a long line.\n";

void screen_help(struct screen *s)
{
	struct screen_text page = {0};

	screen_text_add(&page, ' ', help, strlen(help),
			(size_t)(s->columns > 8 ? s->columns - 4 : 4));
	(void)screen_page(s, " Help", &page,
			  " j k space scroll   any other key: back");
	screen_text_free(&page);
}

/* --- prompt --- */

/* Removes the last character. */
static void remove_last(struct buf *b)
{
	while (b->len && (b->data[--b->len] & 0xc0) == 0x80)
		;
}

char *screen_prompt(struct screen *s, const char *question, const char *begin)
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
		screen_say(s, "%s", buf_text(&shown));
		s->asks = true;
		screen_draw(s);
		s->asks = false;
		key = screen_term_key(s->term);
		if (key == '\n')
			break;
		if (key == SCREEN_KEY_ESCAPE || key == ('C' & 0x1f) ||
		    key == SCREEN_KEY_CLOSED) {
			screen_hush(s);
			return NULL;
		}
		if (key == '\b')
			remove_last(&text);
		else if (key == ('U' & 0x1f))
			buf_clear(&text);
		else if (key >= ' ' && key < 0x110000 && text.len < PROMPT_MAX)
			text_encode(&text, (uint32_t)key);
	}
	screen_hush(s);
	return mem_strdup(buf_text(&text));
}

/* --- the menu at the end --- */

static void add_menu_line(struct buf *b, bool possible, const char *key,
			  const char *text)
{
	buf_printf(b, "  %s  %s\n", possible ? key : "-", text);
}

#define CONSENTS_SHOWN 3

/* The critical changes that are taken: the yes to each was its consent. */
static void write_consents(const struct screen *s, struct buf *b)
{
	AUTO(mem_list) char **paths = NULL;
	size_t count = 0, i;

	for (i = 0; i < s->job->count; i++)
		review_list_agreed(s->job->reviews[i], &paths);
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

static void write_menu(const struct screen *s, const struct review_counts *n,
		       struct buf *b)
{
	const struct screen_job *job = s->job;
	size_t taken = n->yes + n->partly;
	AUTO(buf) struct buf line = {0};
	bool all = n->yes == n->items;

	buf_printf(b, "%zu taken", taken);
	if (n->partly)
		buf_printf(b, " (%zu in part)", n->partly);
	buf_printf(b, ", %zu left, %zu open%s\n", n->no, n->open,
		   n->open ? " (open changes are not applied)" : "");
	write_consents(s, b);
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
static bool is_discard_typed(struct screen *s)
{
	const char *wanted = "discard";
	size_t len = 1;
	int key;

	for (;;) {
		screen_say(s, "Discard the run? Type the word: %.*s_", (int)len,
			   wanted);
		s->asks = true;
		screen_draw(s);
		s->asks = false;
		if (!wanted[len]) {
			screen_hush(s);
			return true;
		}
		key = screen_term_key(s->term);
		if (key == SCREEN_KEY_RESIZE)
			continue;
		if (key != wanted[len]) {
			screen_say(s, "not discarded");
			return false;
		}
		len++;
	}
}

static void write_html(struct screen *s)
{
	auto_free char *file =
		screen_prompt(s, "Write the HTML report to:", s->job->html);
	struct err err;
	int got;

	if (!file || !*file)
		return;
	screen_leave(s);
	got = s->job->write_html(s->job->arg, file, &err);
	screen_return(s);
	if (got < 0)
		screen_say(s, "%s", err.text);
	else
		screen_say(s, "the report is in %s", text_quote(file));
}

/* The menu until a key; only keys that are possible are in the bar. */
static int ask_how_to_finish(struct screen *s, const struct review_counts *n,
			     bool taken, bool rest, bool commits)
{
	struct screen_text page = {0};
	AUTO(buf) struct buf b = {0}, bar = {0};
	size_t top = 0;
	int key;

	write_menu(s, n, &b);
	buf_printf(&bar, "%s%s%s%s h HTML  k keep %s Esc back",
		   taken ? " a apply " : "", rest ? " r rest " : "",
		   commits ? " c commits " : "",
		   taken ? " b branch  p patch " : "",
		   s->job->running ? "" : " d discard ");
	screen_text_add(&page, ' ', buf_text(&b), b.len,
			(size_t)(s->columns > 8 ? s->columns - 4 : 4));
	do
		key = screen_page_key(s, " Finish", &page, &top, buf_text(&bar),
				      false);
	while (key == SCREEN_KEY_RESIZE);
	screen_text_free(&page);
	return key;
}

static void ask_to_discard_rest(struct screen *s, const struct review_counts *n)
{
	size_t rest = n->no + n->open;
	AUTO(buf) struct buf b = {0};

	if (rest)
		buf_add_text(&b, text_count(rest, "change"));
	if (n->partly)
		buf_printf(&b, "%sthe rest of %s", rest ? " and " : "",
			   text_count(n->partly, "change"));
	screen_say(s, "r again applies, and discards %s%s", buf_text(&b),
		   n->open ? " (some are open)" : "");
}

enum screen_choice screen_finish(struct screen *s)
{
	bool asked = false;

	for (;;) {
		struct review_counts n;
		bool taken, rest, commits;
		int key;

		review_list_sum(&s->list, &n);
		taken = n.yes + n.partly > 0;
		commits = s->job->commits_to && n.yes == n.items;
		rest = taken && n.yes < n.items && !s->job->running &&
		       !s->job->part;
		key = ask_how_to_finish(s, &n, taken, rest, commits);
		screen_hush(s);
		if (key == 'r' && rest && asked)
			return SCREEN_APPLY_DISCARD;
		asked = key == 'r' && rest;
		if (asked)
			ask_to_discard_rest(s, &n);
		if (key == 'a' && taken)
			return SCREEN_APPLY;
		if (key == 'c' && commits)
			return SCREEN_COMMITS;
		if (key == 'h')
			write_html(s);
		if (key == 'b' && taken)
			return SCREEN_BRANCH;
		if (key == 'p' && taken)
			return SCREEN_PATCH;
		if (key == 'k' || key == SCREEN_KEY_CLOSED)
			return SCREEN_KEEP;
		if (key == 'd' && !s->job->running && is_discard_typed(s))
			return SCREEN_DISCARD;
		if (key == SCREEN_KEY_ESCAPE || key == 'q' ||
		    key == ('C' & 0x1f))
			return SCREEN_NOT;
	}
}
