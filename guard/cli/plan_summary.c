#include "guard/cli/plan_summary.h"

#include "base/auto.h"
#include "base/text.h"
#include "guard/cli/jsonout.h"
#include "guard/review/view.h"
#include "guard/state/report.h"

static int add_plan_counts(struct store *store, const struct plan *plan,
			   struct plan_counts *to, struct err *err)
{
	size_t *const kinds[] = {
		[CHANGE_DELETED] = &to->deleted,   [CHANGE_TYPE] = &to->typed,
		[CHANGE_MODIFIED] = &to->replaced, [CHANGE_META] = &to->meta,
		[CHANGE_ADDED] = &to->created,
	};
	AUTO(view) struct view v = {0};
	size_t i;

	if (view_of_plan(store, plan, true, &v, err) < 0)
		return -err->num;
	for (i = 0; i < v.count; i++) {
		const struct change *c = v.items[i].change;

		if (c->flags & VIEW_MERGED)
			to->merged++;
		else if (c->flags & VIEW_MARKED)
			to->marked++;
		else
			++*kinds[c->kind];
	}
	for (i = 0; i < plan->steps.count; i++)
		to->times += plan_step_is_time(&plan->steps.items[i]);
	to->moved += v.own.move_count;
	to->deleted -= v.own.move_count;
	to->created -= v.own.move_count;
	return 0;
}

int plan_summary_count(const struct changeset *set, struct plan_counts *ret,
		       struct err *err)
{
	size_t i;

	*ret = (struct plan_counts){0};
	for (i = 0; i < set->root_count; i++)
		if (add_plan_counts(set->c->store, &set->roots[i].plan, ret,
				    err) < 0)
			return -err->num;
	return 0;
}

void plan_summary_text(const struct plan_counts *counts, struct buf *to)
{
	const struct text_part parts[] = {
		{counts->deleted, "deleted"},
		{counts->moved, "moved"},
		{counts->typed, "of another type"},
		{counts->replaced, "modified"},
		{counts->created, "added"},
		{counts->meta, "with other permissions"},
		{counts->merged, "merged"},
		{counts->marked, "with conflict markers"},
	};

	text_sum(to, parts, ARRAY_SIZE(parts), "times only");
}

static json_t *json_path(const char *path, const char *key, const char *text)
{
	json_t *object = json_object();

	jsonout_text(object, "path", path);
	jsonout_text(object, key, text);
	return object;
}

static json_t *json_conflicts(const struct conflict *list, size_t count)
{
	json_t *array = json_array();
	size_t i;

	for (i = 0; i < count; i++)
		jsonout_add(array, json_path(list[i].path, "reason",
					     conflict_text(list[i].kind)));
	return array;
}

void plan_summary_json(struct store *store, const struct plan *plan,
		       json_t *object)
{
	static const char *const ops[] = {
		[STEP_DELETE] = "delete",
		[STEP_REPLACE] = "modify",
		[STEP_CREATE] = "add",
		[STEP_META] = "meta",
	};
	static const char *const hows[] = {
		[STEP_MERGED] = "merged",
		[STEP_MARKED] = "conflict-markers",
		[STEP_OVER] = "replaces-edit",
	};
	AUTO(view) struct view v = {0};
	json_t *steps = json_array();
	json_t *refused = json_array();
	json_t *moved = json_array();
	struct err ignored;
	size_t i;

	for (i = 0; i < plan->steps.count; i++) {
		const struct step *s = &plan->steps.items[i];
		json_t *step = json_path(s->path, "op", ops[s->kind]);

		if (s->how != STEP_PLAIN)
			jsonout_text(step, "how", hows[s->how]);
		jsonout_add(steps, step);
	}
	for (i = 0; i < plan->refusals.count; i++) {
		const struct refusal *r = &plan->refusals.items[i];
		json_t *item = json_path(r->path, "reason", refusal_reason(r));

		jsonout_text(item, "rule", r->rule);
		jsonout_bool(item, "allowed_by_yes_to", true);
		jsonout_add(refused, item);
	}
	jsonout_set(object, "steps", steps);
	jsonout_set(
		object, "conflicts",
		json_conflicts(plan->conflicts.items, plan->conflicts.count));
	jsonout_set(object, "refused", refused);
	jsonout_set(object, "kept",
		    json_conflicts(plan->kept.items, plan->kept.count));
	jsonout_set(object, "over",
		    json_conflicts(plan->over.items, plan->over.count));
	jsonout_number(object, "already", plan->already);
	jsonout_number(object, "git_left", plan->git_skipped);
	/* [{"from", "to", "type", "files", "similarity"}]. As many as are
	 * found: the steps are complete. */
	(void)view_of_plan(store, plan, true, &v, &ignored);
	for (i = 0; i < v.own.move_count; i++)
		if (!v.own.moves[i].with_dir)
			jsonout_add(moved, jsonout_move(&v.own.moves[i]));
	jsonout_set(object, "moves", moved);
}

bool plan_summary_ask(const struct plan_counts *counts, const char *what,
		      const char *where, bool yes)
{
	AUTO(buf) struct buf sum = {0};

	if (what)
		buf_printf(&sum, "%s: ", what);
	plan_summary_text(counts, &sum);
	return report_confirm(yes, "guard: %s in %s: continue?", buf_text(&sum),
			      text_quote(where));
}
