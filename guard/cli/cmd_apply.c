#include <termios.h>
#include <unistd.h>

#include "base/path.h"
#include "guard/change/committing.h"
#include "guard/cli/apply_consent.h"
#include "guard/cli/apply_report.h"
#include "guard/cli/apply_selection.h"
#include "guard/cli/choose_run.h"
#include "guard/cli/commands.h"
#include "guard/cli/commit_files_show.h"
#include "guard/cli/follow.h"
#include "guard/cli/plan_print.h"
#include "guard/change/recover.h"
#include "guard/cli/review_session.h"
#include "guard/cli/risk_show.h"
#include "guard/cli/verdict_show.h"

/* The state of an apply. */
struct apply {
	struct apply_plan in;
	const struct options *o;
	struct apply_consent consent;
	struct apply_selection selection; /* parts of files */
	struct apply_commits commits;
	struct committing_options commit;
	struct plan_counts counts; /* sums over the final plans */
	bool applied;
	uint64_t after; /* the snapshot after it, or 0 */
};

static void apply_free(struct apply *a)
{
	apply_consent_free(&a->consent);
	apply_commits_free(&a->commits);
	apply_selection_free(&a->selection);
	apply_plan_free(&a->in);
}

/* The project's tree that is applied. */
static const struct entry *wanted_root(const struct apply *a)
{
	const struct changeset_root *root = &a->in.change.roots[0];

	return root->picked ?: &root->want.root;
}

/* All that the run changed in its roots. */
static bool is_complete(const struct apply *a)
{
	return resolve_run_is_complete(a->in.p) &&
	       !apply_selection_any(&a->selection) &&
	       !apply_plan_has_exceptions(&a->in);
}

/* One of the other roots. */
static json_t *apply_root_json(const struct apply *a, size_t index,
			       const char *path)
{
	const struct changeset_root *root = &a->in.change.roots[index];
	json_t *object = json_object();

	jsonout_text(object, "path", path);
	jsonout_number(object, "before", root->now.seq);
	plan_summary_json(a->in.c->store, &root->plan, object);
	return object;
}

static json_t *move_json(const struct apply *a, const struct commits_move *m)
{
	const struct importer_repository *r = m->repo;
	auto_free char *path = path_join(
		r->outside ? r->git : a->in.p->session.roots[r->root].path,
		r->outside ? "" : r->path);
	json_t *object = json_object();

	jsonout_text(object, "name", apply_commits_branch(&m->to));
	jsonout_text(object, "from", *m->from.id.hex ? m->from.id.hex : NULL);
	jsonout_text(object, "to", m->to.id.hex);
	jsonout_bool(object, "new", m->is_new || m->apart);
	jsonout_text(object, "repository", path);
	return object;
}

/* branch: the move of the project's HEAD; branches: all moves. */
static void add_moves_json(const struct apply *a, json_t *object)
{
	json_t *all = json_array();
	size_t i;

	for (i = 0; i < a->commits.moves.count; i++) {
		const struct commits_move *m = &a->commits.moves.items[i];

		if (!*m->repo->name && !m->apart)
			jsonout_set(object, "branch", move_json(a, m));
		jsonout_add(all, move_json(a, m));
	}
	jsonout_set(object, "branches", all);
	commit_files_show_json(&a->commits.files, object);
}

static void print_apply_json(const struct apply *a)
{
	const struct session *s = &a->in.p->session;
	json_t *object = jsonout_document("guard.apply/1");
	json_t *extra = json_array();
	size_t i;

	jsonout_text(object, "run", s->id);
	jsonout_text(object, "project", s->project);
	jsonout_bool(object, "applied", a->applied);
	jsonout_number(object, "before", a->in.change.roots[0].now.seq);
	jsonout_number(object, "after", a->after);
	jsonout_set(object, "verdict",
		    verdict_show_json(&a->consent.judged.verdict));
	plan_summary_json(a->in.c->store, &a->in.change.roots[0].plan, object);
	if (a->o->commits)
		add_moves_json(a, object);
	for (i = 1; i < s->root_count; i++)
		jsonout_add(extra, apply_root_json(a, i, s->roots[i].path));
	jsonout_set(object, "extra", extra);
	if (resolve_run_home_paths(a->in.p))
		jsonout_set(object, "home", apply_root_json(a, i, s->home));
	jsonstream_print(object);
}

