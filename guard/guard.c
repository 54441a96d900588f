#include "guard/guard.h"

#include <errno.h>
#include <stdlib.h>

#include "base/auto.h"
#include "base/vec.h"
#include "guard/change/apply_plan.h"
#include "guard/change/user_rules.h"
#include "guard/change/recover.h"
#include "guard/parse/parse_worker.h"
#include "guard/review/judgement.h"
#include "guard/state/moved_project.h"
#include "guard/state/report.h"
#include "overlay/session_list.h"

struct guard {
	struct context context;
};

/* The receiver of the messages of the apply that is going on. */
static const struct guard_ui *message_ui;

static void pass_message(enum report_kind kind, const char *text)
{
	if (kind != REPORT_HINT && message_ui && message_ui->message)
		message_ui->message(message_ui->arg, text);
}

static void pass_error(const struct err *err)
{
	pass_message(REPORT_WARNING, err->text);
}

static const struct report_sink message_sink = {
	.message = pass_message,
	.error = pass_error,
};

int guard_open(const char *directory, struct guard **ret, struct err *err)
{
	static const struct context none = CONTEXT_NONE;
	struct guard *g = mem_zalloc(sizeof(*g));
	struct context *c = &g->context;

	*c = none;
	c->wait_for_lock = true;
	if (user_rules_load(err) < 0 || context_open(c, false, err) < 0 ||
	    !(c->project =
		      state_project(&c->state, directory, PROJECT_FIND, err))) {
		guard_close(&g);
		return -err->num;
	}
	report_to(&message_sink);
	moved_project_find(&c->state, c->project);
	parse_worker_install();
	*ret = g;
	return 0;
}

void guard_close(struct guard **g)
{
	if (!*g)
		return;
	context_free(&(*g)->context);
	free(*g);
	*g = NULL;
}

const char *guard_project(const struct guard *g)
{
	return g->context.project;
}

int guard_pending(struct guard *g,
		  int (*each)(void *arg, const struct guard_run *run),
		  void *arg, struct err *err)
{
	AUTO(session_list) struct session_list list = {0};
	size_t i;
	int got;

	if (session_list_pending(g->context.state.runs_fd, g->context.project,
				 &list, err) < 0)
		return -err->num;
	for (i = 0; i < list.count; i++) {
		const struct session *s = &list.items[i];
		const struct guard_run run = {
			.id = s->id,
			.command = s->command,
			.started = (time_t)s->started.sec,
			.running = resolve_run_is_running(s),
			.status = s->status,
		};

		if (!run_state_pending(s->state) ||
		    !session_has_root(s, g->context.project))
			continue;
		got = each(arg, &run);
		if (got)
			return got;
	}
	return 0;
}

typedef VEC(struct guard_step) guard_step_list;

static void add_blocked(guard_step_list *list, const char *root,
			const char *path, const char *reason)
{
	*VEC_ADD(list) = (struct guard_step){
		.kind = GUARD_STEP_BLOCKED,
		.root = root,
		.path = path,
		.reason = reason,
	};
}

/* Adds the steps of one root's plan. Returns how many are blocked. */
static size_t list_steps(const char *root, const struct plan *p,
			 guard_step_list *list)
{
	static const enum guard_step_kind kinds[] = {
		[STEP_DELETE] = GUARD_STEP_DELETE,
		[STEP_REPLACE] = GUARD_STEP_REPLACE,
		[STEP_CREATE] = GUARD_STEP_CREATE,
		[STEP_META] = GUARD_STEP_META,
	};
	size_t i;

	for (i = 0; i < p->steps.count; i++)
		*VEC_ADD(list) = (struct guard_step){
			.kind = kinds[p->steps.items[i].kind],
			.root = root,
			.path = p->steps.items[i].path,
		};
	for (i = 0; i < p->conflicts.count; i++)
		add_blocked(list, root, p->conflicts.items[i].path,
			    conflict_text(p->conflicts.items[i].kind));
	for (i = 0; i < p->refusals.count; i++)
		add_blocked(list, root, p->refusals.items[i].path,
			    refusal_reason(&p->refusals.items[i]));
	return p->conflicts.count + p->refusals.count;
}

/* Lists the only copies that the run loses: the plan blocks these steps. */
static int find_copies(struct apply_plan *a, struct err *err)
{
	const struct session *s = &a->p->session;
	AUTO(changes) struct changes changes = CHANGES_NONE;
	AUTO(judgement) struct judgement judgement = {0};

	if (changes_load_own(a->c, s, &changes, err) < 0)
		return -err->num;
	changes_find_moves(&changes);
	(void)judgement_make(s, &changes, 0, &judgement);
	judgement_list_copies(&judgement, s, &a->consent);
	return 0;
}

static int agree_and_apply(struct apply_plan *a, const struct guard_ui *ui,
			   struct err *err)
{
	guard_step_list steps = {0};
	struct guard_plan plan = {0};
	uint64_t after;
	bool agreed;
	size_t i;

	if (apply_plan_load(a, err) < 0 || find_copies(a, err) < 0 ||
	    apply_plan_make(a, RESOLVE_NOT, err) < 0 ||
	    apply_plan_check_halves(a, err) < 0)
		return -err->num;
	for (i = 0; i < a->change.root_count; i++)
		plan.blocked += list_steps(a->change.roots[i].project.path,
					   &a->change.roots[i].plan, &steps);
	plan.steps = steps.items;
	plan.count = steps.count;
	if (!plan.count && apply_plan_home_left(a))
		return fail(err, ENOTSUP,
			    "run %s changed only the home directory: name the "
			    "paths, guard apply %s -- PATH...",
			    session_label(&a->p->session),
			    session_label(&a->p->session));
	if (!plan.count)
		return recover_set_run_state(a->c, &a->p->session, true, err);
	agreed = ui->agree(ui->arg, &plan);
	VEC_FREE(&steps);
	if (plan.blocked)
		return fail(err, EEXIST,
			    "%zu changes of run %s cannot be applied: guard "
			    "apply -n %s names the remedies",
			    plan.blocked, session_label(&a->p->session),
			    session_label(&a->p->session));
	if (!agreed)
		return fail(err, ECANCELED, "the apply of run %s was declined",
			    session_label(&a->p->session));
	return apply_plan_execute(a, true, false, &after, err);
}

int guard_apply(struct guard *g, const char *run, const struct guard_ui *ui,
		struct err *err)
{
	AUTO(resolved_run) struct resolved_run p = RESOLVED_RUN_NONE;
	struct apply_plan a = APPLY_PLAN_NONE;
	struct context *c = &g->context;
	int got;

	a.c = c;
	a.p = &p;
	message_ui = ui;
	if (resolve_run_text(c, run, false, &p.session, err) < 0 ||
	    recover_project(c, p.session.project, err) < 0 ||
	    apply_plan_lock(c, &p, err) < 0)
		got = -err->num;
	else
		got = agree_and_apply(&a, ui, err);
	apply_plan_free(&a);
	message_ui = NULL;
	return got;
}
