#include "guard/cli/review_cursor.h"

#include <regex.h>

#include "base/auto.h"
#include "base/text.h"
#include "guard/cli/output.h"

void review_cursor_open(struct review_cursor *at, size_t item)
{
	struct err err;

	if (review_open(at->r, &at->r->items[item], &err) < 0)
		output_warn("%s", err.text);
}

void review_cursor_set(struct review_cursor *at, size_t item, size_t part)
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
static bool find_part(struct review_cursor *at, bool back, bool open_only,
		      size_t *item, size_t *part)
{
	*item = at->item;
	*part = at->part;
	while (step_cursor(at, item, part, back))
		if (!open_only || !at->r->items[*item].answers[*part])
			return true;
	return false;
}

bool review_cursor_has_more(struct review_cursor *at, bool back, bool open_only)
{
	size_t item, part;

	return find_part(at, back, open_only, &item, &part);
}

bool review_cursor_move(struct review_cursor *at, bool back, bool open_only)
{
	size_t item, part;
	bool found = find_part(at, back, open_only, &item, &part);

	if (found)
		review_cursor_set(at, item, part);
	return found;
}

bool review_cursor_next_open(struct review_cursor *at)
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

static bool part_matches(struct review *r, struct review_item *item,
			 size_t part, const regex_t *regex)
{
	const struct hunk *hunk = review_hunk(item, part);
	size_t i;

	for (i = 0; !part && i < item->count; i++)
		if (regexec(regex, review_entry_at(r, item, i)->path, 0, NULL,
			    0) == 0)
			return true;
	for (i = 0; hunk && i < hunk->lines.count; i++) {
		auto_free char *line = mem_strndup(hunk->lines.items[i].text,
						   hunk->lines.items[i].len);

		if (hunk->lines.items[i].kind != ' ' &&
		    regexec(regex, line, 0, NULL, 0) == 0)
			return true;
	}
	return false;
}

void review_cursor_search(struct review_cursor *at, const char *text)
{
	size_t item = at->item, part = at->part;
	regex_t regex;
	bool found = false;
	int turns = 0;

	if (regcomp(&regex, text, REG_EXTENDED | REG_NOSUB | REG_NEWLINE)) {
		output_print("%s is no regular expression", text_quote(text));
		return;
	}
	/* Once round, the present part last. */
	while (!found && turns < 2) {
		if (!step_cursor(at, &item, &part, false)) {
			item = part = 0;
			review_cursor_open(at, 0);
			turns++;
		}
		found = part_matches(at->r, &at->r->items[item], part, &regex);
		if (turns && item == at->item && part == at->part)
			break;
	}
	regfree(&regex);
	if (found)
		review_cursor_set(at, item, part);
	else
		output_print("nothing matches %s", text_quote(text));
}
