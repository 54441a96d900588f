#include "guard/cli/review_prompt.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/parse.h"
#include "base/text.h"
#include "guard/cli/output.h"
#include "guard/cli/review_show.h"
#include "guard/cli/styled.h"

/* Lines of a part that are shown unasked, at least. */
#define LINES_LEAST 60

/* --- questions --- */

/* A line from the user: its text without blanks around, to free; NULL at the
 * end of input. */
static char *ask_line(const char *question)
{
	auto_free char *line = NULL;
	size_t capacity = 0, len, at;

	styled_line(styled_out(), LINE_QUESTION, BOLD "%s" PLAIN, question);
	(void)fflush(stdout);
	if (getline(&line, &capacity, stdin) < 0) {
		(void)putchar('\n');
		clearerr(stdin);
		return NULL;
	}
	len = strlen(line);
	while (len && isspace((unsigned char)line[len - 1]))
		len--;
	at = strspn(line, " \t");
	return mem_strndup(line + at, len > at ? len - at : 0);
}

static void say_line(struct review_ui *u, const char *text)
{
	(void)u;
	output_print("%s", text);
}

static char *ask_with_text(struct review_ui *u, const char *question,
			   const char *begin)
{
	(void)u;
	(void)begin;
	return ask_line(question);
}

static void do_nothing(struct review_ui *u)
{
	(void)u;
}

void review_prompt_begin(struct review_ui *u, unsigned int place)
{
	static const struct review_terminal calls = {
		.say = say_line,
		.ask = ask_with_text,
		.leave = do_nothing,
		.enter = do_nothing,
	};

	u->terminal = &calls;
	u->place = place;
	u->typed = "";
	u->in_text = true;
	u->done = u->all_decided = false;
}

void review_prompt_help(struct review_ui *u, int key)
{
	AUTO(buf) struct buf text = {0};

	(void)key;
	review_ui_key_help(u, u->place, true, output_width(), &text);
	(void)printf("%s", buf_text(&text));
	if (u->place == UI_LINE)
		(void)printf("No file changes before the end of the review. q "
			     "and Ctrl-C keep the answers for the next "
			     "review.\n");
}

bool review_prompt_key(struct review_ui *u, const char *format, ...)
{
	auto_free char *question = NULL, *line = NULL;
	const struct review_key *k = NULL;
	AUTO(buf) struct buf letters = {0}, asked = {0};
	va_list ap;

	va_start(ap, format);
	question = mem_vprintf(format, ap);
	va_end(ap);
	review_ui_key_letters(u, &letters);
	buf_printf(&asked, "%s [%s]?", question, buf_text(&letters));
	line = ask_line(buf_text(&asked));
	if (!line)
		return false;
	if (*line && (!line[1] || strchr("g/", *line)))
		k = review_ui_find_key(u, *line);
	if (k && (!k->can || k->can(u, *line))) {
		u->typed = line + 1 + strspn(line + 1, " ");
		k->act(u, *line);
		u->typed = "";
	} else {
		review_prompt_help(u, '?');
	}
	return true;
}

/* --- text --- */

static char decision_mark(const struct review_item *item)
{
	struct review_tally n = review_tally(item);

	if (n.yes)
		return n.yes == item->parts ? '+' : '*';
	return n.no == item->parts ? '-' : ' ';
}

void review_prompt_list(struct review_ui *u, int key)
{
	const struct review_list *l = &u->list;
	size_t i;

	(void)key;
	for (i = 0; i < l->shown.count; i++) {
		const struct review_row *row =
			&l->rows.items[l->shown.items[i]];
		struct review_item *item = review_list_item(row);
		AUTO(buf) struct buf line = {0};

		review_show_line(row->review, item, &line);
		styled_line(styled_out(), LINE_ROW, "%c%4zu  %s",
			    decision_mark(item), i + 1, buf_text(&line));
	}
}

void review_prompt_go(struct review_ui *u, int key)
{
	const struct review_row *before = review_ui_row(u);
	auto_free char *answer = NULL;
	const char *typed = u->typed;
	unsigned long number;

	(void)key;
	if (!*typed) {
		review_prompt_list(u, 'l');
		answer = ask_line("Go to which number?");
		typed = answer ?: "";
	}
	if (!*typed)
		return;
	if (parse_number(typed, u->list.shown.count, &number) < 0 || !number) {
		output_print("no such number: %s", text_quote(typed));
		return;
	}
	review_list_select(&u->list, number - 1);
	review_ui_moved(u, before);
	u->stale = true;
}

void review_prompt_print(struct review_ui *u, int key)
{
	(void)key;
	/* Not in the pager, which takes stdout over for good. */
	(void)review_show_part(review_ui_row(u)->review, review_ui_item(u),
			       u->list.part, 0, styled_out());
}

/* The title of an item stands above its first part that is shown. */
static void show_part(struct review_ui *u, const struct review_item *titled)
{
	const struct review_row *row = review_ui_row(u);
	struct review_item *item = review_ui_item(u);
	struct winsize size;
	size_t most = LINES_LEAST, more;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 &&
	    size.ws_row * 2 > LINES_LEAST)
		most = size.ws_row * 2;
	if (item != titled || u->stale)
		review_show_title(row->review, item, u->list.at + 1,
				  u->list.shown.count, styled_out());
	more = review_show_part(row->review, item, u->list.part, most,
				styled_out());
	if (more)
		styled_line(styled_out(), LINE_PLAIN,
			    BOLD "... %s not shown: p prints them all" PLAIN,
			    text_count(more, "line"));
}

static bool ask_about_part(struct review_ui *u)
{
	const struct review_item *item = review_ui_item(u);
	enum review_answer answer = item->answers[u->list.part];

	return review_prompt_key(u, "(%zu/%zu) Apply %s%s", u->list.part + 1,
				 item->parts,
				 review_show_part_name(review_ui_row(u)->review,
						       item, u->list.part),
				 answer == REVIEW_YES  ? " (so far: yes)"
				 : answer == REVIEW_NO ? " (so far: no)"
						       : "");
}

void review_prompt(struct review_ui *u, bool open_only)
{
	const struct review_item *item = NULL;
	size_t part = 0;
	struct err err;

	review_prompt_begin(u, UI_LINE);
	review_list_order(&u->list, true);
	if (open_only && review_ui_item(u)->answers[0] != REVIEW_OPEN)
		u->all_decided = !review_list_select_open(&u->list, true);
	u->stale = true;
	while (!u->done && !u->all_decided && !output_has_failed()) {
		struct review_row *row = review_ui_row(u);

		if (review_open(row->review, review_list_item(row), &err) < 0)
			output_warn("%s", err.text);
		if (item != review_ui_item(u) || part != u->list.part ||
		    u->stale)
			show_part(u, item);
		item = review_ui_item(u);
		part = u->list.part;
		u->stale = false;
		if (!ask_about_part(u))
			u->done = true;
		review_ui_check_record(u);
	}
}
