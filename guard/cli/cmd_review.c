#include <malloc.h>

#include "guard/cli/choose_run.h"
#include "guard/cli/commands.h"
#include "guard/change/recover.h"
#include "guard/cli/review_session.h"

int cmd_review(const struct options *o, struct context *c, struct err *err)
{
	AUTO(resolved_run) struct resolved_run p = RESOLVED_RUN_NONE;
	AUTO(apply_plan) struct apply_plan a = APPLY_PLAN_NONE;
	const struct review_session_options options = {
		.kinds = o->kinds,
		.forget = o->forget,
		.no_pager = o->no_pager,
		.plain = o->plain,
		.mouse = o->mouse,
		.test = o->test,
	};

	/* The list stays in memory: a heap of the second thread's own would
	 * keep 2 MB more. */
	(void)mallopt(M_ARENA_MAX, 1);
	a.c = c;
	a.p = &p;
	if (choose_run_open(c, o, &p, err) < 0 ||
	    recover_project(c, p.session.project, err) < 0 ||
	    resolve_run_lock(c, &p, err) < 0)
		return -err->num;
	return review_session_run(&a, &options, err);
}
