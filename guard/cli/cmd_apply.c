#include <termios.h>
#include <unistd.h>

#include "base/parse.h"
#include "base/path.h"
#include "guard/change/committing.h"
#include "guard/cli/apply_report.h"
#include "guard/cli/apply_selection.h"
#include "guard/cli/choose_run.h"
#include "guard/cli/commands.h"
#include "guard/cli/follow.h"
#include "guard/cli/plan_print.h"
#include "guard/change/recover.h"
#include "guard/cli/review_session.h"
#include "guard/cli/risk_show.h"
#include "guard/cli/verdict_show.h"

struct asked {
	struct refusal refusal;
	char *path; /* absolute */
	char *shown; /* for people */
};

#define LEAVE_ROUNDS 4

/* The state of an apply. */
struct apply {
	struct apply_plan in;
	const struct options *o;
	enum plan_resolve resolve; /* RESOLVE_NOT: nothing was said */
	struct committing_options commit;
	struct plan_counts counts; /* of the final plans */
	struct apply_commits commits;
	/* Refused without a yes of its own: listed as if that was said already,
	 * and then asked about. */
	VEC(struct asked) askable;
	char **named; /* absolute paths of the operands */
	struct judged_run judged; /* the changes that are applied */
	size_t judged_without; /* changes that were left out then */
	bool is_judged;
	struct apply_selection selection; /* parts of files */
};

static void apply_free(struct apply *a)
{
	size_t i;

	for (i = 0; i < a->askable.count; i++) {
		free(a->askable.items[i].refusal.path);
		free(a->askable.items[i].refusal.text);
		free(a->askable.items[i].path);
		free(a->askable.items[i].shown);
	}
	VEC_FREE(&a->askable);
	mem_list_free(&a->named);
	apply_commits_free(&a->commits);
	apply_selection_free(&a->selection);
	judged_run_free(&a->judged);
	apply_plan_free(&a->in);
}

