#include "guard/change/apply_plan.h"

#include <errno.h>
#include <inttypes.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/text.h"
#include "guard/apply_log.h"
#include "guard/live.h"
#include "guard/recover.h"
#include "guard/moved_dirs.h"
#include "guard/report.h"
#include "overlay/upper_busy.h"
#include "restore/result.h"
#include "restore/move_from_upper.h"

/* It is worth telling others that an apply is under way. */
#define MANY_STEPS 1000

static const char *const none[] = {NULL};

void apply_plan_free(struct apply_plan *a)
{
	plan_free(&a->plan);
	entry_free(&a->want);
	project_close(&a->project);
	snapshot_free(&a->before);
	snapshot_free(&a->base);
	apply_home_free(&a->home);
	apply_extra_free(a);
	changes_free(&a->changes);
	mem_list_free(&a->agreed);
	mem_list_free(&a->only);
	differences_free(&a->differences);
}

static int check_apply_state(const struct resolved_run *p, struct err *err)
{
	const struct session *s = &p->session;

	if (s->state == RUN_DISCARDED)
		return fail(err, ENOENT, "run %s was discarded", s->id);
	if (s->state == RUN_APPLIED && !resolve_run_has_paths(p))
		return fail(err, EALREADY,
			    "run %s is applied already: name paths to apply "
			    "what is left of it",
			    s->id);
	return 0;
}

static int load_apply_base(struct apply_plan *a, struct err *err)
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
	if (catalog_load(a->c->store, s->base, &a->base, err) < 0)
		return -err->num;
	return apply_extra_load_base(a, err);
}

struct result_comparison {
	struct store *store;
	const struct entry *base;
	const char *prefix;
	bool *changed;
};

static bool is_same_result(const struct entry *a, const struct entry *b)
{
	if (!a || !b || !a->mode || !b->mode)
		return (!a || !a->mode) && (!b || !b->mode);
	return entry_same_content(a, b) && entry_same_meta(a, b);
}

/*
 * A path that was stored otherwise after the run is fine when it is now as
 * before the run: it was taken back or is applied already.
 */
static int compare_result_path(void *arg, const char *path,
			       const struct entry *then,
			       const struct entry *want, struct err *err)
{
	struct result_comparison *c = arg;
	struct entry base = {0};
	int got;

	if (is_same_result(then, want))
		return 0;
	got = tree_lookup(c->store, c->base, path, &base, err);
	if (got < 0)
		return got;
	if (!is_same_result(got ? &base : NULL, want)) {
		auto_free char *name = mem_printf("%s%s", c->prefix, path);

		report_warning("%s is not as the run left it",
			       text_quote(name));
		*c->changed = true;
	}
	entry_free(&base);
	return 0;
}

int apply_plan_compare(struct apply_plan *a, const struct entry *base,
		       const struct entry *want, uint64_t seq,
		       const char *prefix, struct err *err)
{
	AUTO(snapshot) struct snapshot result = {0};
	struct result_comparison c = {
		.store = a->c->store,
		.base = base,
		.prefix = prefix,
		.changed = &a->changed_since,
	};

	if (!seq)
		return 0;
	if (catalog_load(a->c->store, seq, &result, err) < 0)
		return -err->num;
	return tree_diff(a->c->store, &result.root, want, compare_result_path,
			 &c, err);
}

int apply_plan_refresh(struct apply_plan *a, struct err *err)
{
	const struct session *s = &a->p->session;
	int got;

	if (a->project.path)
		return apply_extra_refresh(a, err) < 0
			       ? -err->num
			       : apply_home_refresh(a, err);
	got = context_project(a->c, s->project, false, &a->project, err);
	if (got < 0)
		return changes_explain(got, s->project, err);
	a->project.only = (const char *const *)a->only;
	snapshot_free(&a->before);
	if (project_inspect(a->c->store, &a->project, "pre-apply", s->id,
			    &a->before, err) < 0 ||
	    apply_extra_refresh(a, err) < 0)
		return -err->num;
	return apply_home_refresh(a, err);
}

