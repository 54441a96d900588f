#include "guard/cli/review_ui.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "guard/cli/output.h"
#include "guard/review/decisions.h"

void review_ui_free(struct review_ui *u)
{
	if (u->searched)
		regfree(&u->regex);
	review_list_free(&u->list);
	screen_text_free(&u->text);
	free(u->message);
	free(u->test);
}

/* --- keys --- */

static const struct {
	const char *name;
	int first, last;
} named_keys[] = {
	{"Enter", '\n', '\n'}, {"Esc", SCREEN_KEY_ESCAPE, SCREEN_KEY_ESCAPE},
	{"space", ' ', ' '},   {"PgUp", SCREEN_KEY_PAGE_UP, SCREEN_KEY_PAGE_UP},
	{"1-8", '1', '8'},
};

static bool is_named(const char *name, size_t len, int key)
{
	size_t i;

	if (len == 1)
		return key == *name;
	for (i = 0; i < ARRAY_SIZE(named_keys); i++)
		if (strlen(named_keys[i].name) == len &&
		    strncmp(named_keys[i].name, name, len) == 0)
			return key >= named_keys[i].first &&
			       key <= named_keys[i].last;
	return false;
}

static bool has_key(const struct review_key *k, int key)
{
	const char *at;
	size_t len;

	for (at = k->names; *at; at += len + (at[len] == ' ')) {
		len = strcspn(at, " ");
		if (is_named(at, len, key))
			return true;
	}
	return false;
}

const struct review_key *review_ui_find_key(struct review_ui *u, int key)
{
	const struct review_key *k;

	for (k = u->keys; k->help; k++)
		if ((k->places & u->place) && has_key(k, key))
			return k;
	return NULL;
}

static bool can_act(struct review_ui *u, const struct review_key *k, int key)
{
	return (k->places & u->place) && (!k->can || k->can(u, key));
}

static bool works(struct review_ui *u, const struct review_key *k)
{
	const char *at;

	for (at = k->names; *at; at++)
		if (*at != ' ' && can_act(u, k, *at))
			return true;
	return false;
}

void review_ui_key_bar(struct review_ui *u, const char *heading, struct buf *to)
{
	const struct review_key *k;
	bool below = !heading;

	for (k = u->keys; k->help; k++) {
		if (!k->places && heading)
			below = strcmp(k->help, heading) == 0;
		if (below && (k->bar & u->place) && works(u, k))
			buf_printf(to, "%s %s %s", to->len ? " " : "", k->names,
				   k->word);
	}
}

void review_ui_key_letters(struct review_ui *u, struct buf *to)
{
	const struct review_key *k;
	const char *at;

	for (k = u->keys; k->help; k++)
		for (at = k->bar & u->place ? k->names : ""; *at; at++)
			if (*at != ' ' && can_act(u, k, *at))
				buf_printf(to, "%s%c", to->len ? "," : "", *at);
}

void review_ui_key_help(struct review_ui *u, unsigned int places, bool can,
			size_t columns, struct buf *to)
{
	const struct review_key *k, *heading = NULL;
	size_t names = 0;

	for (k = u->keys; k->help; k++)
		if ((k->places & places) && strlen(k->names) > names)
			names = strlen(k->names);
	for (k = u->keys; k->help; k++) {
		if (!k->places)
			heading = k;
		if (!(k->places & places) || (can && !works(u, k)))
			continue;
		if (heading)
			buf_printf(to, "%s%s\n", to->len ? "\n" : "",
				   heading->help);
		heading = NULL;
		buf_printf(to, "  %-*s  ", (int)names, k->names);
		(void)output_wrap(to, k->help, names + 4, names + 4, columns);
		buf_add_char(to, '\n');
	}
}

/* --- messages --- */

void review_ui_say(struct review_ui *u, const char *format, ...)
{
	auto_free char *text = NULL;
	va_list ap;

	va_start(ap, format);
	text = mem_vprintf(format, ap);
	va_end(ap);
	u->terminal->say(u, text);
}

void review_ui_check_record(struct review_ui *u)
{
	struct err err;

	if (u->warned || decisions_failed(u->list.decisions, &err) == 0)
		return;
	u->warned = true;
	review_ui_say(u, "the answers are not kept: %s", err.text);
}

/* --- the selected row --- */

struct review_row *review_ui_row(const struct review_ui *u)
{
	return review_list_row(&u->list);
}

struct review_item *review_ui_item(const struct review_ui *u)
{
	const struct review_row *row = review_list_row(&u->list);

	return row ? review_list_item(row) : NULL;
}

void review_ui_moved(struct review_ui *u, const struct review_row *before)
{
	if (!before || before == review_ui_row(u))
		return;
	review_close(before->review, review_list_item(before));
	u->text_of = NULL;
	u->line = u->text_top = 0;
}

void review_ui_go_on(struct review_ui *u)
{
	const struct review_row *before = review_ui_row(u);

	if (!review_list_select_open(&u->list, u->in_text) &&
	    !u->list.open_only && !u->list.pattern)
		u->all_decided = true;
	review_ui_moved(u, before);
}
