#include <stdio.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/text.h"
#include "guard/cli/commands.h"
#include "guard/state/context.h"
#include "guard/review/run_trees.h"
#include "guard/cli/options.h"
#include "guard/cli/output.h"
#include "guard/state/resolve_run.h"
#include "guard/state/recover.h"
#include "restore/git/gitpatch.h"

struct patch_command {
	bool raw; /* no terminal: the bytes as they are */
	bool left_out; /* something that is no mere metadata */
};

static int write_patch_data(void *arg, const void *data, size_t len,
			    struct err *err)
{
	const struct patch_command *p = arg;
	AUTO(buf) struct buf b = {0};

	if (!p->raw) {
		text_escape(&b, data, len, true);
		data = b.data;
		len = b.len;
	}
	if (fwrite(data, 1, len, stdout) != len)
		return fail_errno(err, "write the patch");
	return 0;
}

static void print_patch_loss(void *arg, const char *path,
			     enum gitpatch_loss loss)
{
	struct patch_command *p = arg;

	if (loss == GITPATCH_KIND || loss == GITPATCH_LARGE ||
	    loss == GITPATCH_FILTER || loss == GITPATCH_INCOMPLETE)
		p->left_out = true;
	output_warn("not in the patch: %s: %s", text_quote(path),
		    gitpatch_loss_text(loss));
}

static int patch_command(struct context *c, int count, char **argv, int dashed,
			 struct err *err)
{
	AUTO(resolved_run) struct resolved_run resolved_run = RESOLVED_RUN_NONE;
	AUTO(run_trees) struct run_trees run_trees = RUN_TREES_NONE;
	struct patch_command p = {.raw = !isatty(STDOUT_FILENO)};
	struct gitpatch_sink sink = {
		.add = write_patch_data,
		.lost = print_patch_loss,
		.arg = &p,
	};
	struct gitpatch_job job;

	if (context_open(c, true, err) < 0 ||
	    resolve_run_open(c, count, argv, dashed, false, &resolved_run,
			     err) < 0 ||
	    recover_project(c, resolved_run.session.project, err) < 0 ||
	    resolve_run_lock(c, &resolved_run, err) < 0 ||
	    run_trees_load(c, &resolved_run, "patches are", &run_trees, err) <
		    0)
		return -err->num;
	job = (struct gitpatch_job){
		.paths = (const char *const *)resolve_run_paths(&resolved_run,
								0),
		.repository = resolved_run.session.project,
		.home = c->state.home,
	};
	if (gitpatch_make(c->store, &run_trees.base.root, &run_trees.result,
			  &job, &sink, err) < 0)
		return -err->num;
	if (!output_finish())
		return STATUS_REFUSED;
	return p.left_out ? STATUS_REFUSED : STATUS_OK;
}

int cmd_patch(int argc, char **argv)
{
	const struct verb *verb = options_verb("patch");
	AUTO(context) struct context c = CONTEXT_NONE;
	int dashed = options_after_dashes(argc, argv);
	const struct option_slot slots[] = {{0}};
	struct err err;
	int got = options_parse(verb, argc, argv, slots);

	if (got != OPTIONS_END)
		return got;
	got = patch_command(&c, argc - optind, argv + optind, dashed, &err);
	return output_status(got, &err);
}
