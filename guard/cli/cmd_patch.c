#include <unistd.h>

#include "guard/cli/choose_run.h"
#include "guard/cli/commands.h"
#include "guard/cli/patch_print.h"
#include "guard/review/run_trees.h"
#include "guard/change/resolve_run.h"
#include "guard/change/recover.h"

int cmd_patch(const struct options *o, struct context *c, struct err *err)
{
	AUTO(resolved_run) struct resolved_run run = RESOLVED_RUN_NONE;
	AUTO(run_trees) struct run_trees trees = RUN_TREES_NONE;
	int got;

	if (choose_run_open(c, o, &run, err) < 0)
		return -err->num;
	got = choose_run_check(c, &run, true, o->operands, err);
	if (got)
		return got;
	if (recover_project(c, run.session.project, err) < 0 ||
	    resolve_run_lock(c, &run, err) < 0 ||
	    run_trees_load(c, &run, "patches are", &trees, err) < 0)
		return -err->num;
	got = patch_print(c, &run, &trees.base.root, &trees.result, stdout,
			  !isatty(STDOUT_FILENO), err);
	return got < 0 ? got : got ? STATUS_OK : STATUS_REFUSED;
}