/* The remedy for a conflict between versions that are known. */
static char *choice_remedy(const struct apply *a)
{
	if (a->consent.resolve == RESOLVE_THEIRS)
		return mem_strdup("--theirs never deletes the paths listed "
				  "above; move them away, or use --ours");
	if (a->consent.resolve == RESOLVE_MARKERS)
		return mem_strdup("only texts can have conflict markers; name "
				  "the paths that you want, or use --ours or "
				  "--theirs");
	return mem_printf(
		"guard show %s:PATH prints the run's version; --ours keeps "
		"yours, --theirs takes the run's, --merge writes conflict "
		"markers%s",
		session_label(&a->in.p->session),
		a->o->commits ? "" : ", or name the paths that you want");
}

/* The remedy for a conflict depends on the options that were tried already. A
 * file that could not be read has no version to choose. */
static char *conflict_remedy(const struct apply *a)
{
	auto_free char *choice = NULL, *except = NULL;
	bool known = false, unread = false;
	size_t i, k;

	for (i = 0; i < a->in.change.root_count; i++) {
		const struct plan *plan = &a->in.change.roots[i].plan;

		for (k = 0; k < plan->conflicts.count; k++) {
			bool is_unread = plan->conflicts.items[k].kind ==
					 CONFLICT_INCOMPLETE;

			unread |= is_unread;
			known |= !is_unread;
		}
	}
	if (known)
		choice = choice_remedy(a);
	if (unread)
		except = mem_printf(
			"%s--except PATH leaves out a file that could not be "
			"read",
			a->o->commits || a->commit.on
				? "a commit takes all files; without it, "
				: "");
	return mem_printf("nothing applied: %s%s%s", known ? choice : "",
			  known && unread ? "; " : "", unread ? except : "");
}

/* A user who names a .git is warned of the files in it that are executed later.
 */
static void warn_of_git(const struct apply *a)
{
	const struct changes_root *root = changes_project(&a->in.changes);
	AUTO(changes_git) struct changes_git git = {0};
	size_t i;

	if (a->commits.moves.count ||
	    !resolve_run_names_git(resolve_run_paths(a->in.p, 0)))
		return;
	changes_git_make(root, &git);
	for (i = 0; i < git.count; i++)
		if (git.items[i].runs)
			output_warn("git may execute it: %s",
				    git.items[i].text);
}

static bool run_names_git(const struct resolved_run *p)
{
	bool named = false;
	size_t i;

	for (i = 0; i < p->session.root_count; i++)
		named |= resolve_run_names_git(resolve_run_paths(p, i));
	return named;
}

/* The result of the real apply, as far as it is known without writing. */
static int end_dry_apply(struct apply *a, struct err *err)
{
	AUTO(gitcommit) struct gitcommit *commit = NULL;

	if (changeset_check(&a->in.change, err) < 0 ||
	    (a->commit.on && committing_make(&a->in, &a->commit, true,
					     wanted_root(a), &commit, err) < 0))
		return -err->num;
	if (a->o->commits)
		apply_report_branches(&a->commits, "would move",
				      "would be created");
	apply_report_git_left(&a->in);
	return apply_report_markers(&a->in, &a->counts, false);
}

/* A run that changed the home alone waits on. */
static int end_nothing_left(struct apply *a, struct err *err)
{
	bool already = false, kept = false;
	uint64_t after;
	size_t i;
	int got = 0;

	if (!a->in.change.roots[0].plan.already &&
	    !a->in.change.roots[0].plan.git_skipped && is_complete(a) &&
	    apply_plan_home_left(&a->in)) {
		apply_report_home_left(&a->in);
		return STATUS_REFUSED;
	}
	for (i = 0; i < a->in.change.root_count; i++) {
		already |= a->in.change.roots[i].plan.already > 0;
		kept |= a->in.change.roots[i].plan.kept.count > 0;
	}
	output_print("nothing left to apply%s%s",
		     already && !kept ? ": the project already has all of it"
				      : "",
		     a->in.p->session.live ? "; the run is still running" : "");
	if (kept && !a->o->dry_run)
		output_hint("guard undo makes it pending again");
	apply_report_git_left(&a->in);
	/* To keep the user's version is an action, too. */
	if (!a->o->dry_run)
		got = changeset_has_effect(&a->in.change)
			      ? apply_plan_execute(&a->in, is_complete(a),
						   false, &after, err)
			      : recover_set_run_state(a->in.c,
						      &a->in.p->session,
						      is_complete(a), err);
	return got < 0 ? got : a->in.left ? STATUS_REFUSED : STATUS_OK;
}

