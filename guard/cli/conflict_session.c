#include "guard/cli/conflict_session.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "guard/cli/conflict_prompt.h"
#include "guard/cli/screen.h"
#include "guard/review/decisions.h"

static void drop_choices(struct conflict_session *s, struct apply_plan *a)
{
	size_t i;

	for (i = 0; i < s->root_count; i++)
		free(s->choices[i]);
	free(s->choices);
	s->choices = NULL;
	s->root_count = 0;
	for (i = 0; a && i < a->change.root_count; i++) {
		a->change.roots[i].choices = NULL;
		a->change.roots[i].choice_count = 0;
	}
}

void conflict_session_free(struct conflict_session *s)
{
	drop_choices(s, NULL);
	review_conflict_list_free(&s->list);
}

static void use_choices(struct conflict_session *s, struct apply_plan *a)
{
	size_t i;

	drop_choices(s, a);
	s->root_count = a->change.root_count;
	s->choices = mem_zalloc((s->root_count + 1) * sizeof(*s->choices));
	for (i = 0; i < s->root_count; i++) {
		struct changeset_root *root = &a->change.roots[i];

		s->choices[i] = review_conflict_list_plan(&s->list, i,
							  &root->choice_count);
		root->choices = s->choices[i];
	}
}

static size_t count_conflicts(const struct apply_plan *a)
{
	size_t i, n = 0;

	for (i = 0; i < a->change.root_count; i++)
		n += a->change.roots[i].plan.conflicts.count;
	return n;
}

/* The choices for the same conflict: of this session, else of the record. */
static void recall(struct conflict_session *s, struct review_conflict *c)
{
	size_t i;

	for (i = 0; i < s->list.count; i++) {
		struct review_conflict *old = &s->list.items[i];
		struct review_conflict kept = *c;

		if (!review_conflict_same(old, c))
			continue;
		*c = *old;
		*old = kept;
		return;
	}
	decisions_recall_conflict(s->ui->list.decisions, s->ui->store, c);
}

static int add_session_conflict(struct conflict_session *s,
				const struct apply_plan *a, size_t index,
				const struct conflict *conflict,
				struct review_conflicts *to, struct err *err)
{
	const struct changeset_root *root = &a->change.roots[index];
	const struct conflict_trees trees = {
		.base = &root->base.root,
		.ours = &root->now.root,
		.theirs = root->picked ?: &root->want.root,
	};
	struct review_conflict c;

	if (review_conflict_make(s->ui->store, &trees, conflict->path,
				 conflict->kind, &c, err) < 0)
		return -err->num;
	c.root = index;
	c.our_label = index ? "yours" : "project";
	c.their_label = mem_printf("run %s", a->p->session.id);
	recall(s, &c);
	*VEC_ADD(to) = c;
	return 0;
}

/* The conflicts of plans that were made without choices. */
static int list_conflicts(struct conflict_session *s, struct apply_plan *a,
			  struct err *err)
{
	struct review_conflicts now = {0};
	size_t i, k;

	for (i = 0; i < a->change.root_count; i++) {
		const struct changeset_root *root = &a->change.roots[i];

		for (k = 0; k < root->plan.conflicts.count; k++)
			if (add_session_conflict(s, a, i,
						 &root->plan.conflicts.items[k],
						 &now, err) < 0) {
				review_conflict_list_free(&now);
				return -err->num;
			}
	}
	review_conflict_list_free(&s->list);
	s->list = now;
	return 0;
}

/* For each entry whether its change is still taken or open; to free. */
static bool *find_wanted(const struct review *r)
{
	bool *wanted = mem_zalloc(r->entry_count + 1);
	size_t i, k;

	for (i = 0; i < r->count; i++)
		for (k = 0; k < r->items[i].count; k++)
			wanted[r->items[i].list[k]] |=
				review_tally(&r->items[i]).no <
				r->items[i].parts;
	return wanted;
}

int conflict_session_list(struct conflict_session *s,
			  const struct apply_plan *a, struct err *err)
{
	struct review_conflicts now = {0};
	size_t i, k;

	for (i = 0; i < s->ui->list.review_count; i++) {
		const struct review *r = s->ui->list.reviews[i];
		auto_free bool *wanted = find_wanted(r);

		a->change.roots[i].picked = NULL;
		for (k = 0; k < r->clashes.count; k++) {
			const struct review_clash *c = &r->clashes.items[k];

			if (wanted[c->entry] &&
			    add_session_conflict(s, a, i, &c->conflict, &now,
						 err) < 0) {
				review_conflict_list_free(&now);
				return -err->num;
			}
		}
	}
	review_conflict_list_free(&s->list);
	s->list = now;
	return 0;
}

/* Conflicts that the decisions do not solve; the user is asked again. */
static void refuse_choices(struct conflict_session *s,
			   const struct apply_plan *a)
{
	size_t i, k;

	for (i = 0; i < s->list.count; i++) {
		struct review_conflict *c = &s->list.items[i];
		const struct conflict_list *left =
			&a->change.roots[c->root].plan.conflicts;

		for (k = 0; k < left->count; k++)
			if (strcmp(left->items[k].path, c->path) == 0)
				review_conflict_refuse(c);
	}
}

static bool ask(struct conflict_session *s)
{
	return s->ui->job ? screen_conflict_run(s->ui, &s->list)
			  : conflict_prompt(s->ui, &s->list);
}

static bool needs_answer(const struct conflict_session *s)
{
	size_t i;

	for (i = 0; i < s->list.count; i++)
		if (!s->list.items[i].left_out &&
		    review_conflict_open(&s->list.items[i]))
			return true;
	return false;
}

int conflict_session_plan(struct conflict_session *s, struct apply_plan *a,
			  enum plan_resolve resolve, struct err *err)
{
	bool asked = false;
	size_t i;

	/* Conflicts that were left open are asked about again. */
	for (i = 0; i < s->list.count; i++)
		s->list.items[i].left_out = false;
	for (;;) {
		drop_choices(s, a);
		if (apply_plan_make(a, resolve, err) < 0 ||
		    list_conflicts(s, a, err) < 0)
			return -err->num;
		if (!s->list.count)
			return 1;
		if (asked && !needs_answer(s)) {
			use_choices(s, a);
			if (apply_plan_make(a, resolve, err) < 0)
				return -err->num;
			if (!count_conflicts(a))
				return 1;
			refuse_choices(s, a);
		}
		/* Other guard processes may work in the project meanwhile. */
		changeset_unlock(&a->change);
		if (!ask(s))
			return 0;
		asked = true;
		if (apply_plan_refresh(a, err) < 0)
			return -err->num;
	}
}

bool conflict_session_decided(const struct conflict_session *s, size_t root,
			      const char *path)
{
	size_t i;

	for (i = 0; i < s->list.count; i++)
		if (s->list.items[i].root == root &&
		    strcmp(s->list.items[i].path, path) == 0)
			return true;
	return false;
}
