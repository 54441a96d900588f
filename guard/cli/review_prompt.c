#include "guard/cli/review_prompt.h"

#include <ctype.h>
#include <regex.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/parse.h"
#include "base/text.h"
#include "guard/cli/output.h"
#include "guard/cli/review_edit.h"
#include "guard/cli/review_show.h"
#include "guard/review/view.h"
#include "guard/review/review_list.h"

/* Lines of a part that are shown unasked, at least. */
#define LINES_LEAST 60

/* The current part. review_open() opens each part that the cursor reaches. */
struct review_cursor {
	struct review *r; /* with at least one item */
	size_t item, part;
	bool show; /* newly come to: the part itself is to be shown */
};

struct prompt {
	struct review_cursor at;
	const struct review_prompt_options *o;
	bool warned; /* answers cannot be kept any more */
	size_t titled; /* the item whose title stands above, + 1 */
	bool finished;
};

/* --- the cursor --- */

/* An item that cannot be read is warned of, and has one part. */
static void review_cursor_open(struct review_cursor *at, size_t item)
{
	struct err err;

	if (review_open(at->r, &at->r->items[item], &err) < 0)
		output_warn("%s", err.text);
}

static void review_cursor_set(struct review_cursor *at, size_t item,
			      size_t part)
{
	at->item = item;
	at->part = part;
	at->show = true;
	review_cursor_open(at, item);
}

/* One part on or back; false at the end. */
static bool step_cursor(struct review_cursor *at, size_t *item, size_t *part,
			bool back)
{
	if (!back && *part + 1 < at->r->items[*item].parts) {
		++*part;
		return true;
	}
	if (back && *part) {
		--*part;
		return true;
	}
	if (back ? !*item : *item + 1 == at->r->count)
		return false;
	*item += back ? -(size_t)1 : 1;
	review_cursor_open(at, *item);
	*part = back ? at->r->items[*item].parts - 1 : 0;
	return true;
}

/* Goes to the next part, or the next that is open; false: there is none. */
static bool find_review_part(struct review_cursor *at, bool back,
			     bool open_only, size_t *item, size_t *part)
{
	*item = at->item;
	*part = at->part;
	while (step_cursor(at, item, part, back))
		if (!open_only || !at->r->items[*item].answers[*part])
			return true;
	return false;
}

static bool review_cursor_move(struct review_cursor *at, bool back,
			       bool open_only)
{
	size_t item, part;
	bool found = find_review_part(at, back, open_only, &item, &part);

	if (found)
		review_cursor_set(at, item, part);
	return found;
}

/* After an answer: moves to the next open part, else to the first skipped one.
 */
static bool review_cursor_next_open(struct review_cursor *at)
{
	size_t item, part;

	if (review_cursor_move(at, false, true))
		return true;
	for (item = 0; item < at->r->count; item++) {
		review_cursor_open(at, item);
		for (part = 0; part < at->r->items[item].parts; part++)
			if (!at->r->items[item].answers[part]) {
				review_cursor_set(at, item, part);
				return true;
			}
	}
	return false;
}

/* Goes to the next part that matches, once round; says so if none does. */
static void review_cursor_search(struct review_cursor *at, const char *text)
{
	size_t item = at->item, part = at->part;
	regex_t regex;
	bool found = false;
	int turns = 0;

	if (regcomp(&regex, text, REG_EXTENDED | REG_NOSUB | REG_NEWLINE)) {
		output_print("invalid regular expression: %s",
			     text_quote(text));
		return;
	}
	/* Once round, the present part last. */
	while (!found && turns < 2) {
		if (!step_cursor(at, &item, &part, false)) {
			item = part = 0;
			review_cursor_open(at, 0);
			turns++;
		}
		found = review_list_part_matches(at->r, &at->r->items[item],
						 part, &regex);
		if (turns && item == at->item && part == at->part)
			break;
	}
	regfree(&regex);
	if (found)
		review_cursor_set(at, item, part);
	else
		output_print("nothing matches %s", text_quote(text));
}

/* --- questions --- */