void apply_plan_unlock(struct apply_plan *a)
{
	project_close(&a->project);
	apply_extra_unlock(a);
	project_close(&a->home.project);
}

/*
 * 1: what the run left is in the store, and nobody has been at its layer
 * since; then it is not read again. 0: it has to be. What was applied while the
 * run went on was none of its changes any more when that was stored.
 */
static int load_stored_result(struct apply_plan *a,
			      const struct change_list *list, uint64_t seq,
			      struct entry *ret, struct err *err)
{
	const struct session *s = &a->p->session;
	AUTO(snapshot) struct snapshot result = {0};
	int got;

	if (!seq || s->state != RUN_ENDED || apply_log_any(s) ||
	    timestamp_compare(list->newest, s->ended) >= 0)
		return 0;
	got = catalog_load(a->c->store, seq, &result, err);
	if (got < 0)
		return got == -ENOENT ? 0 : got;
	entry_copy(ret, &result.root);
	return 1;
}

int apply_plan_load_want(struct apply_plan *a, const struct entry *base,
			 int upper_fd, const struct change_list *list,
			 uint64_t seq, char **paths, struct entry *ret,
			 struct err *err)
{
	const char *const *only = NULL;
	int got = load_stored_result(a, list, seq, ret, err);

	if (resolve_run_has_paths(a->p) && !resolve_run_names_git(paths))
		only = paths ? (const char *const *)paths : none;
	return got ? got
		   : result_make(a->c->store, base, upper_fd, list, only, ret,
				 err);
}

/* The layer as it is at one moment, in the store: from here on nobody reads it
 * any more. */
static int load_layer_trees(struct apply_plan *a, struct err *err)
{
	const struct session *s = &a->p->session;
	int got;

	if (changes_load(s, &a->c->state, &a->changes, err) < 0 ||
	    resolve_run_check(a->p, &a->changes, err) < 0)
		return -err->num;
	got = apply_plan_load_want(a, &a->base.root, a->changes.upper_fd,
				   &a->changes.project, s->result, a->p->paths,
				   &a->want, err);
	a->result_is_stored = got > 0;
	if (got < 0 || apply_extra_load_want(a, err) < 0)
		return -err->num;
	return apply_home_load(a, err);
}

/* First the project, all of it: what was applied of the run before is none of
 * its changes any more. */
static int refresh_and_load(struct apply_plan *a, struct err *err)
{
	struct session *s = &a->p->session;
	struct freezer *freezer;
	int got;

	if (apply_plan_refresh(a, err) < 0 ||
	    apply_log_rebase(a->c->store, s, 0, a->project.workspace_fd,
			     &a->base.root, &a->before.root, err) < 0 ||
	    live_suspend(s, &freezer, err) < 0)
		return -err->num;
	got = load_layer_trees(a, err);
	freezer_end(&freezer);
	return got;
}

static int load_and_refresh(struct apply_plan *a, struct err *err)
{
	if (load_layer_trees(a, err) < 0 ||
	    apply_partial_choose_paths(a, err) < 0)
		return -err->num;
	return apply_plan_refresh(a, err);
}

int apply_plan_load(struct apply_plan *a, struct err *err)
{
	struct session *s = &a->p->session;
	int got;

	if (check_apply_state(a->p, err) < 0 ||
	    context_store(a->c, STORE_WRITE, err) < 0 ||
	    (!s->live && moved_dirs_restore(s, a->c->store, err) < 0) ||
	    load_apply_base(a, err) < 0)
		return -err->num;
	got = apply_partial_is_possible(a) ? load_and_refresh(a, err)
					   : refresh_and_load(a, err);
	return got < 0 ? got
		       : apply_plan_compare(a, &a->base.root, &a->want,
					    s->result, "", err);
}

