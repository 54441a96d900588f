/*
 * The part of an apply that goes to the folders beside the project (--cow). All
 * is as with the project: what was there when the run began is stored, and
 * without named paths everything that the run changed is taken.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/text.h"
#include "guard/apply_log.h"
#include "guard/change/apply_plan.h"
#include "guard/recover.h"

#define PROJECT_NONE                                                           \
	{                                                                      \
		.fd = -1, .workspace_fd = -1, .lock_fd = -1                    \
	}

static size_t count_extras(const struct apply_plan *a)
{
	return a->extras ? a->p->session.extra_count : 0;
}

int apply_extra_load_base(struct apply_plan *a, struct err *err)
{
	const struct session *s = &a->p->session;
	size_t i;

	a->extras = mem_zalloc((s->extra_count + 1) * sizeof(*a->extras));
	for (i = 0; i < s->extra_count; i++)
		a->extras[i].project = (struct project)PROJECT_NONE;
	for (i = 0; i < s->extra_count; i++)
		if (catalog_load(a->c->store, s->extras[i].base,
				 &a->extras[i].base, err) < 0)
			return err_context(err, "%s before run %s",
					   text_quote(s->extras[i].path),
					   s->id);
	return 0;
}

static int refresh_extra(struct apply_plan *a, size_t index, struct err *err)
{
	const struct session *s = &a->p->session;
	struct apply_extra *x = &a->extras[index];
	const char *path = s->extras[index].path;
	bool first = !x->before.root_path;
	int got;

	if (x->project.path)
		return 0;
	if (recover_project(a->c, path, err) < 0)
		return -err->num;
	got = context_project(a->c, path, false, &x->project, err);
	if (got < 0)
		return changes_explain(got, path, err);
	snapshot_free(&x->before);
	if (project_inspect(a->c->store, &x->project, "pre-apply", s->id,
			    &x->before, err) < 0)
		return -err->num;
	/* What was done is noted in the project's workspace. */
	return first ? apply_log_rebase(a->c->store, s, index + 1,
					a->project.workspace_fd, &x->base.root,
					&x->before.root, err)
		     : 0;
}

int apply_extra_refresh(struct apply_plan *a, struct err *err)
{
	size_t i;

	for (i = 0; i < count_extras(a); i++)
		if (refresh_extra(a, i, err) < 0)
			return -err->num;
	return 0;
}

int apply_extra_load_want(struct apply_plan *a, struct err *err)
{
	const struct session *s = &a->p->session;
	auto_free struct changes_group *groups = NULL;
	size_t i;

	(void)changes_groups(&a->changes, &groups);
	for (i = 0; i < count_extras(a); i++) {
		struct apply_extra *x = &a->extras[i];
		const struct changes_group *g = &groups[i + 1];

		if (apply_plan_load_want(a, &x->base.root, g->upper_fd, g->list,
					 s->extras[i].result,
					 resolve_run_extra_paths(a->p, i),
					 &x->want, err) < 0 ||
		    apply_plan_compare(a, &x->base.root, &x->want,
				       s->extras[i].result, g->prefix, err) < 0)
			return err_context(err, "%s",
					   text_quote(s->extras[i].path));
	}
	return 0;
}

static int make_extra_plan(struct apply_plan *a, size_t index,
			   const char *prefix, enum plan_resolve resolve,
			   struct err *err)
{
	static const char *const none[] = {NULL};
	struct apply_extra *x = &a->extras[index];
	auto_free char *label = mem_printf("run %s", a->p->session.id);
	char **paths = resolve_run_extra_paths(a->p, index);
	struct plan_options options = {
		.paths = x->picked ? NULL
			 : resolve_run_has_paths(a->p) && !paths
				 ? none
				 : (const char *const *)paths,
		.git_apart = !x->git_picked,
		.refuse_special = true,
		.refuse_unreadable = geteuid() != 0,
		.base_notes = &x->base,
		.now_notes = &x->before,
		.resolve = resolve,
		.our_label = "yours",
		.their_label = label,
	};
	struct plan_counts counts;

	plan_free(&x->plan);
	if (plan_make(a->c->store, &x->base.root,
		      x->picked ? x->picked : &x->want, &x->before.root,
		      &options, &x->plan, err) < 0 ||
	    plan_summary_count(a->c->store, &x->plan, &counts, err) < 0)
		return -err->num;
	if (options.paths == none)
		x->plan.git_skipped = 0;
	x->plan.prefix = prefix;
	plan_summary_add(&a->counts, &counts);
	return 0;
}

int apply_extra_make_plans(struct apply_plan *a, enum plan_resolve resolve,
			   struct err *err)
{
	auto_free struct changes_group *groups = NULL;
	size_t i;

	(void)changes_groups(&a->changes, &groups);
	for (i = 0; i < count_extras(a); i++)
		if (make_extra_plan(a, i, groups[i + 1].prefix, resolve, err) <
		    0)
			return err_context(
				err, "%s",
				text_quote(a->p->session.extras[i].path));
	return 0;
}

/* Those with something to do were the action's other folders, in order. */
int apply_extra_record(struct apply_plan *a, const struct action *action,
		       struct err *err)
{
	size_t i, n = 0;

	for (i = 0; i < count_extras(a); i++) {
		const struct apply_extra *x = &a->extras[i];

		if (!x->plan.step_count)
			continue;
		if (apply_log_add(&a->p->session, i + 1, x->before.seq,
				  action->others[n++].after, &x->plan, err) < 0)
			return -err->num;
	}
	return 0;
}

void apply_extra_unlock(struct apply_plan *a)
{
	size_t i;

	for (i = 0; i < count_extras(a); i++)
		project_close(&a->extras[i].project);
}

void apply_extra_free(struct apply_plan *a)
{
	size_t i;

	for (i = 0; i < count_extras(a); i++) {
		struct apply_extra *x = &a->extras[i];

		plan_free(&x->plan);
		entry_free(&x->want);
		snapshot_free(&x->before);
		snapshot_free(&x->base);
		project_close(&x->project);
	}
	free(a->extras);
	a->extras = NULL;
}
