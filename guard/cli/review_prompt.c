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
#include "guard/cli/review_edit.h"
#include "guard/cli/review_cursor.h"
#include "guard/cli/review_show.h"

/* Lines of a part that are shown unasked, at least. */
#define LINES_LEAST 60

struct prompt {
	struct review_cursor at;
	int scratch_fd;
	const char *scratch;
	size_t titled; /* the item whose title stands above, + 1 */
	bool finished;
};

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

static size_t screen_lines(void)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 ||
	    size.ws_row * 2 < LINES_LEAST)
		return LINES_LEAST;
	return size.ws_row * 2;
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
		(void)printf("%c%4zu  %s\n", mark, i + 1, buf_text(&line));
	}
}

static void go_to_number(struct prompt *w, const char *rest)
{
	auto_free char *answer = NULL;
	unsigned long number;

	if (!*rest) {
		review_prompt_list(w->at.r, true);
		answer = review_prompt_ask("Go to which?");
		rest = answer ? answer : "";
	}
	if (!*rest)
		return;
	if (parse_number(rest, w->at.r->count, &number) < 0 || !number)
		output_print("there is no number %s", text_quote(rest));
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

/* --- answers --- */

static void answer(struct prompt *w, enum review_answer choice, bool rest)
{
	if (choice == REVIEW_YES && review_is_refused(w->at.r, current_item(w)))
		output_print(
			review_is_group(current_item(w))
				? "set-id bits, capabilities and nodes need "
				  "a yes of their own: it is left out (s "
				  "parts the folder from it)"
				: "guard applies no such thing: it is left "
				  "out");
	if (rest)
		review_answer_item(w->at.r, current_item(w), w->at.part,
				   choice);
	else
		review_answer_part(w->at.r, current_item(w), w->at.part,
				   choice);
	w->finished = !review_cursor_next_open(&w->at);
}

/* Only parts that were shown, or that are neither deleted nor dangerous. */
static void accept_open_parts(struct prompt *w)
{
	struct review_counts n;
	size_t i, k;

	review_count(w->at.r, &n);
	if (n.open_first) {
		output_print("no: %s or dangerous things come first and are "
			     "decided on one by one",
			     text_count(n.open_first, "deletion"));
		return;
	}
	for (i = 0; i < w->at.r->count; i++) {
		review_cursor_open(&w->at, i);
		for (k = 0; k < w->at.r->items[i].parts; k++)
			if (!review_part(&w->at.r->items[i], k))
				review_answer_part(w->at.r, &w->at.r->items[i],
						   k, REVIEW_YES);
	}
	w->finished = true;
}

static bool can_edit(struct prompt *w)
{
	return review_hunk(current_item(w), w->at.part) &&
	       review_entry(w->at.r, current_item(w))->now.mode;
}

static void edit_hunk(struct prompt *w)
{
	size_t at = w->at.part - current_item(w)->rights;
	struct err err;
	int got = review_edit(&current_item(w)->hunks, at, w->scratch_fd,
			      w->scratch, &err);

	if (got < 0)
		output_warn("%s", err.text);
	if (got > 0)
		answer(w, REVIEW_YES, false);
	else
		w->at.show = true;
}

static void split_part(struct prompt *w)
{
	size_t before = current_item(w)->hunks.count, items = w->at.r->count;

	review_split(w->at.r, w->at.item, w->at.part);
	if (w->at.r->count > items)
		output_print("parted into %zu", w->at.r->count - items + 1);
	else if (current_item(w)->hunks.count > before)
		output_print("parted into %zu hunks",
			     current_item(w)->hunks.count - before + 1);
	w->titled = 0;
	review_cursor_set(&w->at, w->at.item, w->at.part);
}

static void print_complete_part(struct prompt *w)
{
	/* The pager takes stdout over for good, so it gets a process. */
	review_show_part(w->at.r, current_item(w), w->at.part, 0);
}

/* --- keys --- */

/* "y,n,q,..." */
static void list_keys(struct prompt *w, struct buf *to)
{
	const struct {
		char key;
		bool use;
	} all[] = {
		{'y', true},
		{'n', true},
		{'q', true},
		{'a', current_item(w)->parts > 1},
		{'d', current_item(w)->parts > 1},
		{'j', review_cursor_has_more(&w->at, false, true)},
		{'J', review_cursor_has_more(&w->at, false, false)},
		{'k', review_cursor_has_more(&w->at, true, true)},
		{'K', review_cursor_has_more(&w->at, true, false)},
		{'g', w->at.r->count > 1},
		{'/', true},
		{'s', review_can_split(w->at.r, current_item(w), w->at.part)},
		{'e', can_edit(w)},
		{'p', true},
		{'A', true},
		{'?', true},
	};
	size_t i;

	for (i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (all[i].use)
			buf_printf(to, "%s%c", to->len ? "," : "", all[i].key);
}

static void print_key_help(const char *keys)
{
	static const struct {
		char key;
		const char *text;
	} texts[] = {
		{'y', "apply this"},
		{'n', "do not apply this"},
		{'q', "enough: what is left is not applied; then you are "
		      "asked once more"},
		{'a', "apply this and all later hunks of the file"},
		{'d', "apply neither this nor any later hunk of the file"},
		{'j', "leave this open, go to the next open one"},
		{'J', "leave this open, go to the next one"},
		{'k', "leave this open, go to the last open one before it"},
		{'K', "leave this open, go to the one before it"},
		{'g', "list all, and go to one by its number"},
		{'/', "go to the next one that matches a regular expression"},
		{'s', "split this into smaller parts"},
		{'e', "edit this hunk in your editor, and apply that"},
		{'p', "print this again, all of it"},
		{'A', "apply all that is left, once everything deleted and "
		      "dangerous is decided on"},
		{'?', "this help"},
	};
	size_t i;

	for (i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		AUTO(buf) struct buf text = {0};

		if (!strchr(keys, texts[i].key))
			continue;
		(void)text_wrap(&text, texts[i].text, 4, 4, output_width());
		(void)printf("%s%c%s - %s\n", output_style(STYLE_HUNK),
			     texts[i].key, output_style(STYLE_NONE),
			     buf_text(&text));
	}
	(void)printf("Nothing is written before the end of the review.\n");
}

static void handle_key(struct prompt *w, char key, const char *rest)
{
	switch (key) {
	case 'y':
		answer(w, REVIEW_YES, false);
		break;
	case 'n':
		answer(w, REVIEW_NO, false);
		break;
	case 'a':
		answer(w, REVIEW_YES, true);
		break;
	case 'd':
		answer(w, REVIEW_NO, true);
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
		split_part(w);
		break;
	case 'e':
		edit_hunk(w);
		break;
	case 'p':
		print_complete_part(w);
		break;
	case 'A':
		accept_open_parts(w);
		break;
	default:
		w->finished = true;
	}
}

static void show_current_part(struct prompt *w)
{
	if (w->titled != w->at.item + 1)
		review_show_title(w->at.r, w->at.item);
	w->titled = w->at.item + 1;
	if (w->at.show)
		review_show_part(w->at.r, current_item(w), w->at.part,
				 screen_lines());
	w->at.show = false;
}

static void ask_about_part(struct prompt *w)
{
	enum review_answer choice = review_part(current_item(w), w->at.part);
	auto_free char *line = NULL;
	AUTO(buf) struct buf list = {0};
	const char *keys;

	list_keys(w, &list);
	keys = buf_text(&list);
	line = review_prompt_ask(
		"(%zu/%zu) Apply %s%s [%s]?", w->at.part + 1,
		current_item(w)->parts,
		review_show_part_name(w->at.r, current_item(w), w->at.part),
		choice == REVIEW_YES  ? " (so far: yes)"
		: choice == REVIEW_NO ? " (so far: no)"
				      : "",
		keys);
	if (!line) {
		w->finished = true;
		return;
	}
	if (*line && strchr(keys, *line) && !strchr("?,", *line) &&
	    (!line[1] || strchr("g/", *line)))
		handle_key(w, *line, line + 1 + strspn(line + 1, " "));
	else
		print_key_help(keys);
}

void review_prompt(struct review *r, int scratch_fd, const char *scratch)
{
	struct prompt w = {
		.at.r = r,
		.scratch_fd = scratch_fd,
		.scratch = scratch,
	};

	if (!r->count)
		return;
	review_cursor_set(&w.at, 0, 0);
	while (!w.finished && !output_has_failed()) {
		show_current_part(&w);
		ask_about_part(&w);
	}
}
