/* The apply of the accepted changes: the session calls it. */
#include "base/auto.h"
#include "base/path.h"
#include "base/text.h"
#include "guard/cli/apply_report.h"
#include "guard/cli/output.h"
#include "guard/cli/plan_print.h"
#include "guard/cli/review_session_private.h"
#include "guard/state/exit_status.h"

/* Something that was not shown as it will be: merged, or going over the
 * user's own. */
static bool has_unshown_changes(const struct review_session *v,
				const struct apply_plan *a)
{
	size_t n = 0, i, k;

	for (k = 0; k < a->change.root_count; k++) {
		const struct plan *plan = &a->change.roots[k].plan;

		for (i = 0; i < plan->over.count; i++)
			n += !conflict_session_decided(
				&v->conflicts, k, plan->over.items[i].path);
		for (i = 0; i < plan->steps.count; i++) {
			const struct step *step = &plan->steps.items[i];
			auto_free char *path =
				mem_printf("%s%s", plan->prefix, step->path);

			if (step->how != STEP_MERGED ||
			    conflict_session_decided(&v->conflicts, k,
						     step->path))
				continue;
			output_print("changed on both sides and merged: %s",
				     text_quote(path));
			n++;
		}
	}
	return n;
}

/* Changes that were not critical in the review, and are with the files as they
 * are now. One by one; a change with a no is left out. 1: planned again; 0:
 * one of them cannot be applied. */
static int ask_for_consents(struct review_session *v, struct apply_plan *a,
			    struct err *err)
{
	bool all = true;
	size_t i, k;

	for (i = 0; i < a->change.root_count; i++) {
		const struct plan *plan = &a->change.roots[i].plan;

		for (k = 0; k < plan->refusals.count; k++) {
			const struct refusal *r = &plan->refusals.items[k];
			auto_free char *shown =
				mem_printf("%s%s", plan->prefix, r->path);
			auto_free char *path =
				path_join(apply_plan_root_path(a, i), r->path);
			bool yes = plan_print_consent(shown, r);

			mem_list_add(yes ? &a->consent.paths
					 : &a->consent.except,
				     path);
			all &= yes;
		}
	}
	if (!all && (a->commits || v->o->commit.on)) {
		changeset_unlock(&a->change);
		(void)fail(err, ECANCELED,
			   "nothing applied: a commit takes all files");
		return 0;
	}
	return apply_plan_make(a, v->o->resolve, err) < 0 ? -err->num : 1;
}

int review_apply_conflicts(struct review_session *v, struct apply_plan *a,
			   struct err *err)
{
	bool refused = false;
	size_t i;
	int got;

	got = conflict_session_plan(&v->conflicts, a, v->o->resolve, err);
	if (!got)
		/* Not the text of an earlier failure, which was no end. */
		(void)fail(err, ECANCELED,
			   "nothing applied: a conflict is open");
	if (got <= 0)
		return got;
	for (i = 0; i < a->change.root_count; i++) {
		plan_print_choices(&a->change.roots[i].plan);
		refused |= a->change.roots[i].plan.refusals.count > 0;
	}
	if (refused) {
		got = ask_for_consents(v, a, err);
		if (got <= 0)
			return got;
	}
	/* The screen shows the text, and the user can answer otherwise. */
	if (apply_plan_check_halves(a, err) < 0)
		return v->ui.job ? 0 : -err->num;
	if (plan_summary_count(&a->change, &v->counts, err) < 0)
		return -err->num;
	*err->text = '\0';
	if (has_unshown_changes(v, a))
		return plan_summary_ask(&v->counts, NULL, apply_report_where(a),
					false);
	return 1;
}

void review_apply_agreed(const struct review_session *v, size_t index,
			 struct apply_plan *to)
{
	const char *root = apply_plan_root_path(v->a, index);
	char **agreed = NULL;
	size_t i;

	review_list_agreed(&v->parts[index].review, &agreed);
	for (i = 0; agreed && agreed[i]; i++) {
		auto_free char *path = path_join(root, agreed[i]);

		mem_list_add(&to->consent.paths, path);
	}
	mem_list_free(&agreed);
}

int review_apply_trees(struct review_session *v, bool *ret_complete,
		       bool *ret_git, struct err *err)
{
	size_t i;

	mem_list_free(&v->a->consent.paths);
	mem_list_free(&v->a->consent.except);
	*ret_complete = true;
	*ret_git = false;
	for (i = 0; i < v->count; i++) {
		struct selected_root *p = &v->parts[i];

		if (apply_selection_pick_root(p, &v->a->change.roots[i], err) <
		    0)
			return -err->num;
		if (p->review.store)
			review_apply_agreed(v, i, v->a);
		*ret_complete &= p->complete;
		*ret_git |= p->git;
	}
	return 0;
}

int review_apply_accepted(struct review_session *v, bool left, int *ret_status,
			  struct err *err)
{
	struct apply_plan *a = v->a;
	const struct entry *want = &v->parts[0].picked;
	AUTO(gitcommit) struct gitcommit *commit = NULL;
	bool complete, git;
	uint64_t after;
	int got;

	if (review_apply_trees(v, &complete, &git, err) < 0)
		return -err->num;
	if (v->o->commit.on &&
	    committing_make(a, &v->o->commit, false, want, &commit, err) < 0)
		return -err->num;
	if (v->o->commit.branch) {
		*ret_status = STATUS_OK;
		return committing_point(a, commit, false, err) < 0 ? -err->num
								   : 1;
	}
	apply_report_head(&a->p->session);
	if (apply_plan_refresh(a, err) < 0)
		return -err->num;
	got = review_apply_conflicts(v, a, err);
	if (got <= 0) {
		changeset_unlock(&a->change);
		return got;
	}
	complete = complete && !apply_plan_has_exceptions(a);
	if (!changeset_has_steps(&a->change)) {
		output_print("nothing left to apply: your project already has "
			     "all of it");
		*ret_status = STATUS_OK;
		return changeset_has_effect(&a->change) &&
				       apply_plan_execute(a, complete, git,
							  &after, err) < 0
			       ? -err->num
			       : 1;
	}
	if (apply_plan_execute(a, complete, git, &after, err) < 0)
		return -err->num;
	*ret_status = apply_report_done(a, &v->counts, left, commit, err);
	return *ret_status < 0 ? -err->num : 1;
}
