#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/text.h"
#include "guard/changes.h"
#include "guard/commands.h"
#include "guard/context.h"
#include "guard/options.h"
#include "guard/output.h"
#include "guard/pick.h"
#include "restore/gitpatch.h"
#include "restore/result.h"

struct patch {
	struct context *c;
	struct pick *p;
	struct changes changes;
	struct snapshot base;
	struct entry result;
	bool raw; /* no terminal: the bytes as they are */
	bool left_out; /* something that is no mere metadata */
};

static void patch_free(struct patch *p)
{
	entry_free(&p->result);
	snapshot_free(&p->base);
	changes_free(&p->changes);
}

/* The two sides: what was before the run, what it left. */
static int load(struct patch *p, struct err *err)
{
	struct session *s = &p->p->session;
	struct context *c = p->c;
	int seq;

	if (p->p->home_paths)
		return fail(err, ENOTSUP,
			    "%s lies in your home folder: patches are of the "
			    "project",
			    text_quote(p->p->home_paths[0]));
	if (changes_load(s, NULL, &p->changes, err) < 0 ||
	    changes_check(&p->changes.project, p->changes.lower_fd, p->p->paths,
			  err) < 0 ||
	    context_store(c, STORE_WRITE, err) < 0)
		return -err->num;
	seq = session_base(s, true, err);
	if (seq < 0)
		return seq;
	if (seq == 0)
		return fail(err, ENODATA,
			    "the files as they were before run %s were not "
			    "stored",
			    s->id);
	if (store_refresh(c->store, err) < 0 ||
	    catalog_load(c->store, s->base, &p->base, err) < 0)
		return -err->num;
	return result_make(c->store, &p->base.root, p->changes.upper_fd,
			   &p->changes.project, &p->result, err);
}

static int print_piece(void *arg, const void *data, size_t len, struct err *err)
{
	const struct patch *p = arg;
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

static void say_lost(void *arg, const char *path, enum gitpatch_loss loss)
{
	struct patch *p = arg;

	if (loss == GITPATCH_KIND || loss == GITPATCH_LARGE ||
	    loss == GITPATCH_INCOMPLETE)
		p->left_out = true;
	output_warn("not in the patch: %s: %s", text_quote(path),
		    gitpatch_loss_text(loss));
}

static int patch(struct context *c, int count, char **argv, int dashed,
		 struct err *err)
{
	AUTO(pick) struct pick pick = PICK_NONE;
	AUTO(patch)
	struct patch p = {
		.c = c,
		.p = &pick,
		.changes = CHANGES_NONE,
		.raw = !isatty(STDOUT_FILENO),
	};
	struct gitpatch_sink sink = {
		.add = print_piece,
		.lost = say_lost,
		.arg = &p,
	};

	if (context_open(c, true, err) < 0 ||
	    pick_run(c, count, argv, dashed, false, &pick, err) < 0 ||
	    context_recover(c, pick.session.project, err) < 0 ||
	    pick_lock(c, &pick, err) < 0 || load(&p, err) < 0 ||
	    gitpatch_make(c->store, &p.base.root, &p.result,
			  (const char *const *)pick.paths, &sink, err) < 0)
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
	int got;

	got = options_take(verb, argc, argv, slots);
	if (got != OPTIONS_END)
		return got;
	got = patch(&c, argc - optind, argv + optind, dashed, &err);
	return output_ended(got, &err);
}