/* The project's tree that is applied. */
static const struct entry *wanted_root(const struct apply *a)
{
	const struct changeset_root *root = &a->in.change.roots[0];

	return root->picked ? root->picked : &root->want.root;
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

static json_t *branch_json(const struct apply_commits *ac)
{
	json_t *object = json_object();

	jsonout_text(object, "name", apply_commits_branch(ac));
	jsonout_text(object, "from", *ac->from.id.hex ? ac->from.id.hex : NULL);
	jsonout_text(object, "to", ac->to.id.hex);
	jsonout_bool(object, "new", ac->is_new);
	return object;
}

static void print_apply_json(const struct apply *a, bool applied,
			     uint64_t after)
{
	const struct session *s = &a->in.p->session;
	json_t *object = json_object(), *extra = json_array();
	size_t i;

	jsonout_text(object, "schema", "guard.apply/1");
	jsonout_text(object, "run", s->id);
	jsonout_text(object, "project", s->project);
	jsonout_bool(object, "applied", applied);
	jsonout_number(object, "before", a->in.change.roots[0].now.seq);
	jsonout_number(object, "after", after);
	jsonout_set(object, "verdict", verdict_show_json(&a->judged.verdict));
	plan_summary_json(a->in.c->store, &a->in.change.roots[0].plan, object);
	if (a->o->commits)
		jsonout_set(object, "branch", branch_json(&a->commits));
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
	if (a->resolve == RESOLVE_THEIRS)
		return mem_strdup("--theirs never deletes the paths listed "
				  "above; move them away, or use --ours");
	if (a->resolve == RESOLVE_MARKERS)
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

	if (!resolve_run_names_git(resolve_run_paths(a->in.p, 0)))
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
	if (a->o->json)
		print_apply_json(a, false, 0);
	if (a->o->commits)
		apply_report_branch(&a->commits, "would move");
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

	if (a->o->json)
		print_apply_json(a, false, 0);
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
	return got < 0 ? got : STATUS_OK;
}

/* The index of the root that has the path, or root_count. */
static size_t find_root(const struct apply *a, const char *path)
{
	size_t i;

	for (i = 0; i < a->in.change.root_count; i++)
		if (path_below(path, apply_plan_root_path(&a->in, i)))
			break;
	return i;
}

/* Appends the absolute path of an operand that the run changed. */
static int add_changed_path(struct apply *a, const char *option,
			    const char *given, char ***to, struct err *err)
{
	auto_free char *path = resolve_run_path(given, err);
	AUTO(mem_list) char **below = NULL;
	const char *root;
	size_t i;

	if (!path)
		return -err->num;
	i = find_root(a, path);
	root = i < a->in.change.root_count ? apply_plan_root_path(&a->in, i)
					   : NULL;
	if (!root || strcmp(path, root) == 0)
		return fail(err, EINVAL,
			    "%s needs a single file of %s, and %s is not one",
			    option, text_quote(a->in.p->session.project),
			    text_quote(given));
	mem_list_add(&below, path_rest(path, root));
	mem_list_add(to, path);
	return changes_check(&a->in.changes.roots[i], below,
			     session_label(&a->in.p->session), err);
}

/* What the options and the operands allow and leave out. */
static int parse_consent(struct apply *a, struct err *err)
{
	struct consent *c = &a->in.consent;
	char *const *given;
	size_t i;

	consent_forget_answers(c);
	for (given = a->o->yes_to; given && *given; given++) {
		if (consent_is_rule(*given))
			mem_list_add(&c->rules, *given);
		else if (add_changed_path(a, "--yes-to", *given, &c->paths,
					  err) < 0)
			return -err->num;
	}
	for (given = a->o->except; given && *given; given++) {
		if (strcmp(*given, "critical") == 0)
			c->except_critical = true;
		else if (add_changed_path(a, "--except", *given, &c->except,
					  err) < 0)
			return -err->num;
	}
	/* The run may write any change there later. */
	for (i = 0; !a->o->follow && a->named && a->named[i]; i++)
		mem_list_add(&c->named, a->named[i]);
	return 0;
}

static bool has_terminal(void)
{
	return isatty(STDIN_FILENO) && isatty(STDERR_FILENO);
}

/* The changes that the plans leave out. */
static size_t count_left_out(const struct apply *a)
{
	size_t n = 0, i;

	for (i = 0; i < a->in.change.root_count; i++)
		n += a->in.change.roots[i].plan.excepted.count +
		     a->in.change.roots[i].plan.kept.count;
	return n;
}

/* Finds the only copies that would be lost. 1: the plans do not refuse them
 * yet. */
static int judge_plans(struct apply *a, size_t left_out, struct err *err)
{
	struct consent *c = &a->in.consent;
	size_t before = c->copies.count;

	judged_run_free(&a->judged);
	if (judged_run_load(a->in.c, a->in.p, &a->in.change, &a->in.changes,
			    &a->judged, err) < 0)
		return -err->num;
	a->judged_without = left_out;
	a->is_judged = true;
	judgement_list_copies(&a->judged.judgement, &a->in.p->session, c);
	return c->copies.count > before;
}

/*
 * Plans that refuse the loss of only copies. A change that is left out may have
 * been the other copy of a file, so that the losses are judged again when more
 * is left out; usually nothing is lost, and one plan is enough.
 */
static int plan_and_judge(struct apply *a, struct err *err)
{
	size_t left_out;
	int got;

	do {
		do {
			if (apply_plan_make(&a->in, a->resolve, err) < 0)
				return -err->num;
		} while (apply_plan_leave_halves(&a->in));
		left_out = count_left_out(a);
		got = a->is_judged && a->judged_without == left_out
			      ? 0
			      : judge_plans(a, left_out, err);
	} while (got > 0);
	return got;
}

/* For --follow -y: the other paths are planned by themselves. Without them some
 * of these may be only copies. */
static int leave_blocked(struct apply *a, struct err *err)
{
	unsigned int i;

	for (i = 0; i < LEAVE_ROUNDS; i++) {
		int got = follow_leave_blocked(&a->in, err);

		if (got <= 0)
			return got;
		a->is_judged = false;
		if (plan_and_judge(a, err) < 0)
			return -err->num;
	}
	return 0;
}

/* The refusals of all plans; false: one of them is refused in any case. */
static bool take_askable(struct apply *a)
{
	size_t i, k;

	for (k = 0; k < a->in.change.root_count; k++) {
		const struct plan *plan = &a->in.change.roots[k].plan;

		if (plan->conflicts.count)
			return false;
		for (i = 0; i < plan->refusals.count; i++)
			if (plan->refusals.items[i].kind == REFUSED_NODE)
				return false;
	}
	for (k = 0; k < a->in.change.root_count; k++) {
		struct plan *plan = &a->in.change.roots[k].plan;

		for (i = 0; i < plan->refusals.count; i++) {
			struct asked *asked = VEC_ADD(&a->askable);

			asked->refusal = plan->refusals.items[i];
			asked->path = path_join(apply_plan_root_path(&a->in, k),
						asked->refusal.path);
			asked->shown = mem_printf("%s%s", plan->prefix,
						  asked->refusal.path);
		}
		plan->refusals.count = 0;
	}
	return a->askable.count > 0;
}

/* The listed plan is that of a yes to every question. */
static int make_apply_plan(struct apply *a, struct err *err)
{
	size_t i;

	if (parse_consent(a, err) < 0 || plan_and_judge(a, err) < 0)
		return -err->num;
	if (a->o->follow && a->o->yes)
		return leave_blocked(a, err);
	if (a->o->dry_run || a->o->json || !has_terminal() || !take_askable(a))
		return 0;
	for (i = 0; i < a->askable.count; i++)
		if (a->askable.items[i].refusal.kind != REFUSED_COPY)
			mem_list_add(&a->in.consent.paths,
				     a->askable.items[i].path);
	mem_list_add(&a->in.consent.rules, CONSENT_ONLY_COPY);
	return apply_plan_make(&a->in, a->resolve, err);
}

/* How many of the asked losses; *ret_deleted: of files that are deleted. */
static size_t count_asked_copies(const struct apply *a, size_t *ret_deleted)
{
	const struct consent *c = &a->in.consent;
	size_t n = 0, at = 0, i, k;

	*ret_deleted = 0;
	for (i = 0; i < a->askable.count; i++) {
		const struct asked *asked = &a->askable.items[i];

		if (asked->refusal.kind != REFUSED_COPY)
			continue;
		n++;
		/* Both lists have one order in each root. */
		for (k = 0; k < c->copies.count &&
			    strcmp(c->copies.items[at].path, asked->path) != 0;
		     k++)
			at = (at + 1) % c->copies.count;
		*ret_deleted +=
			k < c->copies.count && c->copies.items[at].deleted;
	}
	return n;
}

/* Several are confirmed by their number. */
static bool ask_about_copies(size_t n, size_t deleted)
{
	auto_free char *question = mem_printf(
		"guard: %s %zu files that have no other copy? Type %zu: ",
		deleted == n ? "Delete"
		: deleted    ? "Delete or overwrite"
			     : "Overwrite",
		n, n);
	auto_free char *typed = output_ask_line(question);
	unsigned long number;

	return typed && parse_number(typed, n, &number) == 0 && number == n;
}

/* One by one, also with -y; a change with a no is left out. 1: the first no has
 * ended the apply, because a commit has all files of the run. */
static int ask_about_refused(struct apply *a, struct err *err)
{
	size_t deleted, copies = count_asked_copies(a, &deleted), i;
	bool commits = a->o->commits || a->commit.on, all = true;

	if (!a->askable.count || parse_consent(a, err) < 0)
		return a->askable.count ? -err->num : 0;
	if (copies > 1) {
		all = ask_about_copies(copies, deleted);
		a->in.consent.except_copies = !all;
		if (all)
			mem_list_add(&a->in.consent.rules, CONSENT_ONLY_COPY);
		else if (!commits)
			output_hint("%zu files stay as they are", copies);
	}
	for (i = 0; i < a->askable.count && (all || !commits); i++) {
		const struct asked *asked = &a->askable.items[i];
		bool yes;

		if (copies > 1 && asked->refusal.kind == REFUSED_COPY)
			continue;
		yes = plan_print_consent(asked->shown, &asked->refusal);

		mem_list_add(yes ? &a->in.consent.paths : &a->in.consent.except,
			     asked->path);
		all &= yes;
	}
	if (!all && commits) {
		output_hint("nothing applied: a commit takes all files; guard "
			    "apply %s, without %s, leaves some out",
			    session_label(&a->in.p->session),
			    a->o->commits ? "--commits" : "--commit");
		return 1;
	}
	return all ? 0 : plan_and_judge(a, err);
}

/* --- remedies for refusals --- */

/* The same command with more options, and with -y where there is no terminal to
 * ask on. */
static char *command_with(const struct apply *a, const char *options)
{
	bool asks = !a->o->yes && !a->o->dry_run && !has_terminal();
	AUTO(buf) struct buf b = {0};
	char *const *arg;

	buf_printf(&b, "guard apply%s%s", options, asks ? " -y" : "");
	for (arg = a->o->words; arg && *arg; arg++)
		apply_report_word(&b, *arg);
	return buf_take_text(&b);
}

#define REMEDY_PATHS 3 /* more are named by their rules */

/* " --yes-to PATH" for each refusal; false: one of them cannot be allowed. */
static bool add_yes_options(const struct apply *a, struct buf *to)
{
	AUTO(mem_list) char **rules = NULL;
	auto_free char *cwd = getcwd(NULL, 0);
	size_t total = 0, i, k;

	for (k = 0; k < a->in.change.root_count; k++)
		total += a->in.change.roots[k].plan.refusals.count;
	for (k = 0; k < a->in.change.root_count; k++) {
		const struct plan *plan = &a->in.change.roots[k].plan;
		const char *root = apply_plan_root_path(&a->in, k);

		for (i = 0; i < plan->refusals.count; i++) {
			const struct refusal *r = &plan->refusals.items[i];
			auto_free char *full_path = path_join(root, r->path);
			const char *path = cwd && strcmp(cwd, root) == 0
						   ? r->path
						   : full_path;
			bool safe = strspn(path, APPLY_REPORT_SAFE) ==
					    strlen(path) &&
				    *path != '-' && !consent_is_rule(path);

			if (r->kind == REFUSED_NODE)
				return false;
			if (total <= REMEDY_PATHS && safe)
				buf_printf(to, " --yes-to %s", path);
			else if (!mem_list_has((const char *const *)rules,
					       r->rule))
				mem_list_add(&rules, r->rule);
		}
	}
	for (i = 0; rules && rules[i]; i++)
		buf_printf(to, " --yes-to %s", rules[i]);
	return true;
}

/* Both complete commands for plans with refusals. */
static void print_consent_remedy(const struct apply *a)
{
	auto_free char *without = command_with(a, " --except critical");
	AUTO(buf) struct buf options = {0};
	bool any = false, copies = false;
	size_t i;

	for (i = 0; i < a->in.change.root_count; i++) {
		any |= a->in.change.roots[i].plan.refusals.count > 0;
		copies |= plan_print_copies_refused(
				  &a->in.change.roots[i].plan) > 0;
	}
	if (!any)
		return;
	if (add_yes_options(a, &options)) {
		auto_free char *with = command_with(a, buf_text(&options));

		output_hint("nothing applied; with these changes: %s", with);
	} else {
		output_hint("nothing applied: device nodes and sockets are "
			    "never applied");
	}
	if (a->o->commits || a->commit.on)
		return;
	output_hint("without them: %s", without);
	if (copies)
		output_hint("--yes-to PATH and --except PATH decide on one "
			    "file or one deleted directory, --yes-to all "
			    "allows all of it");
}

/* The command that names every root of the run, and so takes both ends of each
 * move. */
static void print_halves_remedy(const struct apply *a)
{
	const struct session *s = &a->in.p->session;
	auto_free char *command = command_with(a, "");
	auto_free char *cwd = getcwd(NULL, 0);
	AUTO(buf) struct buf b = {0};
	size_t i;

	/* Paths were named: the plans take all that they can. Commits are taken
	 * without paths alone. */
	if (resolve_run_has_paths(a->in.p) || a->o->commits)
		return;
	buf_add_text(&b, command);
	for (i = 0; i < s->root_count; i++)
		apply_report_word(&b, cwd && strcmp(cwd, s->roots[i].path) == 0
					      ? "."
					      : s->roots[i].path);
	output_hint("nothing applied; all changes with both names: %s",
		    buf_text(&b));
	free(command);
	command = command_with(a, " --only");
	output_hint("without the other names: %s", command);
}

/* Into a branch: neither the project nor the run's state changes. */
static int commit_only(struct apply *a, struct err *err)
{
	AUTO(gitcommit) struct gitcommit *commit = NULL;

	if (resolve_run_home_paths(a->in.p) ||
	    resolve_run_has_extra_paths(a->in.p))
		return fail(err, EINVAL,
			    "a branch can hold only files of the project: name "
			    "no other paths");
	a->in.consent.off = true;
	if (apply_plan_make(&a->in, RESOLVE_THEIRS, err) < 0)
		return -err->num;
	changeset_unlock(&a->in.change);
	if (!(output_is_quiet() && a->o->yes) &&
	    plan_print(a->in.c->store, &a->in.change.roots[0].plan, NULL, err) <
		    0)
		return -err->num;
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

static int apply_locked(struct apply *a, struct err *err)
{
	auto_free char *out = NULL, *run = NULL;
	bool blocked = false;
	size_t i;
	AUTO(gitcommit) struct gitcommit *commit = NULL;
	uint64_t after;
	int declined;

	if (apply_plan_load(&a->in, err) < 0 ||
	    (apply_selection_any(&a->selection) &&
	     apply_selection_pick(&a->selection, &a->in, err) < 0))
		return -err->num;
	if (a->commit.branch)
		return commit_only(a, err);
	if ((a->o->commits &&
	     apply_commits_make(&a->in, &a->commits, err) < 0) ||
	    make_apply_plan(a, err) < 0)
		return -err->num;
	judged_run_end(a->in.p, &a->judged);
	if (!a->o->json && !(output_is_quiet() && a->o->yes))
		risk_show_verdict(&a->judged.verdict, styled_out());
	for (i = 0; i < a->in.change.root_count; i++)
		if (!a->o->json && !(output_is_quiet() && a->o->yes) &&
		    plan_print(a->in.c->store, &a->in.change.roots[i].plan,
			       i < a->judged.judgement.count
				       ? &a->judged.judgement.views[i]
				       : NULL,
			       err) < 0)
			return -err->num;
	warn_of_git(a);
	if (apply_plan_check_halves(&a->in, err) < 0) {
		output_error(err);
		print_halves_remedy(a);
		if (a->o->json)
			print_apply_json(a, false, 0);
		return STATUS_REFUSED;
	}
	for (i = 0; i < a->in.change.root_count; i++)
		plan_print_choices(&a->in.change.roots[i].plan);
	for (i = 0; i < a->in.change.root_count && !a->o->json; i++)
		plan_print_owners(&a->in.change.roots[i].plan);
	declined = ask_about_refused(a, err);
	if (declined)
		return declined < 0 ? -err->num : STATUS_REFUSED;
	out = conflict_remedy(a);
	for (i = 0; i < a->in.change.root_count; i++) {
		const struct plan *plan = &a->in.change.roots[i].plan;

		if (plan_print_copies(a->in.c->store, plan, err) < 0)
			return -err->num;
		blocked |= plan_print_blocks(plan, out, NULL);
	}
	if (blocked) {
		print_consent_remedy(a);
		if (a->o->json)
			print_apply_json(a, false, 0);
		return STATUS_REFUSED;
	}
	if (!changeset_has_steps(&a->in.change))
		return end_nothing_left(a, err);
	if (plan_summary_count(&a->in.change, &a->counts, err) < 0)
		return -err->num;
	if (a->o->dry_run)
		return end_dry_apply(a, err);
	if (a->o->commits && !a->o->yes)
		apply_report_branch(&a->commits, "moves");
	run = choose_run_text(&a->in.p->session);
	if (!plan_summary_ask(&a->counts, run, apply_report_where(&a->in),
			      a->o->yes)) {
		if (a->o->json)
			print_apply_json(a, false, 0);
		return STATUS_REFUSED;
	}
	if (a->commit.on && committing_make(&a->in, &a->commit, false,
					    wanted_root(a), &commit, err) < 0)
		return -err->num;
	if (a->o->commits && apply_commits_write(&a->in, &a->commits, err) < 0)
		return -err->num;
	if (apply_plan_execute(&a->in, is_complete(a),
			       a->in.commits || run_names_git(a->in.p), &after,
			       err) < 0)
		return -err->num;
	if (a->o->json)
		print_apply_json(a, true, after);
	if (a->o->commits) {
		apply_report_branch(&a->commits, "moved");
		apply_report_refs(&a->commits);
	}
	return apply_report_done(&a->in, &a->counts, true, commit, err);
}

static int apply(struct context *c, int count, char **argv, int dashed,
		 const struct options *o, struct err *err)
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
		.resolve = resolves[o->resolve],
		.commit = {.on = o->commit || o->branch,
			   .branch = o->branch,
			   .message = o->message},
		.selection.kinds = o->kind,
	};
	const struct review_session_options review = {
		.short_head = true,
		.plain = true,
		.resolve = a.resolve,
		.commit = a.commit,
	};
	int got = 0, i;

	a.in.commits = o->commits;
	apply_selection_parse(&a.selection, count, argv);
	a.in.may_be_partial = !o->patch && !a.commit.on && !o->commits &&
			      !apply_selection_any(&a.selection);
	a.in.c = c;
	a.in.p = &p;
	if (context_open(c, true, err) < 0 ||
	    resolve_run_open(c, count, argv, dashed, false, &p, err) < 0)
		return -err->num;
	if (o->commits && resolve_run_has_paths(&p))
		return fail(err, EINVAL,
			    "--commits applies all files of a run: give no "
			    "paths");
	for (i = p.named; i < count; i++) {
		auto_free char *path = resolve_run_path(argv[i], err);

		if (path)
			mem_list_add(&a.named, path);
	}
	p.only = o->only;
	p.within_roots = o->branch != NULL;
	apply_selection_restore(&a.selection);
	/* Numbers of lines are of one run. */
	if (!o->dry_run || a.selection.lines.count)
		got = choose_run_check(c, &p, o->yes || o->dry_run, argv, err);
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
struct followed {
	char **argv; /* the run's id, then the paths */
	int count, dashed;
	const struct options *o;
};

static int apply_followed(void *arg, struct err *err)
{
	const struct followed *f = arg;
	AUTO(context) struct context c = CONTEXT_NONE;
	int got;

	c.wait_for_lock = true;
	/* A key that was typed before the question is no answer to it. */
	(void)tcflush(STDIN_FILENO, TCIFLUSH);
	got = apply(&c, f->count, f->argv, f->dashed, f->o, err);
	/* The next pause may have what this one lacks. */
	if (got < 0)
		output_error(err);
	return got < 0 ? STATUS_REFUSED : got;
}

static int follow(struct context *c, const struct options *o, struct err *err)
{
	AUTO(resolved_run) struct resolved_run p = RESOLVED_RUN_NONE;
	AUTO(mem_list) char **operands = NULL;
	struct followed f = {.dashed = o->dashed, .o = o};
	int i;

	if (context_open(c, true, err) < 0 ||
	    resolve_run_open(c, o->count, o->operands, o->dashed, false, &p,
			     err) < 0)
		return -err->num;
	if (!resolve_run_is_running(&p.session))
		return fail(err, ESRCH,
			    "run %s is not running: guard apply %s applies its "
			    "changes",
			    session_label(&p.session),
			    session_label(&p.session));
	if (!o->yes && (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO)))
		return fail(err, ENOTTY,
			    "--follow asks on a terminal; use -y to apply all "
			    "that needs no decision");
	mem_list_add(&operands, p.session.id);
	for (i = p.named; i < o->count; i++)
		mem_list_add(&operands, o->operands[i]);
	f.argv = operands;
	f.count = 1 + o->count - p.named;
	output_print("following run %s: its changes are %s at each pause of "
		     "%.3g s; Ctrl-C ends this, the run goes on",
		     session_label(&p.session), o->yes ? "applied" : "offered",
		     (double)o->rest / 1000);
	return follow_run(p.session.id, o->rest, apply_followed, &f, err);
}

/* The transaction itself reports the result. */
static int end_interrupted_apply(struct context *c, bool abort, struct err *err)
{
	int got;

	if (context_open(c, true, err) < 0)
		return -err->num;
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

int cmd_apply(const struct options *o, struct err *err)
{
	AUTO(context) struct context c = CONTEXT_NONE;

	c.wait_for_lock = true;
	if (o->resume || o->abort)
		return end_interrupted_apply(&c, o->abort, err);
	return o->follow ? follow(&c, o, err)
			 : apply(&c, o->count, o->operands, o->dashed, o, err);
}