/* Prints conflicts and refusals. 1: there are some. */
static int print_blocks(const struct apply *a, struct err *err)
{
	auto_free char *remedy = conflict_remedy(a);
	bool blocked = false;
	size_t i;

	for (i = 0; i < a->in.change.root_count; i++) {
		const struct plan *plan = &a->in.change.roots[i].plan;

		if (plan_print_copies(a->in.c->store, plan, err) < 0)
			return -err->num;
		blocked |= plan_print_blocks(plan, remedy, NULL);
	}
	return blocked;
}

/* Asks for the consents that the plans need, and prints what blocks them. 0:
 * nothing does. */
static int ask(struct apply *a, struct err *err)
{
	int got = apply_consent_ask(&a->consent, err);

	if (got == 0) {
		got = print_blocks(a, err);
		if (got > 0)
			apply_consent_remedy(&a->consent);
	}
	return got > 0 ? STATUS_REFUSED : got;
}

/* The changes, as far as they may be applied. */
static int print_plans(struct apply *a, struct err *err)
{
	const struct judgement *judged = &a->consent.judged.judgement;
	size_t roots = a->o->branch ? 1 : a->in.change.root_count, i;

	if (a->o->json || (output_is_quiet() && a->o->yes))
		return 0;
	risk_show_verdict(&a->consent.judged.verdict, styled_out());
	for (i = 0; i < roots; i++)
		if (plan_print(a->in.c->store, &a->in.change.roots[i].plan,
			       i < judged->count ? &judged->views[i] : NULL,
			       err) < 0)
			return -err->num;
	commit_files_show(&a->commits.files, styled_out());
	return 0;
}

/* STATUS_REFUSED: the user does not want to copy so many git objects. */
static int make_commits(struct apply *a, struct err *err)
{
	int got;

	a->in.c->copies_large = a->o->yes;
	do
		got = apply_commits_make(&a->in, &a->commits, err);
	while (got == -EFBIG && commit_files_show_large(a->in.c, err));
	return got == -EFBIG ? STATUS_REFUSED : got;
}

/* Into a branch: neither the project nor the run's state changes. */
static int commit_only(struct apply *a, struct err *err)
{
	AUTO(gitcommit) struct gitcommit *commit = NULL;
	int got;

	if (resolve_run_home_paths(a->in.p) ||
	    resolve_run_has_extra_paths(a->in.p))
		return fail(err, EINVAL,
			    "a branch can hold only files of the project: name "
			    "no other paths");
	a->in.consent.off = true;
	a->consent.resolve = RESOLVE_THEIRS;
	got = make_commits(a, err);
	if (got > 0)
		return got;
	if (got < 0 || apply_consent_plan(&a->consent, err) < 0)
		return -err->num;
	changeset_unlock(&a->in.change);
	judged_run_end(a->in.p, &a->consent.judged);
	if (print_plans(a, err) < 0)
		return -err->num;
	got = ask(a, err);
	if (got)
		return got;
	if (committing_make(&a->in, &a->commit, a->o->dry_run, wanted_root(a),
			    &commit, err) < 0)
		return -err->num;
	if (a->o->dry_run)
		return STATUS_OK;
	if (!output_confirm(a->o->yes, "guard: commit %s to %s?",
			    text_count(commit->count, "file"), commit->branch))
		return STATUS_REFUSED;
	return committing_point(&a->in, commit, false, err) < 0 ? -err->num
								: STATUS_OK;
}

