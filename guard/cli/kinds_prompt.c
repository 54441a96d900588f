#include "guard/cli/kinds_prompt.h"

#include <string.h>

#include "base/auto.h"
#include "base/text.h"
#include "guard/cli/kinds_show.h"
#include "guard/cli/output.h"
#include "guard/cli/review_prompt.h"

/* Kinds of a family that are listed unasked. */
#define LISTED 20

static void add_item_name(void *arg, size_t item, struct buf *to)
{
	const struct review_kinds *k = arg;
	const struct review *r = review_kinds_review(k, item);

	text_escape_name(to, r->prefix);
	text_escape_name(to, review_kinds_item(k, item)->path);
}

static struct asked_kind *current_kind(const struct review_ui *u)
{
	return &u->kind.list.items[u->kind.at];
}

static const struct kind *kind_of(const struct review_ui *u,
				  const struct kind_family *f, size_t i)
{
	return &u->kind.kinds->kinds.items.items[f->first + i];
}

/* The answer of all its hunks, REVIEW_OPEN where they differ. */
static enum review_answer answer_of(const struct review_ui *u,
				    const struct kind_family *f,
				    bool *ret_mixed)
{
	enum review_answer first = REVIEW_OPEN, each;
	bool mixed, differ = false;
	size_t i;

	*ret_mixed = false;
	for (i = 0; i < f->count; i++) {
		each = review_kinds_answered(u->kind.kinds, kind_of(u, f, i),
					     &mixed);
		*ret_mixed |= mixed;
		if (!i)
			first = each;
		differ |= each != first;
	}
	return differ ? REVIEW_OPEN : first;
}

/* Goes to the next open one, round the end; false: there is none. */
static bool next_open_kind(struct review_ui *u)
{
	struct kind_cursor *c = &u->kind;
	bool mixed;
	size_t i;

	for (i = 0; i < c->list.count; i++) {
		size_t at = (c->at + i) % c->list.count;

		if (answer_of(u, &c->list.items[at].family, &mixed))
			continue;
		c->show |= at != c->at;
		c->at = at;
		return true;
	}
	return false;
}

static void print_kind(struct review_ui *u, size_t most)
{
	struct asked_kind *a = current_kind(u);

	a->listed |=
		kinds_show_family(&u->kind.kinds->kinds, &a->family, most,
				  add_item_name, u->kind.kinds, styled_out());
}

/* --- acts --- */

void kinds_prompt_show(struct review_ui *u, int key)
{
	(void)key;
	print_kind(u, 0);
}

void kinds_prompt_answer(struct review_ui *u, int key)
{
	const struct kind_family *f = &current_kind(u)->family;
	enum review_answer answer = key == 'y'	 ? REVIEW_YES
				    : key == 'n' ? REVIEW_NO
						 : REVIEW_OPEN;
	size_t i;

	if (answer == REVIEW_YES && !current_kind(u)->listed) {
		print_kind(u, 0);
		output_print("these are all values of the family: y again "
			     "applies them");
		return;
	}
	for (i = 0; i < f->count; i++)
		review_list_answer_kind(&u->list, u->kind.kinds,
					kind_of(u, f, i), answer);
	if (answer)
		u->all_decided = !next_open_kind(u);
}

void kinds_prompt_step(struct review_ui *u, int key)
{
	u->kind.at += key == 'j' ? 1 : -(size_t)1;
	u->kind.show = true;
}

/* Each kind of the family gets a question. */
void kinds_prompt_split(struct review_ui *u, int key)
{
	struct kind_family f = current_kind(u)->family;
	struct kind_cursor *c = &u->kind;
	size_t i, end = c->list.count;

	(void)key;
	for (i = 1; i < f.count; i++)
		(void)VEC_ADD(&c->list);
	memmove(&c->list.items[c->at + f.count], &c->list.items[c->at + 1],
		(end - c->at - 1) * sizeof(*c->list.items));
	for (i = 0; i < f.count; i++) {
		const struct kind *kind = kind_of(u, &f, i);

		c->list.items[c->at + i] = (struct asked_kind){
			.family = {.first = f.first + i,
				   .count = 1,
				   .hunks = kind->places.count,
				   .files = kind->files,
				   .marked = kind->marked},
			.listed = true,
		};
	}
	c->show = true;
}

bool kinds_prompt_can(struct review_ui *u, int key)
{
	switch (key) {
	case 'j':
		return u->kind.at + 1 < u->kind.list.count;
	case 'k':
		return u->kind.at > 0;
	default:
		return current_kind(u)->family.count > 1;
	}
}

/* --- questions --- */

static bool ask_about_kind(struct review_ui *u)
{
	const struct kind_family *f = &current_kind(u)->family;
	enum review_answer choice;
	bool mixed;

	choice = answer_of(u, f, &mixed);
	return review_prompt_key(u, "(%zu/%zu) Apply %s of this %s%s",
				 u->kind.at + 1, u->kind.list.count,
				 text_count(f->hunks, "hunk"),
				 f->count > 1 ? "family" : "kind",
				 choice == REVIEW_YES  ? " (so far: yes)"
				 : choice == REVIEW_NO ? " (so far: no)"
				 : mixed	       ? " (so far: some)"
						       : "");
}

bool kinds_prompt(struct review_ui *u)
{
	AUTO(review_kinds) struct review_kinds k = {0};
	size_t i;

	review_kinds_make(u->list.reviews, u->list.review_count, &k);
	review_prompt_begin(u, UI_KIND_LINE);
	u->kind = (struct kind_cursor){.kinds = &k, .show = true};
	for (i = 0; i < k.kinds.families.count; i++)
		*VEC_ADD(&u->kind.list) = (struct asked_kind){
			.family = k.kinds.families.items[i]};
	kinds_show_head(&k.kinds, "", styled_out());
	u->all_decided = !next_open_kind(u);
	while (!u->done && !u->all_decided && !output_has_failed()) {
		if (u->kind.show)
			print_kind(u, LISTED);
		u->kind.show = false;
		u->done |= !ask_about_kind(u);
	}
	VEC_FREE(&u->kind.list);
	return !u->done;
}

void kinds_prompt_print(struct review_ui *u)
{
	AUTO(review_kinds) struct review_kinds k = {0};
	size_t i;

	review_kinds_make(u->list.reviews, u->list.review_count, &k);
	kinds_show_head(&k.kinds, "", styled_out());
	for (i = 0; i < k.kinds.families.count && !output_has_failed(); i++)
		(void)kinds_show_family(&k.kinds, &k.kinds.families.items[i],
					LISTED, add_item_name, &k,
					styled_out());
}
