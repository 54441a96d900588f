#include "guard/cli/kinds_prompt.h"

#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/text.h"
#include "guard/cli/kinds_show.h"
#include "guard/cli/output.h"
#include "guard/cli/review_prompt.h"

/* Kinds of a family that are listed unasked. */
#define LISTED 20

/* A family, or a kind of a family that was split. */
struct asked_kind {
	struct kind_family family;
	bool listed; /* all its values were on the screen */
};

struct kinds_asker {
	struct review_kinds *k;
	struct decisions *d;
	VEC(struct asked_kind) list;
	size_t at;
	bool show, finished;
};

static const struct {
	char key;
	const char *text;
} keys[] = {
	{'y', "apply all hunks of this kind"},
	{'n', "apply none of them"},
	{'u', "take the answer back"},
	{'j', "leave this open, go to the next kind"},
	{'k', "go to the previous kind"},
	{'s', "split this family: a question for each of its kinds"},
	{'p', "print all of this again, with all values of a family"},
	{'q', "quit: do not apply the rest; asks for confirmation"},
	{'?', "this help"},
};

static void add_item_name(void *arg, size_t item, struct buf *to)
{
	const struct review_kinds *k = arg;
	const struct review *r = review_kinds_review(k, item);

	text_escape_name(to, r->prefix);
	text_escape_name(to, review_kinds_item(k, item)->path);
}

static struct asked_kind *current_kind(struct kinds_asker *w)
{
	return &w->list.items[w->at];
}

/* The answer of all its hunks, REVIEW_OPEN where they differ. */
static enum review_answer answer_of(const struct kinds_asker *w,
				    const struct kind_family *f,
				    bool *ret_mixed)
{
	enum review_answer first = REVIEW_OPEN, each;
	bool mixed, differ = false;
	size_t i;

	*ret_mixed = false;
	for (i = 0; i < f->count; i++) {
		each = review_kinds_answered(
			w->k, &w->k->kinds.items.items[f->first + i], &mixed);
		*ret_mixed |= mixed;
		if (!i)
			first = each;
		differ |= each != first;
	}
	return differ ? REVIEW_OPEN : first;
}

/* Goes to the next open one, round the end; false: there is none. */
static bool next_open_kind(struct kinds_asker *w)
{
	bool mixed;
	size_t i;

	for (i = 0; i < w->list.count; i++) {
		size_t at = (w->at + i) % w->list.count;

		if (answer_of(w, &w->list.items[at].family, &mixed))
			continue;
		w->show |= at != w->at;
		w->at = at;
		return true;
	}
	return false;
}

static void print_kind(struct kinds_asker *w, size_t most)
{
	struct asked_kind *a = current_kind(w);

	a->listed |= kinds_show_family(&w->k->kinds, &a->family, most,
				       add_item_name, w->k, styled_out());
}

static void answer_kind(struct kinds_asker *w, enum review_answer answer)
{
	const struct kind_family *f = &current_kind(w)->family;
	size_t i;

	if (answer == REVIEW_YES && !current_kind(w)->listed) {
		print_kind(w, 0);
		output_print("these are all values of the family: y again "
			     "applies them");
		return;
	}
	for (i = 0; i < f->count; i++)
		review_kinds_answer(w->k, w->d,
				    &w->k->kinds.items.items[f->first + i],
				    answer);
	if (answer)
		w->finished = !next_open_kind(w);
}

/* Each kind of the family gets a question. */
static void split_family(struct kinds_asker *w)
{
	struct kind_family f = current_kind(w)->family;
	size_t i, end = w->list.count;

	for (i = 1; i < f.count; i++)
		(void)VEC_ADD(&w->list);
	memmove(&w->list.items[w->at + f.count], &w->list.items[w->at + 1],
		(end - w->at - 1) * sizeof(*w->list.items));
	for (i = 0; i < f.count; i++) {
		const struct kind *kind = &w->k->kinds.items.items[f.first + i];

		w->list.items[w->at + i] = (struct asked_kind){
			.family = {.first = f.first + i,
				   .count = 1,
				   .hunks = kind->places.count,
				   .files = kind->files,
				   .marked = kind->marked},
			.listed = true,
		};
	}
	w->show = true;
}

static bool key_is_usable(struct kinds_asker *w, char key)
{
	switch (key) {
	case 'j':
		return w->at + 1 < w->list.count;
	case 'k':
		return w->at > 0;
	case 's':
		return current_kind(w)->family.count > 1;
	default:
		return true;
	}
}

static void handle_kind_key(struct kinds_asker *w, char key)
{
	switch (key) {
	case 'y':
		answer_kind(w, REVIEW_YES);
		break;
	case 'n':
		answer_kind(w, REVIEW_NO);
		break;
	case 'u':
		answer_kind(w, REVIEW_OPEN);
		break;
	case 'j':
	case 'k':
		w->at += key == 'j' ? 1 : -(size_t)1;
		w->show = true;
		break;
	case 's':
		split_family(w);
		break;
	case 'p':
		print_kind(w, 0);
		break;
	default:
		w->finished = true;
	}
}

static void print_kind_keys(struct kinds_asker *w)
{
	size_t i;

	for (i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (key_is_usable(w, keys[i].key))
			(void)printf("%s%c%s - %s\n", output_style(STYLE_HUNK),
				     keys[i].key, output_style(STYLE_NONE),
				     keys[i].text);
}

/* false: the user quits. */
static bool ask_about_kind(struct kinds_asker *w)
{
	const struct kind_family *f = &current_kind(w)->family;
	AUTO(buf) struct buf usable = {0};
	auto_free char *line = NULL;
	enum review_answer choice;
	bool mixed;
	size_t i;

	for (i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (key_is_usable(w, keys[i].key))
			buf_printf(&usable, "%s%c", i ? "," : "", keys[i].key);
	choice = answer_of(w, f, &mixed);
	line = review_prompt_ask("(%zu/%zu) Apply %s of this %s%s [%s]?",
				 w->at + 1, w->list.count,
				 text_count(f->hunks, "hunk"),
				 f->count > 1 ? "family" : "kind",
				 choice == REVIEW_YES  ? " (so far: yes)"
				 : choice == REVIEW_NO ? " (so far: no)"
				 : mixed	       ? " (so far: some)"
						       : "",
				 buf_text(&usable));
	if (!line || strcmp(line, "q") == 0)
		return false;
	if (strlen(line) == 1 && strchr(buf_text(&usable), *line) &&
	    !strchr("?,", *line))
		handle_kind_key(w, *line);
	else
		print_kind_keys(w);
	return true;
}

bool kinds_prompt(struct review_kinds *k, struct decisions *d)
{
	struct kinds_asker w = {.k = k, .d = d, .show = true};
	bool stay = true;
	size_t i;

	for (i = 0; i < k->kinds.families.count; i++)
		*VEC_ADD(&w.list) = (struct asked_kind){
			.family = k->kinds.families.items[i]};
	kinds_show_head(&k->kinds, "", styled_out());
	w.finished = !next_open_kind(&w);
	while (stay && !w.finished && !output_has_failed()) {
		if (w.show)
			print_kind(&w, LISTED);
		w.show = false;
		stay = ask_about_kind(&w);
	}
	VEC_FREE(&w.list);
	return stay;
}

void kinds_prompt_print(struct review_kinds *k)
{
	size_t i;

	kinds_show_head(&k->kinds, "", styled_out());
	for (i = 0; i < k->kinds.families.count && !output_has_failed(); i++)
		(void)kinds_show_family(&k->kinds, &k->kinds.families.items[i],
					LISTED, add_item_name, k, styled_out());
}
