/*
 * All keys of a review, and the acts of those that the full screen and the line
 * prompts share. A new key is a row here with its act, and a line in
 * docs/guard.1.in.
 */
#include <string.h>

#include "base/auto.h"
#include "base/parse.h"
#include "base/text.h"
#include "guard/cli/conflict_view.h"
#include "guard/cli/kinds_prompt.h"
#include "guard/cli/review_edit.h"
#include "guard/cli/review_prompt.h"
#include "guard/cli/screen_private.h"

/* --- answers --- */

static enum review_answer answer_of(int key)
{
	if (strchr("yYbaA", key))
		return REVIEW_YES;
	return strchr("nNBd", key) ? REVIEW_NO : REVIEW_OPEN;
}

static void say_refused(struct review_ui *u)
{
	review_ui_say(
		u, review_is_group(review_ui_item(u))
			   ? "critical changes and set-id bits need a yes of "
			     "their own: left (s splits the directory)"
			   : "set-id bits and capabilities cannot be applied "
			     "here: left");
}

/* Only copies and uncommitted work are given up only when the number of these
 * files is typed. A single only copy needs no number, nor do fewer than `least`
 * files that lose work, nor a change that a line prompt has shown in full. */
static bool may_take(struct review_ui *u, const struct review_targets *t,
		     size_t least)
{
	size_t files = t->lost + t->work;
	AUTO(buf) struct buf question = {0};
	auto_free char *typed = NULL;
	unsigned long number;

	if (u->place == UI_LINE || (files < 2 && t->work < least))
		return true;
	if (t->lost)
		buf_printf(&question,
			   "%s without another copy would be deleted",
			   text_count(t->lost, "file"));
	if (t->work)
		buf_printf(&question, "%s%s would lose uncommitted work",
			   t->lost ? ", " : "", text_count(t->work, "file"));
	buf_printf(&question, ". Type %zu:", files);
	typed = u->terminal->ask(u, buf_text(&question), "");
	if (typed && parse_number(typed, files, &number) == 0 &&
	    number == files)
		return true;
	review_ui_say(u, "nothing changed: the number was not typed");
	return false;
}

static void answer_row(struct review_ui *u, int key)
{
	enum review_answer answer = answer_of(key);
	struct review_targets targets;

	review_list_targets(&u->list, REVIEW_SCOPE_ITEM, answer, &targets);
	if (answer != REVIEW_YES || may_take(u, &targets, 2))
		(void)review_list_answer(&u->list, &targets, answer);
	else
		answer = REVIEW_OPEN;
	review_list_targets_free(&targets);
	if (answer != REVIEW_OPEN)
		review_ui_go_on(u);
}

/* The row, or the part under the cursor; a and d: and those behind it. */
static void answer_one(struct review_ui *u, int key)
{
	struct review_row *row = review_ui_row(u);
	enum review_answer answer = answer_of(key);

	if (!row)
		return;
	if (answer == REVIEW_YES &&
	    review_is_refused(row->review, review_list_item(row)))
		say_refused(u);
	review_list_view(&u->list, true);
	if (!u->in_text || review_list_item(row)->parts == 1) {
		answer_row(u, key);
		return;
	}
	review_list_answer_part(&u->list, key == 'a' || key == 'd', answer);
	if (answer != REVIEW_OPEN)
		review_ui_go_on(u);
}

/* In the text: all parts of the row. */
static void answer_file(struct review_ui *u, int key)
{
	u->in_text = false;
	answer_one(u, key);
	u->in_text = true;
}

static void answer_many(struct review_ui *u, enum review_scope scope,
			enum review_answer answer)
{
	static const char *const words[] = {
		[REVIEW_OPEN] = "open",
		[REVIEW_YES] = "taken",
		[REVIEW_NO] = "left",
	};
	AUTO(buf) struct buf apart = {0};
	struct review_targets targets;
	size_t n;

	review_list_targets(&u->list, scope, answer, &targets);
	if (review_ui_row(u) &&
	    (answer != REVIEW_YES || may_take(u, &targets, 1))) {
		n = review_list_answer(&u->list, &targets, answer);
		if (targets.apart)
			buf_printf(&apart, ", %zu need%s an answer of %s own",
				   targets.apart, targets.apart == 1 ? "s" : "",
				   targets.apart == 1 ? "its" : "their");
		review_ui_say(u, "%s %s%s; U takes that back",
			      text_count(n, "change"), words[answer],
			      buf_text(&apart));
		review_ui_go_on(u);
	}
	review_list_targets_free(&targets);
}

static void answer_dir(struct review_ui *u, int key)
{
	answer_many(u, REVIEW_SCOPE_DIR, answer_of(key));
}

