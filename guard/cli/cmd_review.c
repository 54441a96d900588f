#include <malloc.h>

#include "guard/cli/commands.h"
#include "guard/change/recover.h"
#include "guard/cli/review_session.h"

int cmd_review(int argc, char **argv)
{
	const struct verb *verb = options_verb("review");
	AUTO(context) struct context c = CONTEXT_NONE;
	AUTO(resolved_run) struct resolved_run p = RESOLVED_RUN_NONE;
	AUTO(apply_plan) struct apply_plan a = APPLY_PLAN_NONE;
	struct review_session_options o = {0};
	enum output_when color = OUTPUT_AUTO;
	int dashed = options_after_dashes(argc, argv);
	const struct option_slot slots[] = {
		{OPT_KINDS, .flag = &o.kinds},
		{OPT_FORGET, .flag = &o.forget},
		{OPT_NO_PAGER, .flag = &o.no_pager},
		{OPT_PLAIN, .flag = &o.plain},
		{OPT_MOUSE, .flag = &o.mouse},
		{OPT_TEST, .text = &o.test},
		{OPT_COLOR, .read = options_color, .to = &color},
		{0},
	};
	struct err err;
	int got = options_parse(verb, argc, argv, slots);

	/* The list stays in memory: a heap of the second thread's own would
	 * keep 2 MB more. */
	(void)mallopt(M_ARENA_MAX, 1);

	if (got != OPTIONS_END)
		return got;
	output_color(color);
	a.c = &c;
	a.p = &p;
	if (context_open(&c, true, &err) < 0 ||
	    resolve_run_open(&c, argc - optind, argv + optind, dashed, false,
			     &p, &err) < 0 ||
	    recover_project(&c, p.session.project, &err) < 0 ||
	    resolve_run_lock(&c, &p, &err) < 0)
		return output_status(-err.num, &err);
	got = review_session_run(&a, &o, &err);
	return output_status(got, &err);
}
