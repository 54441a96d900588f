#include "guard/applying.h"

#include <errno.h>
#include <inttypes.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/text.h"
#include "guard/applied.h"
#include "guard/live.h"
#include "guard/output.h"
#include "overlay/untouched.h"
#include "restore/result.h"

void applying_free(struct applying *a)
{
	plan_free(&a->plan);
	entry_free(&a->want);
	project_close(&a->project);
	snapshot_free(&a->before);
	snapshot_free(&a->base);
	applying_home_free(&a->home);
	changes_free(&a->changes);
}

static int check_state(const struct pick *p, struct err *err)
{
	const struct session *s = &p->session;

	if (s->state == RUN_DISCARDED)
		return fail(err, ENOENT, "run %s was discarded", s->id);
	if (s->state == RUN_APPLIED && !p->paths && !p->home_paths)
		return fail(err, EALREADY,
			    "run %s is applied already: name paths to apply "
			    "what is left of it",
			    s->id);
	return 0;
}

static int load_base(struct applying *a, struct err *err)
{
	struct session *s = &a->p->session;
	int seq = session_base(s, true, err);

	if (seq == -ENODATA)
		return err_context(
			err,
			"the files as they were before run %s could not be "
			"stored, so that its changes cannot be told from "
			"yours: copy what you need (guard diff %s)",
			s->id, s->id);
	if (seq < 0)
		return seq;
	if (seq == 0)
		return fail(err, ENODATA,
			    "the files as they were before run %s were not "
			    "stored: copy what you need (guard diff %s)",
			    s->id, s->id);
	if (store_refresh(a->c->store, err) < 0)
		return -err->num;
	return catalog_load(a->c->store, s->base, &a->base, err);
}

struct compare {
	struct store *store;
	const struct entry *base;
	bool *changed;
};

static bool same(const struct entry *a, const struct entry *b)
{
	if (!a || !b || !a->mode || !b->mode)
		return (!a || !a->mode) && (!b || !b->mode);
	return entry_same_content(a, b) && entry_same_meta(a, b);
}

/*
 * A path that was stored otherwise after the run is fine when it is now as
 * before the run: it was taken back or is applied already.
 */
static int compare_path(void *arg, const char *path, const struct entry *then,
			const struct entry *want, struct err *err)
{
	struct compare *c = arg;
	struct entry base = {0};
	int got;

	if (same(then, want))
		return 0;
	got = tree_lookup(c->store, c->base, path, &base, err);
	if (got < 0)
		return got;
	if (!same(got ? &base : NULL, want)) {
		output_warn("%s is not as the run left it", text_quote(path));
		*c->changed = true;
	}
	entry_free(&base);
	return 0;
}

static int compare_result(struct applying *a, struct err *err)
{
	AUTO(snapshot) struct snapshot result = {0};
	struct compare c = {
		.store = a->c->store,
		.base = &a->base.root,
		.changed = &a->changed_since,
	};

	if (!a->p->session.result)
		return 0;
	if (catalog_load(a->c->store, a->p->session.result, &result, err) < 0)
		return -err->num;
	return tree_diff(a->c->store, &result.root, &a->want, compare_path, &c,
			 err);
}

bool applying_names_git(char *const *paths)
{
	for (; paths && *paths; paths++)
		if (path_has_part(*paths, ".git"))
			return true;
	return false;
}

bool applying_names_all(char *const *paths)
{
	if (!paths)
		return true;
	for (; *paths; paths++)
		if (!**paths)
			return true;
	return false;
}

bool applying_whole(const struct pick *p)
{
	return applying_names_all(p->paths) && (p->paths || !p->home_paths);
}

int applying_look(struct applying *a, struct err *err)
{
	const struct session *s = &a->p->session;

	if (a->project.path)
		return applying_home_look(a, err);
	if (context_project(a->c, s->project, false, &a->project, err) < 0)
		return -err->num;
	snapshot_free(&a->before);
	if (project_look(a->c->store, &a->project, "pre-apply", s->id,
			 &a->before, err) < 0)
		return -err->num;
	return applying_home_look(a, err);
}

void applying_leave(struct applying *a)
{
	project_close(&a->project);
	project_close(&a->home.project);
}

/*
 * 1: what the run left is in the store, and nobody has been at its layer
 * since; then it is not read again. 0: it has to be.
 */
static int stored_result(struct applying *a, struct err *err)
{
	const struct session *s = &a->p->session;
	AUTO(snapshot) struct snapshot result = {0};
	int got;

	if (!s->result || s->state != RUN_ENDED ||
	    record_get(&s->more, "applied") ||
	    !untouched_since(a->changes.upper_fd, s->ended))
		return 0;
	got = catalog_load(a->c->store, s->result, &result, err);
	if (got < 0)
		return got == -ENOENT ? 0 : got;
	entry_copy(&a->want, &result.root);
	return 1;
}