static void answer_bucket(struct review_ui *u, int key)
{
	answer_many(u, REVIEW_SCOPE_BUCKET, answer_of(key));
}

static void answer_rest(struct review_ui *u, int key)
{
	struct review_counts n;

	review_list_sum(&u->list, &n);
	if (n.open_first)
		review_ui_say(
			u, "not yet: decide first on %s, one by one",
			text_count(n.open_first, "deleted or dangerous file"));
	else
		answer_many(u, REVIEW_SCOPE_REST, answer_of(key));
}

static void undo_answer(struct review_ui *u, int key)
{
	struct review_row *before = review_ui_row(u);

	(void)key;
	review_ui_say(u, review_list_undo(&u->list)
				 ? "the last answer is taken back"
				 : "no answer to take back");
	review_ui_moved(u, before);
	u->all_decided = false;
}

static bool can_split(struct review_ui *u, int key)
{
	const struct review_row *row = review_ui_row(u);

	(void)key;
	return u->place != UI_LINE ||
	       review_can_split(row->review, review_list_item(row),
				u->list.part);
}

static void split(struct review_ui *u, int key)
{
	size_t n;
	bool hunks;

	(void)key;
	if (!u->in_text)
		u->list.part = 0;
	n = review_list_split(&u->list);
	hunks = n > 1 && review_hunk(review_ui_item(u), u->list.part);
	if (n < 2)
		review_ui_say(u, "this cannot be split%s",
			      u->in_text ? "" : ": Enter, then s on a hunk");
	else
		review_ui_say(u, "split into %zu%s", n, hunks ? " hunks" : "");
	u->stale = true;
}

static bool is_editable(const struct review_ui *u)
{
	const struct review_row *row = review_ui_row(u);

	return row && review_hunk(review_list_item(row), u->list.part) &&
	       review_entry(row->review, review_list_item(row))->now.mode;
}

static bool can_edit(struct review_ui *u, int key)
{
	(void)key;
	return u->place != UI_LINE || is_editable(u);
}

static void edit(struct review_ui *u, int key)
{
	struct review_item *item = review_ui_item(u);
	struct err err;
	int got;

	(void)key;
	if (!is_editable(u)) {
		review_ui_say(u, "only a hunk of a text can be edited");
		return;
	}
	u->terminal->leave(u);
	got = review_edit(&item->hunks, u->list.part - item->rights,
			  u->scratch_fd, u->scratch, &err);
	u->terminal->enter(u);
	u->stale = true;
	if (got < 0)
		review_ui_say(u, "%s", err.text);
	if (got <= 0)
		return;
	review_list_edited(&u->list);
	review_ui_say(u, "edited and taken");
	if (u->place == UI_LINE)
		review_ui_go_on(u);
}

static void mark_viewed(struct review_ui *u, int key)
{
	struct review_item *item = review_ui_item(u);

	(void)key;
	if (!item)
		return;
	review_list_view(&u->list, !item->viewed);
	if (item->viewed)
		screen_select_row(u, u->list.at + 1);
}

/* --- search and filter --- */

static void search_again(struct review_ui *u, int key)
{
	struct review_row *before = review_ui_row(u);

	if (!before || !u->searched) {
		review_ui_say(u, "nothing to find yet: / asks");
		return;
	}
	if (!review_list_search(&u->list, &u->regex, key == '<', u->in_text)) {
		review_ui_say(u, "no path and no changed line matches");
		return;
	}
	review_ui_moved(u, before);
	if (u->place != UI_LINE)
		screen_show_match(u);
}

static void search(struct review_ui *u, int key)
{
	const char *question = "Find (regular expression):";
	auto_free char *text = mem_strdup(u->typed);

	while (true) {
		if (!*text) {
			free(text);
			text = u->terminal->ask(u, question, "");
		}
		if (!text)
			return;
		if (!*text)
			break;
		if (u->searched)
			regfree(&u->regex);
		u->searched =
			regcomp(&u->regex, text,
				REG_EXTENDED | REG_NOSUB | REG_NEWLINE) == 0;
		if (u->searched)
			break;
		question = "No regular expression; find:";
		*text = '\0';
	}
	search_again(u, key);
}

static void filter(struct review_ui *u, const char *pattern, bool open_only)
{
	struct review_row *before = review_ui_row(u);

	review_list_filter(&u->list, pattern, open_only);
	review_ui_moved(u, before);
	if (pattern || open_only)
		review_ui_say(u, "%zu of %s shown; %s shows all",
			      u->list.shown.count,
			      text_count(u->list.rows.count, "change"),
			      open_only ? "F" : "f, then Enter,");
}

static void filter_paths(struct review_ui *u, int key)
{
	auto_free char *text = u->terminal->ask(
		u, "Only paths with (or a pattern with *):", "");

	(void)key;
	if (text)
		filter(u, *text ? text : NULL, u->list.open_only);
}

