#include <unistd.h>

#include "guard/cli/choose_run.h"
#include "guard/cli/commands.h"
#include "guard/review/run_trees.h"
#include "guard/change/resolve_run.h"
#include "guard/change/recover.h"
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

static const char *patch_loss_text(enum gitpatch_loss loss)
{
	static const char *const texts[] = {
		[GITPATCH_EMPTY_DIR] = "git cannot store empty directories",
		[GITPATCH_MODE] =
			"git stores only the executable bit of a mode",
		[GITPATCH_OWNER] = "git cannot store owners",
		[GITPATCH_ATTRS] = "git cannot store extended attributes",
		[GITPATCH_KIND] = "git can store files and links only",
		[GITPATCH_GIT] = "a .git is never part of a patch",
		[GITPATCH_LARGE] = "it is too large",
		[GITPATCH_FILTER] =
			"git stores it through a filter; guard runs none",
		[GITPATCH_SAME] =
			"only its line endings differ, and git normalizes them",
		[GITPATCH_INCOMPLETE] =
			"it could not be read completely when it was stored",
	};

	return texts[loss];
}

static void print_patch_loss(void *arg, const char *path,
			     enum gitpatch_loss loss)
{
	struct patch_command *p = arg;

	if (loss == GITPATCH_KIND || loss == GITPATCH_LARGE ||
	    loss == GITPATCH_FILTER || loss == GITPATCH_INCOMPLETE)
		p->left_out = true;
	output_warn("not in the patch: %s: %s", text_quote(path),
		    patch_loss_text(loss));
}

int cmd_patch(int argc, char **argv)
{
	const struct verb *verb = options_verb("patch");
	AUTO(context) struct context c = CONTEXT_NONE;
	AUTO(resolved_run) struct resolved_run run = RESOLVED_RUN_NONE;
	AUTO(run_trees) struct run_trees trees = RUN_TREES_NONE;
	struct patch_command p = {.raw = !isatty(STDOUT_FILENO)};
	struct gitpatch_sink sink = {
		.add = write_patch_data,
		.lost = print_patch_loss,
		.arg = &p,
	};
	struct gitpatch_job job;
	int dashed = options_after_dashes(argc, argv);
	const struct option_slot slots[] = {{0}};
	struct err err;
	int got = options_parse(verb, argc, argv, slots);

	if (got != OPTIONS_END)
		return got;
	if (context_open(&c, true, &err) < 0 ||
	    resolve_run_open(&c, argc - optind, argv + optind, dashed, false,
			     &run, &err) < 0)
		return output_status(-err.num, &err);
	got = choose_run_check(&c, &run, true, argv + optind, &err);
	if (got)
		return output_status(got, &err);
	if (recover_project(&c, run.session.project, &err) < 0 ||
	    resolve_run_lock(&c, &run, &err) < 0 ||
	    run_trees_load(&c, &run, "patches are", &trees, &err) < 0)
		return output_status(-err.num, &err);
	job = (struct gitpatch_job){
		.paths = (const char *const *)resolve_run_paths(&run, 0),
		.repository = run.session.project,
		.home = c.state.home,
	};
	if (gitpatch_make(c.store, &trees.base.root, &trees.result, &job, &sink,
			  &err) < 0)
		return output_status(-err.num, &err);
	return output_finish() && !p.left_out ? STATUS_OK : STATUS_REFUSED;
}