static int make_want(struct applying *a, struct err *err)
{
	int got = stored_result(a, err);

	if (got)
		return got < 0 ? got : 0;
	return result_make(a->c->store, &a->base.root, a->changes.upper_fd,
			   &a->changes.project, &a->want, err);
}

/* The layer as it is at one moment, in the store: from here on nobody reads it
 * any more. */
static int load_layer(struct applying *a, struct err *err)
{
	if (changes_load(&a->p->session, &a->c->state, &a->changes, err) < 0 ||
	    changes_check(&a->changes.project, a->changes.lower_fd, a->p->paths,
			  err) < 0 ||
	    make_want(a, err) < 0)
		return -err->num;
	return applying_home_load(a, err);
}

int applying_load(struct applying *a, struct err *err)
{
	struct session *s = &a->p->session;
	struct frozen *frozen;
	int got;

	if (check_state(a->p, err) < 0 ||
	    context_store(a->c, STORE_WRITE, err) < 0 ||
	    load_base(a, err) < 0 || applying_look(a, err) < 0 ||
	    applied_rebase(a->c->store, s, &a->base.root, &a->before.root,
			   err) < 0 ||
	    live_hold(s, &frozen, err) < 0)
		return -err->num;
	got = load_layer(a, err);
	freeze_end(&frozen);
	return got < 0 ? got : compare_result(a, err);
}

int applying_lock(struct context *c, struct pick *p, struct err *err)
{
	struct session live = {.fd = -1, .lock_fd = -1};
	struct err odd;
	int got = pick_lock(c, p, err);

	if (got != -EBUSY || session_open(c->state.runs_fd, p->session.id,
					  false, &live, &odd) < 0)
		return got;
	session_free(&p->session);
	p->session = live;
	return pick_is_going(&live) ? 0 : got;
}

int applying_plan(struct applying *a, const struct entry *want,
		  enum plan_resolve resolve, bool git_picked, struct err *err)
{
	static const char *const none[] = {NULL};
	auto_free char *label = mem_printf("run %s", a->p->session.id);
	bool home_alone = a->p->home_paths && !a->p->paths;
	struct plan_options options = {
		.paths = home_alone   ? none
			 : git_picked ? NULL
				      : (const char *const *)a->p->paths,
		.git_apart = !git_picked,
		.refuse_special = true,
		.base_notes = &a->base,
		.resolve = resolve ? resolve : RESOLVE_MERGE,
		.our_label = "project",
		.their_label = label,
	};

	plan_free(&a->plan);
	if (plan_make(a->c->store, &a->base.root, want, &a->before.root,
		      &options, &a->plan, err) < 0 ||
	    carry_count(a->c->store, &a->plan, &a->counts, err) < 0)
		return -err->num;
	if (home_alone)
		a->plan.git_left = 0;
	return applying_home_plan(a, options.resolve, err);
}

int applying_carry(struct applying *a, bool whole, bool git,
		   uint64_t *ret_after, struct err *err)
{
	struct session *s = &a->p->session;
	struct action action = {
		.kind = "apply",
		.run_id = s->id,
		.git = git,
		.whole = whole,
	};
	struct carry_root roots[] = {
		{&a->project, &a->plan, &a->before},
		{&a->home.project, &a->home.plan, &a->home.before},
	};
	size_t count = a->p->home_paths ? 2 : 1;
	auto_free char *before = NULL, *after = NULL;
	uint64_t home_after;
	struct err ignored;
	int got;

	/* A live run's record is its own guard's to write. */
	if (!s->live && session_set_state(s, RUN_APPLYING, err) < 0)
		return -err->num;
	got = carry_out(a->c->store, roots, count, &action, err);
	home_after = action.other_count ? action.others[0].after : 0;
	action_free_roots(&action);
	if (got < 0) {
		if (!s->live && faccessat(a->project.workspace_fd,
					  "next-action", F_OK, 0) < 0)
			(void)session_set_state(s, RUN_ENDED, &ignored);
		return -err->num;
	}
	if (a->plan.step_count &&
	    applied_add(s, a->before.seq, action.after, &a->plan, err) < 0)
		return -err->num;
	if (home_after &&
	    applied_add_home(s, a->home.before.seq, home_after, err) < 0)
		return -err->num;
	if (!s->live && context_settle_run(s, &a->c->state, whole, err) < 0)
		return -err->num;
	before = mem_printf("%" PRIu64, a->before.seq);
	after = mem_printf("%" PRIu64, action.after);
	state_log(&a->c->state, "apply", "run", s->id, "project", s->project,
		  "before", before, "after", after, NULL);
	*ret_after = action.after;
	return 0;
}
