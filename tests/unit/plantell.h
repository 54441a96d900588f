/*
 * Plans as one line of text.
 */
#ifndef GUARD_TESTS_UNIT_PLANTELL_H
#define GUARD_TESTS_UNIT_PLANTELL_H

#include "tests/unit/plan_fixture.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static const char *const step_names[] = {"delete", "replace", "create", "meta"};
static const char *const conflict_names[] = {
	"both-changed", "both-added", "deleted-now", "changed-now",
	"added-below",	"folder",     "parent",	     "moved",
	"incomplete",	"git",	      "special"};
static const char *const refusal_names[] = {"setid", "git", "shut"};
static const char *const how_names[] = {"", "merged-", "marked-", "over-"};

/*
 * One word per step, conflict or refusal, in order: "delete:x !moved:y";
 * conflicts that the user resolved as "ours:moved:y" and "over:moved:y".
 */
static void tell(struct plan *p, struct buf *to)
{
	size_t i;

	for (i = 0; i < p->steps.count; i++)
		buf_printf(to, " %s%s:%s", how_names[p->steps.items[i].how],
			   step_names[p->steps.items[i].kind],
			   p->steps.items[i].path);
	for (i = 0; i < p->kept.count; i++)
		buf_printf(to, " ours:%s:%s",
			   conflict_names[p->kept.items[i].kind],
			   p->kept.items[i].path);
	for (i = 0; i < p->over.count; i++)
		buf_printf(to, " over:%s:%s",
			   conflict_names[p->over.items[i].kind],
			   p->over.items[i].path);
	for (i = 0; i < p->conflicts.count; i++)
		buf_printf(to, " !%s:%s",
			   conflict_names[p->conflicts.items[i].kind],
			   p->conflicts.items[i].path);
	for (i = 0; i < p->refusals.count; i++)
		buf_printf(to, " %s:%s",
			   refusal_names[p->refusals.items[i].kind],
			   p->refusals.items[i].path);
	if (p->already)
		buf_printf(to, " already:%zu", p->already);
	if (p->git_skipped)
		buf_printf(to, " git:%zu", p->git_skipped);
}

static int note_difference(void *arg, const char *path, const struct entry *a,
			   const struct entry *b, struct err *err)
{
	(void)err;
	differences_add(arg, path, a, b);
	return 0;
}

/* A plan from given differences equals the plan that finds them itself. */
static void check_known(struct box *box, const struct entry *a,
			const struct entry *b, const struct entry *c,
			const struct plan_options *options,
			const struct buf *expected)
{
	AUTO(differences) struct differences known = {0};
	struct plan_options with = *options;
	AUTO(plan) struct plan p = {0};
	AUTO(buf) struct buf text = {0};
	struct err err;

	ok(tree_diff(box->store, a, b, note_difference, &known, &err));
	with.differences = &known;
	ok(plan_make(box->store, a, b, c, &with, &p, &err));
	tell(&p, &text);
	assert_int_equal(text.len, expected->len);
	assert_true(!text.len ||
		    memcmp(text.data, expected->data, text.len) == 0);
	/* The plan depends on the given differences. */
	with.differences = &(struct differences){0};
	plan_free(&p);
	ok(plan_make(box->store, a, b, c, &with, &p, &err));
	assert_int_equal(p.steps.count, 0);
}

static char *plan_text(struct box *box, const char *base, const char *want,
		       const char *now, const struct plan_options *options)
{
	struct entry a = tree_of(box, base), b = tree_of(box, want),
		     c = tree_of(box, now);
	struct plan p = {0};
	struct buf text = {0};
	struct err err;

	ok(plan_make(box->store, &a, &b, &c, options, &p, &err));
	tell(&p, &text);
	check_known(box, &a, &b, &c, options, &text);
	plan_free(&p);
	entry_free(&a);
	entry_free(&b);
	entry_free(&c);
	(void)buf_text(&text);
	return buf_take_text(&text);
}

__attribute__((unused)) static void check(struct box *box, const char *base,
					  const char *want, const char *now,
					  const struct plan_options *options,
					  const char *expected)
{
	char *text = plan_text(box, base, want, now, options);
	const char *is = *text ? text + 1 : "";

	if (strcmp(is, expected) != 0)
		fail_msg("base {%s} want {%s} now {%s}: is [%s] not [%s]", base,
			 want, now, is, expected);
	free(text);
}

struct state {
	const char *name, *tree;
};

#endif