char *review_prompt_ask(const char *format, ...)
{
	auto_free char *line = NULL;
	size_t capacity = 0, len, at;
	va_list ap;

	(void)printf("%s", output_style(STYLE_BOLD));
	va_start(ap, format);
	(void)vprintf(format, ap);
	va_end(ap);
	(void)printf("%s ", output_style(STYLE_NONE));
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

static struct review_item *current_item(struct prompt *w)
{
	return &w->at.r->items[w->at.item];
}

/* --- lists and search --- */

static char decision_mark(const struct review_item *item)
{
	size_t yes = 0, no = 0, i;

	for (i = 0; i < item->parts; i++) {
		yes += item->answers[i] == REVIEW_YES;
		no += item->answers[i] == REVIEW_NO;
	}
	if (yes)
		return yes == item->parts ? '+' : '*';
	return no == item->parts ? '-' : ' ';
}

void review_prompt_list(struct review *r, bool all)
{
	size_t i;

	for (i = 0; i < r->count; i++) {
		char mark = decision_mark(&r->items[i]);
		AUTO(buf) struct buf line = {0};

		if (!all && mark != '+' && mark != '*')
			continue;
		review_show_line(r, &r->items[i], &line);
		styled_line(styled_out(), LINE_ROW, "%c%4zu  %s", mark, i + 1,
			    buf_text(&line));
	}
}

static void go_to_number(struct prompt *w, const char *rest)
{
	auto_free char *answer = NULL;
	unsigned long number;

	if (!*rest) {
		review_prompt_list(w->at.r, true);
		answer = review_prompt_ask("Go to which number?");
		rest = answer ? answer : "";
	}
	if (!*rest)
		return;
	if (parse_number(rest, w->at.r->count, &number) < 0 || !number)
		output_print("no such number: %s", text_quote(rest));
	else
		review_cursor_set(&w->at, number - 1, 0);
}

static void ask_for_search(struct prompt *w, const char *rest)
{
	auto_free char *answer = NULL;

	if (!*rest) {
		answer = review_prompt_ask("Search for regex?");
		rest = answer ? answer : "";
	}
	if (*rest)
		review_cursor_search(&w->at, rest);
}

/* Decides on the current part, or (rest) on it and all later ones of the item.
 */
static void answer(struct prompt *w, enum review_answer choice, bool rest)
{
	struct review_item *item = current_item(w);
	size_t part = w->at.part;

	if (choice == REVIEW_YES && review_is_refused(w->at.r, item))
		output_print(
			review_is_group(item)
				? "critical changes, set-id bits, capabilities "
				  "and nodes need a separate yes: skipped (s "
				  "splits the directory)"
				: "set-id bits, capabilities and nodes cannot "
				  "be applied here: skipped");
	decisions_begin(w->o->decisions);
	do
		decisions_answer(w->o->decisions, w->o->root, w->at.r, item,
				 part++, choice);
	while (rest && part < item->parts);
	decisions_end(w->o->decisions);
	w->finished = !review_cursor_next_open(&w->at);
}

/* Only parts that were shown, or that are neither deleted nor dangerous. Those
 * that lose uncommitted work or need a consent stay open. */
static void accept_open_parts(struct prompt *w)
{
	struct review_counts n = {0};
	size_t apart = 0, i, k;

	review_count(w->at.r, &n);
	if (n.open_first) {
		output_print(
			"not yet: decide first on %s, one by one",
			text_count(n.open_first, "deleted or dangerous file"));
		return;
	}
	decisions_begin(w->o->decisions);
	for (i = 0; i < w->at.r->count; i++) {
		struct review_item *item = &w->at.r->items[i];
		bool lost = review_needs_consent(w->at.r, item) ||
			    review_worst_loss(w->at.r, item) >= LOSS_WORK;

		review_cursor_open(&w->at, i);
		for (k = 0; k < item->parts; k++) {
			if (item->answers[k])
				continue;
			apart += lost;
			if (!lost)
				decisions_answer(w->o->decisions, w->o->root,
						 w->at.r, item, k, REVIEW_YES);
		}
	}
	decisions_end(w->o->decisions);
	if (apart)
		output_print("decided one by one (lost work, or a consent): %s",
			     text_count(apart, "change"));
	w->finished = !review_cursor_next_open(&w->at);
}

/* --- keys --- */

static const struct {
	char key;
	const char *text;
} keys[] = {
	{'y', "apply this"},
	{'n', "do not apply this"},
	{'q', "quit: do not apply the rest; asks for confirmation"},
	{'a', "apply this and all later hunks of the file"},
	{'d', "apply neither this nor any later hunk of the file"},
	{'j', "leave this open, go to the next open one"},
	{'J', "leave this open, go to the next one"},
	{'k', "leave this open, go to the previous open one"},
	{'K', "leave this open, go to the previous one"},
	{'g', "list all, and go to one by its number"},
	{'/', "go to the next one that matches a regular expression"},
	{'s', "split this into smaller parts"},
	{'e', "edit this hunk in your editor, and apply the result"},
	{'p', "print all of this again"},
	{'A', "apply all the rest, once all deletions and dangerous changes "
	      "are decided"},
	{'?', "this help"},
};

static bool is_key_of_use(struct prompt *w, char key)
{
	const struct review_item *item = current_item(w);
	size_t at, part;

	switch (key) {
	case 'a':
	case 'd':
		return item->parts > 1;
	case 'j':
	case 'J':
	case 'k':
	case 'K':
		return find_review_part(&w->at, key == 'k' || key == 'K',
					key == 'j' || key == 'k', &at, &part);
	case 'g':
		return w->at.r->count > 1;
	case 's':
		return review_can_split(w->at.r, item, w->at.part);
	case 'e':
		return review_hunk(item, w->at.part) &&
		       review_entry(w->at.r, item)->now.mode;
	default:
		return true;
	}
}

static void handle_key(struct prompt *w, char key, const char *rest)
{
	size_t before = current_item(w)->hunks.count, items = w->at.r->count;
	struct err err;
	int got;

	switch (key) {
	case 'y':
	case 'a':
		answer(w, REVIEW_YES, key == 'a');
		break;
	case 'n':
	case 'd':
		answer(w, REVIEW_NO, key == 'd');
		break;
	case 'j':
	case 'J':
	case 'k':
	case 'K':
		(void)review_cursor_move(&w->at, key == 'k' || key == 'K',
					 key == 'j' || key == 'k');
		break;
	case 'g':
		go_to_number(w, rest);
		break;
	case '/':
		ask_for_search(w, rest);
		break;
	case 's':
		decisions_split(w->o->decisions, w->o->root, w->at.r,
				w->at.item, w->at.part);
		if (w->at.r->count > items)
			output_print("split into %zu",
				     w->at.r->count - items + 1);
		else if (current_item(w)->hunks.count > before)
			output_print("split into %zu hunks",
				     current_item(w)->hunks.count - before + 1);
		w->titled = 0;
		review_cursor_set(&w->at, w->at.item, w->at.part);
		break;
	case 'e':
		got = review_edit(&current_item(w)->hunks,
				  w->at.part - current_item(w)->rights,
				  w->o->scratch_fd, w->o->scratch, &err);
		if (got < 0)
			output_warn("%s", err.text);
		w->at.show = true;
		if (got <= 0)
			break;
		decisions_edited(w->o->decisions, w->o->root, w->at.r,
				 current_item(w), w->at.part);
		answer(w, REVIEW_YES, false);
		break;
	case 'p':
		/* Not in the pager, which takes stdout over for good. */
		review_show_part(w->at.r, current_item(w), w->at.part, 0,
				 styled_out());
		break;
	case 'A':
		accept_open_parts(w);
		break;
	default:
		w->finished = true;
	}
}

static void ask_about_part(struct prompt *w)
{
	enum review_answer choice = current_item(w)->answers[w->at.part];
	auto_free char *line = NULL;
	AUTO(buf) struct buf usable = {0};
	const char *list;
	size_t i;

	for (i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (is_key_of_use(w, keys[i].key))
			buf_printf(&usable, "%s%c", i ? "," : "", keys[i].key);
	list = buf_text(&usable);
	line = review_prompt_ask(
		"(%zu/%zu) Apply %s%s [%s]?", w->at.part + 1,
		current_item(w)->parts,
		review_show_part_name(w->at.r, current_item(w), w->at.part),
		choice == REVIEW_YES  ? " (so far: yes)"
		: choice == REVIEW_NO ? " (so far: no)"
				      : "",
		list);
	if (!line)
		w->finished = true;
	else if (*line && strchr(list, *line) && !strchr("?,", *line) &&
		 (!line[1] || strchr("g/", *line)))
		handle_key(w, *line, line + 1 + strspn(line + 1, " "));
	else {
		for (i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
			AUTO(buf) struct buf text = {0};

			if (!strchr(list, keys[i].key))
				continue;
			(void)output_wrap(&text, keys[i].text, 4, 4,
					  output_width());
			(void)printf("%s%c%s - %s\n", output_style(STYLE_HUNK),
				     keys[i].key, output_style(STYLE_NONE),
				     buf_text(&text));
		}
		(void)printf(
			"No file changes before the end of the review. q and "
			"Ctrl-C keep the answers for the next review.\n");
	}
}

static void warn_of_lost_answers(struct prompt *w)
{
	struct err err;

	if (w->warned || decisions_failed(w->o->decisions, &err) == 0)
		return;
	w->warned = true;
	output_warn("%s: a later review will not have these answers", err.text);
}

void review_prompt(struct review *r, const struct review_prompt_options *o)
{
	struct prompt w = {.at.r = r, .o = o};
	struct winsize size;
	size_t most;

	if (!r->count)
		return;
	review_cursor_set(&w.at, 0, 0);
	if (o->open_only && r->items[0].answers[0])
		w.finished = !review_cursor_next_open(&w.at);
	while (!w.finished && !output_has_failed()) {
		if (w.titled != w.at.item + 1)
			review_show_title(r, w.at.item, styled_out());
		w.titled = w.at.item + 1;
		most = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 ||
				       size.ws_row * 2 < LINES_LEAST
			       ? LINES_LEAST
			       : size.ws_row * 2;
		if (w.at.show)
			review_show_part(r, current_item(&w), w.at.part, most,
					 styled_out());
		w.at.show = false;
		ask_about_part(&w);
		warn_of_lost_answers(&w);
	}
}