int apply_plan_lock(struct context *c, struct resolved_run *p, struct err *err)
{
	struct session live = {.fd = -1, .lock_fd = -1};
	struct err open_err;
	int got = resolve_run_lock(c, p, err);

	if (got != -EBUSY)
		return got;
	if (session_open(c->state.runs_fd, p->session.id, false, &live,
			 &open_err) < 0) {
		*err = open_err;
		return -err->num;
	}
	session_free(&p->session);
	p->session = live;
	return resolve_run_is_running(&live) ? 0 : got;
}

int apply_plan_make(struct apply_plan *a, const struct entry *want,
		    enum plan_resolve resolve, bool git_picked, struct err *err)
{
	auto_free char *label = mem_printf("run %s", a->p->session.id);
	/* Others were named, and nothing of the project. */
	bool others_alone =
		resolve_run_has_paths(a->p) && !a->p->paths && !git_picked;
	struct plan_options options = {
		.paths = others_alone ? none
			 : git_picked ? NULL
				      : (const char *const *)a->p->paths,
		.git_apart = !git_picked,
		.partial_now = a->only != NULL,
		.refuse_special = true,
		.refuse_unreadable = geteuid() != 0,
		.agreed = (const char *const *)a->agreed,
		.base_notes = &a->base,
		.now_notes = &a->before,
		.resolve = resolve ? resolve : RESOLVE_MERGE,
		.our_label = "project",
		.their_label = label,
		.differences = want == &a->want && a->differences.complete
				       ? &a->differences
				       : NULL,
	};

	plan_free(&a->plan);
	a->is_complete = want == &a->want;
	if (plan_make(a->c->store, &a->base.root, want, &a->before.root,
		      &options, &a->plan, err) < 0 ||
	    plan_summary_count(a->c->store, &a->plan, &a->counts, err) < 0)
		return -err->num;
	if (others_alone)
		a->plan.git_skipped = 0;
	if (apply_extra_make_plans(a, options.resolve, err) < 0)
		return -err->num;
	return apply_home_make_plan(a, options.resolve, err);
}

size_t apply_plan_list(struct apply_plan *a, struct plan ***ret)
{
	size_t count = a->extras ? a->p->session.extra_count : 0, i, n = 0;

	*ret = mem_zalloc((count + 2) * sizeof(**ret));
	(*ret)[n++] = &a->plan;
	for (i = 0; i < count; i++)
		(*ret)[n++] = &a->extras[i].plan;
	(*ret)[n++] = &a->home.plan;
	return n;
}

bool apply_plan_has_steps(struct apply_plan *a)
{
	auto_free struct plan **plans = NULL;
	size_t count = apply_plan_list(a, &plans), i;

	for (i = 0; i < count; i++)
		if (plans[i]->step_count)
			return true;
	return false;
}

/* The project, whatever is done there, and what else is changed. */
static struct planned_root *
list_planned_roots(struct apply_plan *a, const struct transaction_layer *layer,
		   size_t *ret_count)
{
	size_t extras = a->p->session.extra_count, n = 0, i;
	struct planned_root *roots = mem_zalloc((extras + 2) * sizeof(*roots));

	roots[n++] =
		(struct planned_root){&a->project, &a->plan, &a->before, layer};
	for (i = 0; i < extras; i++) {
		struct apply_extra *x = &a->extras[i];

		if (x->plan.step_count)
			roots[n++] = (struct planned_root){
				&x->project, &x->plan, &x->before};
	}
	if (a->p->home_paths)
		roots[n++] = (struct planned_root){
			&a->home.project, &a->home.plan, &a->home.before};
	*ret_count = n;
	return roots;
}

/* What of it counts as done by guard, when the run goes on. */
static int record_applied_paths(struct apply_plan *a,
				const struct action *action, struct err *err)
{
	const struct session *s = &a->p->session;
	const struct action_root *home = NULL;

	if (a->plan.step_count &&
	    apply_log_add(s, 0, a->before.seq, action->after, &a->plan, err) <
		    0)
		return -err->num;
	if (apply_extra_record(a, action, err) < 0)
		return -err->num;
	if (a->p->home_paths)
		home = &action->others[action->other_count - 1];
	if (home && home->after &&
	    apply_log_add_home(s, a->home.before.seq, home->after, err) < 0)
		return -err->num;
	return 0;
}