static void filter_open(struct review_ui *u, int key)
{
	(void)key;
	filter(u, u->list.pattern, !u->list.open_only);
}

/* --- moves of the line prompts --- */

/* j, k: to an open part; J, K: to any. */
static bool step(struct review_ui *u, int key)
{
	return review_list_step(&u->list, key == 'k' || key == 'K',
				key == 'j' || key == 'k');
}

static bool can_step(struct review_ui *u, int key)
{
	size_t at = u->list.at, part = u->list.part;
	bool can = step(u, key);

	u->list.at = at;
	u->list.part = part;
	return can;
}

static void go_to_part(struct review_ui *u, int key)
{
	struct review_row *before = review_ui_row(u);

	(void)step(u, key);
	review_ui_moved(u, before);
}

static bool has_hunks(struct review_ui *u, int key)
{
	(void)key;
	return review_ui_item(u)->parts > 1;
}

static bool has_rows(struct review_ui *u, int key)
{
	(void)key;
	return u->list.rows.count > 1;
}

static void quit(struct review_ui *u, int key)
{
	(void)key;
	u->done = true;
}

static void choose(struct review_ui *u, int key)
{
	u->chosen = key;
	u->done = true;
}

#define SCREEN (UI_LIST | UI_TEXT)
#define CONFLICT (UI_CONFLICT | UI_CONFLICT_LINE)
#define KIND (UI_KIND | UI_KIND_LINE)
#define LINES (UI_LINE | UI_CONFLICT_LINE | UI_KIND_LINE | UI_APPLY_LINE)

