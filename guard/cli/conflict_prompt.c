#include "guard/cli/conflict_prompt.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/text.h"
#include "guard/cli/output.h"
#include "guard/cli/review_edit.h"
#include "guard/cli/review_prompt.h"

static void print_side(const char *title, const struct buf *text,
		       const struct entry *e)
{
	const char *at, *end;

	(void)printf("%s%s%s%s\n", output_style(STYLE_HUNK), title,
		     output_style(STYLE_NONE),
		     text      ? text->len ? "" : ": no line"
		     : e->mode ? S_ISDIR(e->mode) ? ": a directory" : ": a file"
			       : ": nothing is there");
	if (!text || !text->len)
		return;
	at = (const char *)text->data;
	end = at + text->len;
	while (at < end) {
		size_t len = text_line_len(at, end);
		AUTO(buf) struct buf line = {0};

		text_escape(&line, at, len, true);
		(void)printf("  %s\n", buf_text(&line));
		at += len + (at + len < end);
	}
}

static void print_place(const struct review_conflict *c, size_t place)
{
	size_t at, line = 0;
	const struct textmerge_part *p =
		review_conflict_part(c, place, &at, &line);
	AUTO(buf) struct buf name = {0};

	text_escape_name(&name, c->path);
	(void)printf("\n%s%s%s  %s", output_style(STYLE_BOLD), buf_text(&name),
		     output_style(STYLE_NONE), conflict_text(c->kind));
	if (p)
		(void)printf(", from line %zu of yours on", line);
	(void)printf("\n");
	print_side("BEFORE the run", p ? &p->base : NULL, &c->base);
	print_side("YOURS now", p ? &p->ours : NULL, &c->ours);
	print_side("THE RUN'S", p ? &p->theirs : NULL, &c->theirs);
}

static void edit(struct review_conflict *c,
		 const struct conflict_prompt_options *o)
{
	AUTO(buf) struct buf text = {0};
	struct err err;
	bool marked;
	int got;

	review_conflict_text(c, &text, &marked);
	got = review_edit_text(&text, o->scratch_fd, o->scratch, &err);
	if (got < 0)
		output_warn("%s", err.text);
	if (got > 0)
		review_conflict_edit(c, &text);
}

static void print_help(const struct review_conflict *c)
{
	(void)printf("o - your version; O, T, M - the same for all that are "
		     "open\n");
	if (review_conflict_can(c, CHOICE_THEIRS))
		(void)printf("t - the run's version (yours is stored first)\n");
	if (review_conflict_can(c, CHOICE_BOTH))
		(void)printf("m - both, with conflict markers\n"
			     "e - edit the result, the whole file\n");
	(void)printf("u - later: the file is left out of this apply and stays "
		     "in the run\n"
		     "q - back to the review\n");
}

static bool find_choice(const char *letters, const char *line,
			enum conflict_choice *ret)
{
	static const enum conflict_choice choices[] = {
		CHOICE_OURS, CHOICE_THEIRS, CHOICE_BOTH};
	const char *found = *line && !line[1] ? strchr(letters, *line) : NULL;

	if (found)
		*ret = choices[found - letters];
	return found;
}

/* false: back. */
static bool ask_about_place(struct review_conflicts *list,
			    struct review_conflict *c, size_t place,
			    const struct conflict_prompt_options *o)
{
	enum conflict_choice choice;

	print_place(c, place);
	while (!c->is_edited && c->choices[place] == CHOICE_OPEN) {
		auto_free char *line = review_prompt_ask(
			"(%zu/%zu) Which version [o%s%s,u,q,?]?", place + 1,
			c->count,
			review_conflict_can(c, CHOICE_THEIRS) ? ",t" : "",
			review_conflict_can(c, CHOICE_BOTH) ? ",m,e" : "");

		if (!line || strcmp(line, "q") == 0)
			return false;
		if (strcmp(line, "u") == 0) {
			c->left_out = true;
			return true;
		}
		if (find_choice("otm", line, &choice))
			review_conflict_choose(c, place, choice);
		else if (find_choice("OTM", line, &choice)) {
			review_conflict_list_choose(list, choice);
			decisions_conflicts(o->decisions, o->store, list);
		} else if (strcmp(line, "e") == 0 && c->parts.count)
			edit(c, o);
		else
			print_help(c);
	}
	decisions_conflict(o->decisions, o->store, c);
	return true;
}

bool conflict_prompt(struct review_conflicts *list,
		     const struct conflict_prompt_options *o)
{
	size_t i, k;

	for (i = 0; i < list->count; i++) {
		struct review_conflict *c = &list->items[i];

		for (k = 0; k < c->count && !c->left_out; k++)
			if (!c->is_edited && c->choices[k] == CHOICE_OPEN &&
			    !ask_about_place(list, c, k, o))
				return false;
	}
	return true;
}