/*
 * New folders come out of the layer itself when all of the run is applied:
 * what is left of its layer then, nobody has to decide on any more.
 */
static char **choose_moved_dirs(struct apply_plan *a, bool complete)
{
	struct session *s = &a->p->session;
	char **paths;

	if (!complete || s->live || !a->result_is_stored || !a->is_complete)
		return NULL;
	paths = move_from_upper_choose(&a->plan);
	if (paths && !upper_busy_ruled_out(s->fd, a->changes.upper_fd))
		mem_list_free(&paths);
	moved_dirs_record(s, paths);
	return paths;
}

static int handle_failed_apply(struct apply_plan *a, int num)
{
	struct session *s = &a->p->session;
	struct err more;

	/* What is left half done, the next command ends. */
	if (s->live || fd_exists(a->project.workspace_fd, "next-action"))
		return num;
	if (moved_dirs_restore(s, a->c->store, &more) < 0)
		report_warning("%s", more.text);
	(void)session_set_state(s, RUN_ENDED, &more);
	return num;
}

int apply_plan_check(struct apply_plan *a, struct err *err)
{
	size_t count;
	auto_free struct planned_root *roots =
		list_planned_roots(a, NULL, &count);

	return execute_plans_check(a->c->store, roots, count, err);
}

/*
 * The run says that it is being applied where that takes a moment, or where
 * parts of its layer may be missing from now on. A live run's record is its own
 * guard's to write.
 */
static int announce_apply(struct apply_plan *a, bool moved_dirs,
			  struct err *err)
{
	struct session *s = &a->p->session;

	return s->live || (!moved_dirs && a->plan.step_count < MANY_STEPS)
		       ? 0
		       : session_set_state(s, RUN_APPLYING, err);
}

/* The files are as they shall be, and undo knows of it: what fails now is no
 * reason to call the apply failed. false: the next command has to settle it. */
static bool finish_apply(struct apply_plan *a, const struct action *action)
{
	struct session *s = &a->p->session;
	struct err err;

	if (record_applied_paths(a, action, &err) < 0)
		report_warning("it is done, but what run %s had applied by now "
			       "could not be noted: %s",
			       s->id, err.text);
	if (s->live ||
	    recover_set_run_state(a->c, s, action->complete, &err) == 0)
		return true;
	report_warning(
		"it is done, but the state of run %s could not be noted; "
		"the next command of guard here tries again: %s",
		s->id, err.text);
	return false;
}

int apply_plan_execute(struct apply_plan *a, bool complete, bool git,
		       uint64_t *ret_after, struct err *err)
{
	struct session *s = &a->p->session;
	struct action action = {
		.kind = "apply",
		.run_id = s->id,
		.git = git,
		.complete = complete,
	};
	char **moved_dirs = choose_moved_dirs(a, complete);
	const struct transaction_layer layer = {
		.upper_fd = a->changes.upper_fd,
		.before = s->ended,
		.paths = moved_dirs,
		.changes = &a->changes.project,
	};
	auto_free struct planned_root *roots = NULL;
	auto_free char *before = NULL, *after = NULL;
	size_t count;
	int got;

	roots = list_planned_roots(a, moved_dirs ? &layer : NULL, &count);
	execute_plans_await_starts(a->c, roots, count);
	got = announce_apply(a, moved_dirs != NULL, err);
	if (got == 0)
		got = execute_plans(a->c->store, roots, count, &action, err);
	mem_list_free(&moved_dirs);
	if (got < 0)
		got = handle_failed_apply(a, got);
	else if (finish_apply(a, &action))
		action_close(a->project.workspace_fd, &action);
	action_free_roots(&action);
	if (got < 0)
		return got;
	before = mem_printf("%" PRIu64, a->before.seq);
	after = mem_printf("%" PRIu64, action.after);
	state_log(&a->c->state, "apply", "run", s->id, "project", s->project,
		  "before", before, "after", after, NULL);
	*ret_after = action.after;
	return 0;
}