const struct review_key review_keys[] = {
	{.help = "Answers"},
	{SCREEN | UI_LINE, SCREEN | UI_LINE, "y", "take",
	 "take this change: in the list the whole file, in the text one hunk",
	 answer_one},
	{SCREEN | UI_LINE, SCREEN | UI_LINE, "n", "leave", "leave it",
	 answer_one},
	{SCREEN, SCREEN, "u", "open", "open it again", answer_one},
	{UI_LINE, UI_LINE, "a", NULL,
	 "take this and all later hunks of the file", answer_one, has_hunks},
	{UI_LINE, UI_LINE, "d", NULL,
	 "leave this and all later hunks of the file", answer_one, has_hunks},
	{UI_LIST, UI_LIST, "Y N", "directory",
	 "all open changes of the bucket in the same directory", answer_dir},
	{UI_TEXT, UI_TEXT, "Y N", "file", "in the text: the file", answer_file},
	{SCREEN, UI_LIST, "b B", "bucket",
	 "all open changes of this bucket (Deleted, Modified...)",
	 answer_bucket},
	{SCREEN | UI_LINE, UI_LIST | UI_LINE, "A", "rest",
	 "take all open changes but those with !!, once deletions and risks "
	 "are decided; critical ones always need a y of their own",
	 answer_rest},
	{SCREEN | UI_LINE, SCREEN | UI_LINE, "U", "undo",
	 "take the last answer back", undo_answer},
	{SCREEN, SCREEN, "=", "alike",
	 "the hunks that are alike up to names and numbers, all at once: in "
	 "the list those like the first open hunk of the file",
	 screen_answer_kind},
	{SCREEN | UI_LINE, SCREEN | UI_LINE, "s", "split",
	 "split a hunk, or a directory into its files", split, can_split},
	{SCREEN | UI_LINE, SCREEN | UI_LINE, "e", "edit",
	 "edit the hunk in your editor and take the result", edit, can_edit},
	{SCREEN, SCREEN, "m", "seen", "mark as seen, or not", mark_viewed},

	{.help = "Moves and views"},
	{SCREEN, 0, "j k", NULL,
	 "and the arrow keys: the next or previous row or line", screen_move},
	{SCREEN, UI_LIST, "Enter", "text", "into the text; Tab as well",
	 screen_focus},
	{SCREEN, UI_TEXT, "{ }", "hunk", "the previous or next hunk",
	 screen_move_hunk},
	{SCREEN, UI_TEXT, "[ ]", "file", "the previous or next file",
	 screen_step},
	{SCREEN, UI_TEXT, "Esc", "list", "back to the list", screen_focus},
	{SCREEN, 0, "space PgUp", NULL, "pages of the text", screen_scroll},
	{SCREEN, 0, "g G", NULL, "the first or last", screen_go_to_end},
	{SCREEN, UI_LIST, "1-8", "bucket",
	 "the first change of a bucket, in the order of the top line",
	 screen_select_bucket},
	{UI_LINE, UI_LINE, "j k", NULL,
	 "leave this open, go to the next or previous open one", go_to_part,
	 can_step},
	{UI_LINE, UI_LINE, "J K", NULL,
	 "leave this open, go to the next or previous one", go_to_part,
	 can_step},
	{UI_LINE, UI_LINE, "g", NULL, "list all, and go to one by its number",
	 review_prompt_go, has_rows},
	{SCREEN | UI_LINE, SCREEN | UI_LINE, "/", "find",
	 "find a regular expression in paths and changed lines", search},
	{SCREEN, 0, "> <", NULL, "the next or previous match", search_again},
	{SCREEN, SCREEN, "t", "test",
	 "run a command in a throw-away copy of the run", screen_try},
	{SCREEN, SCREEN, "c", "conflict",
	 "the conflicts with your changes, for the rows with that word",
	 screen_conflict_show},
	{SCREEN, UI_LIST, "f", "filter", "only paths with a text in them",
	 filter_paths},
	{SCREEN, 0, "F", NULL, "only open changes", filter_open},
	{SCREEN, SCREEN, "i", "versions", "stored versions of the path",
	 screen_show_versions},
	{SCREEN, SCREEN, "w", "words", "marks of changed words on and off",
	 screen_toggle_words},
	{SCREEN, UI_LIST, "v", "verdict", "the verdict, above the list",
	 screen_toggle_verdict},
	{UI_LINE, UI_LINE, "p", NULL, "print all of this again",
	 review_prompt_print},

	{.help = "Conflicts"},
	{CONFLICT, CONFLICT, "o", "yours", "your version", conflict_view_choose,
	 conflict_view_can},
	{CONFLICT, CONFLICT, "t", "the run's",
	 "the run's version (yours is stored first)", conflict_view_choose,
	 conflict_view_can},
	{CONFLICT, CONFLICT, "m", "both with markers",
	 "both, with conflict markers", conflict_view_choose,
	 conflict_view_can},
	{CONFLICT, 0, "O T M", NULL, "the same for all that are open",
	 conflict_view_choose_all},
	{CONFLICT, CONFLICT, "e", "edit the result",
	 "edit the result, the whole file", conflict_view_edit,
	 conflict_view_can},
	{CONFLICT, CONFLICT, "u", "later",
	 "later: the file is left out of this apply and stays in the run",
	 conflict_view_choose},
	{UI_CONFLICT, 0, "[ ]", NULL, "the previous or next one",
	 conflict_view_step},
	{UI_CONFLICT, 0, "Enter", NULL, "go on with the apply",
	 conflict_view_confirm},

	{.help = "Kinds of hunks"},
	{KIND, KIND, "y", "take all", "take all hunks of this kind",
	 kinds_prompt_answer},
	{KIND, KIND, "n", "leave all", "leave all of them",
	 kinds_prompt_answer},
	{KIND, KIND, "u", "open all", "take the answer back",
	 kinds_prompt_answer},
	{UI_KIND_LINE, UI_KIND_LINE, "j k", NULL,
	 "leave this open, go to the next or previous kind", kinds_prompt_step,
	 kinds_prompt_can},
	{UI_KIND_LINE, UI_KIND_LINE, "s", NULL,
	 "split this family: a question for each of its kinds",
	 kinds_prompt_split, kinds_prompt_can},
	{UI_KIND_LINE, UI_KIND_LINE, "p", NULL,
	 "print all of this again, with all values of a family",
	 kinds_prompt_show},

	{.help = "The last question"},
	{UI_APPLY_LINE, UI_APPLY_LINE, "y", NULL,
	 "apply the accepted changes; guard undo reverts them", choose},
	{UI_APPLY_LINE, UI_APPLY_LINE, "n", NULL,
	 "apply nothing: the run stays pending", choose},
	{UI_APPLY_LINE, 0, "q", NULL, "the same", choose},
	{UI_APPLY_LINE, UI_APPLY_LINE, "r", NULL, "go through them again",
	 choose},
	{UI_APPLY_LINE, UI_APPLY_LINE, "l", NULL,
	 "list all: + accepted, * in part, - skipped", review_prompt_list},

	{.help = "End"},
	{SCREEN, SCREEN, "C", "finish",
	 "the menu: apply, apply and discard the rest, commit, patch, report, "
	 "keep, discard",
	 screen_finish},
	{SCREEN, SCREEN, "?", "help", "this help", screen_help},
	{SCREEN, SCREEN, "q", "keep", "keep the run, and quit", quit},
	{CONFLICT, CONFLICT, "q", "back", "back to the review",
	 conflict_view_leave},
	{UI_LINE | UI_KIND_LINE, UI_LINE | UI_KIND_LINE, "q", NULL,
	 "quit: the rest stays open; asks for confirmation", quit},
	{LINES, LINES, "?", NULL, "this help", review_prompt_help},
	{0},
};