static int execute(struct apply *a, struct err *err)
{
	AUTO(gitcommit) struct gitcommit *commit = NULL;

	if (a->commit.on && committing_make(&a->in, &a->commit, false,
					    wanted_root(a), &commit, err) < 0)
		return -err->num;
	if (apply_commits_write(&a->in, &a->commits, err) < 0)
		return -err->num;
	if (apply_plan_execute(&a->in, is_complete(a),
			       a->in.commits || run_names_git(a->in.p),
			       &a->after, err) < 0)
		return -err->num;
	a->applied = true;
	if (a->o->commits) {
		apply_report_branches(&a->commits, "moved", "created");
		apply_report_refs(&a->commits);
	}
	return apply_report_done(&a->in, &a->counts, true, commit, err);
}

/* From the plans to the files: each step may be the last one. */
static int plan_and_execute(struct apply *a, struct err *err)
{
	auto_free char *run = NULL;
	size_t i;
	int got;

	/* --commits refuses, and names them. */
	if (!a->o->commits)
		apply_report_head(&a->in.p->session);
	got = make_commits(a, err);
	if (got > 0)
		return got;
	if (got < 0 || apply_consent_plan(&a->consent, err) < 0)
		return -err->num;
	judged_run_end(a->in.p, &a->consent.judged);
	if (print_plans(a, err) < 0)
		return -err->num;
	warn_of_git(a);
	if (apply_plan_check_halves(&a->in, err) < 0) {
		output_error(err);
		apply_consent_halves_remedy(&a->consent);
		return STATUS_REFUSED;
	}
	for (i = 0; i < a->in.change.root_count; i++)
		plan_print_choices(&a->in.change.roots[i].plan);
	for (i = 0; i < a->in.change.root_count && !a->o->json; i++)
		plan_print_owners(&a->in.change.roots[i].plan);
	got = ask(a, err);
	if (got)
		return got;
	if (!changeset_has_steps(&a->in.change))
		return end_nothing_left(a, err);
	if (plan_summary_count(&a->in.change, &a->counts, err) < 0)
		return -err->num;
	if (a->o->dry_run)
		return end_dry_apply(a, err);
	if (a->o->commits && !a->o->yes)
		apply_report_branches(&a->commits, "moves", "is created");
	run = choose_run_text(&a->in.p->session);
	if (!plan_summary_ask(&a->counts, run, apply_report_where(&a->in),
			      a->o->yes))
		return STATUS_REFUSED;
	return execute(a, err);
}

static int apply_locked(struct apply *a, struct err *err)
{
	int got;

	if (apply_plan_load(&a->in, err) < 0 ||
	    (apply_selection_any(&a->selection) &&
	     apply_selection_pick(&a->selection, &a->in, err) < 0))
		return -err->num;
	if (a->commit.branch)
		return commit_only(a, err);
	got = plan_and_execute(a, err);
	if ((got >= 0 || a->applied) && a->o->json)
		print_apply_json(a);
	return got;
}

static int apply(struct context *c, const struct options *o, struct err *err)
{
	static const enum plan_resolve resolves[] = {
		[OPTION_RESOLVE_OURS] = RESOLVE_OURS,
		[OPTION_RESOLVE_THEIRS] = RESOLVE_THEIRS,
		[OPTION_RESOLVE_MARKERS] = RESOLVE_MARKERS,
	};
	AUTO(resolved_run) struct resolved_run p = RESOLVED_RUN_NONE;
	AUTO(apply)
	struct apply a = {
		.in = APPLY_PLAN_NONE,
		.o = o,
		.consent = {.o = o, .resolve = resolves[o->resolve]},
		.commit = {.on = o->commit || o->branch,
			   .branch = o->branch,
			   .message = o->message},
		.selection.kinds = o->kind,
	};
	const struct review_session_options review = {
		.short_head = true,
		.plain = true,
		.resolve = a.consent.resolve,
		.commit = a.commit,
	};
	int got = 0, i;

	a.in.commits = o->commits;
	a.consent.in = &a.in;
	a.consent.takes_all = o->commits || a.commit.on;
	apply_selection_parse(&a.selection, o->count, o->operands);
	a.in.may_be_partial = !o->patch && !a.commit.on && !o->commits &&
			      !apply_selection_any(&a.selection);
	a.in.c = c;
	a.in.p = &p;
	if (choose_run_open(c, o, &p, err) < 0)
		return -err->num;
	output_run_commands(&c->state, p.session.project);
	if (o->commits && resolve_run_has_paths(&p))
		return fail(err, EINVAL,
			    "--commits applies all files of a run: give no "
			    "paths");
	for (i = p.named; i < o->count; i++) {
		auto_free char *path = resolve_run_path(o->operands[i], err);

		if (path)
			mem_list_add(&a.consent.named, path);
	}
	p.only = o->only;
	p.commits = o->commits;
	p.within_roots = o->branch != NULL;
	apply_selection_restore(&a.selection);
	/* Numbers of lines are of one run. */
	if (!o->dry_run || a.selection.lines.count)
		got = choose_run_check(c, &p, o->yes || o->dry_run, o->operands,
				       err);
	if (got)
		return got;
	if (recover_project(c, p.session.project, err) < 0 ||
	    apply_plan_lock(c, &p, err) < 0)
		return -err->num;
	if (a.selection.lines.count && (o->patch || o->commits || o->kind))
		got = fail(err, EINVAL,
			   "%s: lines of a file are not for --patch, "
			   "--commits and --kind",
			   text_quote(a.selection.lines.items[0].operand));
	else if (!o->patch)
		got = apply_locked(&a, err);
	else if (isatty(STDIN_FILENO) && isatty(STDOUT_FILENO))
		got = review_session_run(&a.in, &review, err);
	else
		got = fail(err, ENOTTY, "--patch needs a terminal to ask on");
	return got;
}

