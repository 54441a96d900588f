#include "guard/cli/patch_print.h"

#include "base/auto.h"
#include "base/text.h"
#include "guard/cli/output.h"
#include "restore/git/gitpatch.h"

struct patch_output {
	FILE *file;
	bool raw; /* no terminal: the bytes as they are */
	bool left_out; /* something that is no mere metadata */
};

static int write_patch_data(void *arg, const void *data, size_t len,
			    struct err *err)
{
	const struct patch_output *p = arg;
	AUTO(buf) struct buf b = {0};

	if (!p->raw) {
		text_escape(&b, data, len, true);
		data = b.data;
		len = b.len;
	}
	if (fwrite(data, 1, len, p->file) != len)
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
	struct patch_output *p = arg;

	if (loss == GITPATCH_KIND || loss == GITPATCH_LARGE ||
	    loss == GITPATCH_FILTER || loss == GITPATCH_INCOMPLETE)
		p->left_out = true;
	output_warn("not in the patch: %s: %s", text_quote(path),
		    patch_loss_text(loss));
}

int patch_print(struct context *c, const struct resolved_run *run,
		const struct entry *base, const struct entry *result, FILE *to,
		bool raw, struct err *err)
{
	struct patch_output p = {.file = to, .raw = raw};
	const struct gitpatch_sink sink = {
		.add = write_patch_data,
		.lost = print_patch_loss,
		.arg = &p,
	};
	const struct gitpatch_job job = {
		.paths = (const char *const *)resolve_run_paths(run, 0),
		.repository = run->session.project,
		.home = c->state.home,
	};

	if (gitpatch_make(c->store, base, result, &job, &sink, err) < 0)
		return -err->num;
	return !p.left_out;
}