/* An apply for each pause of the run. */
static int apply_followed(void *arg, struct err *err)
{
	AUTO(context) struct context c = CONTEXT_NONE;
	int got;

	c.wait_for_lock = true;
	/* A key that was typed before the question is no answer to it. */
	(void)tcflush(STDIN_FILENO, TCIFLUSH);
	got = context_open(&c, true, err);
	if (got == 0)
		got = apply(&c, arg, err);
	/* The next pause may have what this one lacks. */
	if (got < 0)
		output_error(err);
	return got < 0 ? STATUS_REFUSED : got;
}

static int follow(struct context *c, const struct options *o, struct err *err)
{
	AUTO(resolved_run) struct resolved_run p = RESOLVED_RUN_NONE;
	AUTO(mem_list) char **operands = NULL;
	struct options each = *o; /* with the run in its operands */
	int i;

	if (choose_run_open(c, o, &p, err) < 0)
		return -err->num;
	if (!resolve_run_is_running(&p.session))
		return fail(err, ESRCH,
			    "run %s is not running: guard apply %s applies its "
			    "changes",
			    session_label(&p.session),
			    session_label(&p.session));
	if (!o->yes && !output_can_ask())
		return fail(err, ENOTTY,
			    "--follow asks on a terminal; use -y to apply all "
			    "that needs no decision");
	mem_list_add(&operands, p.session.id);
	for (i = p.named; i < o->count; i++)
		mem_list_add(&operands, o->operands[i]);
	each.operands = operands;
	each.count = 1 + o->count - p.named;
	output_print("following run %s: its changes are %s at each pause of "
		     "%.3g s; Ctrl-C ends this, the run goes on",
		     session_label(&p.session), o->yes ? "applied" : "offered",
		     (double)o->rest / 1000);
	return follow_run(p.session.id, o->rest, apply_followed, &each, err);
}

/* The transaction itself reports the result. */
static int end_interrupted_apply(struct context *c, bool abort, struct err *err)
{
	int got;

	c->roll_back = abort;
	got = recover_project(c, c->project, err);
	if (got < 0)
		return got;
	if (!got || got == 3)
		output_print(
			"no interrupted action in %s%s", text_quote(c->project),
			abort ? ": guard undo reverts the last action" : "");
	if (got == 1 && abort)
		output_print("it was complete already: guard undo reverts it");
	if (got == 2)
		return abort ? STATUS_OK : STATUS_REFUSED;
	return abort ? STATUS_REFUSED : STATUS_OK;
}

int cmd_apply(const struct options *o, struct context *c, struct err *err)
{
	c->wait_for_lock = true;
	if (o->resume || o->abort)
		return end_interrupted_apply(c, o->abort, err);
	return (o->follow ? follow : apply)(c, o, err);
}
