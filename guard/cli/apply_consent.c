#include "guard/cli/apply_consent.h"

#include <unistd.h>

#include "base/parse.h"
#include "base/path.h"
#include "base/sorted.h"
#include "guard/cli/apply_report.h"
#include "guard/cli/commands.h"
#include "guard/cli/follow.h"
#include "guard/cli/plan_print.h"

#define LEAVE_ROUNDS 4

void apply_consent_free(struct apply_consent *a)
{
	size_t i;

	for (i = 0; i < a->askable.count; i++) {
		free(a->askable.items[i].refusal.path);
		free(a->askable.items[i].refusal.text);
		free(a->askable.items[i].path);
		free(a->askable.items[i].shown);
	}
	VEC_FREE(&a->askable);
	for (i = 0; a->products && i < a->in->change.root_count; i++)
		VEC_FREE(&a->products[i]);
	free(a->products);
	mem_list_free(&a->product_paths);
	mem_list_free(&a->named);
	judged_run_free(&a->judged);
}

/* The index of the root that has the path, or root_count. */
static size_t find_root(const struct apply_consent *a, const char *path)
{
	const struct session *s = &a->in->p->session;
	size_t count = a->in->change.root_count, i = session_root_of(s, path);

	/* The home directory's root follows those of the session. */
	return i < s->root_count || (i < count &&
				     path_below(path,
						apply_plan_root_path(a->in, i)))
		       ? i
		       : count;
}

/* A file that only a commit of the run has. */
static bool is_in_commit(const struct apply_consent *a, const char *path)
{
	size_t i;

	for (i = 0; i < a->in->consent.commits.count; i++)
		if (strcmp(a->in->consent.commits.items[i].path, path) == 0)
			return true;
	return false;
}

/* Appends the absolute path of an operand that the run changed. */
static int add_changed_path(struct apply_consent *a, const char *option,
			    const char *given, char ***to, struct err *err)
{
	auto_free char *path = resolve_run_path(given, err);
	AUTO(mem_list) char **below = NULL;
	const char *root;
	size_t i;

	if (!path)
		return -err->num;
	i = find_root(a, path);
	root = i < a->in->change.root_count ? apply_plan_root_path(a->in, i)
					    : NULL;
	if (!root || strcmp(path, root) == 0)
		return fail(err, EINVAL,
			    "%s needs a single file of %s, and %s is not one",
			    option, text_quote(a->in->p->session.project),
			    text_quote(given));
	mem_list_add(&below, path_rest(path, root));
	mem_list_add(to, path);
	if (is_in_commit(a, path))
		return 0;
	return changes_check(&a->in->changes.roots[i], below,
			     session_label(&a->in->p->session), err);
}

/* Reads the consents and exceptions of the options and operands. */
static int parse_consent(struct apply_consent *a, struct err *err)
{
	struct consent *c = &a->in->consent;
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

/* The changes that the plans leave out. */
static size_t count_left_out(const struct apply_consent *a)
{
	size_t n = 0, i;

	for (i = 0; i < a->in->change.root_count; i++)
		n += a->in->change.roots[i].plan.excepted.count +
		     a->in->change.roots[i].plan.kept.count;
	return n;
}

/* Finds the only copies that would be lost. 1: the plans do not refuse them
 * yet. */
static int judge_plans(struct apply_consent *a, size_t left_out,
		       struct err *err)
{
	struct consent *c = &a->in->consent;
	size_t before = c->copies.count;

	judged_run_free(&a->judged);
	if (judged_run_load(a->in->c, a->in->p, &a->in->change, &a->in->changes,
			    &a->judged, err) < 0)
		return -err->num;
	a->judged_without = left_out;
	a->is_judged = true;
	judgement_list_copies(&a->judged.judgement, &a->in->p->session, c);
	return c->copies.count > before;
}

/* A product of a build that the user made, too, is no reason to refuse the
 * sources: the user's stays, and the next build makes it again. True if there
 * are such conflicts. */
static bool keep_products(struct apply_consent *a)
{
	const struct judgement *judged = &a->judged.judgement;
	size_t roots = a->in->change.root_count, i, k;
	bool any = false;

	if (!a->products)
		a->products = mem_zalloc(roots * sizeof(*a->products));
	for (i = 0; i < roots && i < judged->count; i++) {
		struct changeset_root *root = &a->in->change.roots[i];
		const struct conflict_list *found = &root->plan.conflicts;
		auto_free bool *made = mem_zalloc(found->count + 1);

		if (found->count && !a->in->changes.roots[i].home)
			loss_find_generated(&judged->views[i],
					    apply_plan_root_path(a->in, i),
					    found, made);
		for (k = 0; k < found->count; k++) {
			if (!made[k])
				continue;
			mem_list_add(&a->product_paths, found->items[k].path);
			*VEC_ADD(&a->products[i]) = (struct plan_choice){
				.path = a->product_paths[a->product_count++],
				.resolve = RESOLVE_OURS,
			};
			any = true;
		}
		SORT_BY_PATH(a->products[i].items, a->products[i].count, path);
		root->choices = a->products[i].items;
		root->choice_count = a->products[i].count;
	}
	return any;
}

/*
 * Plans that refuse the loss of only copies. A change that is left out may have
 * been the other copy of a file, so that the losses are judged again when more
 * is left out; usually nothing is lost, and one plan is enough.
 */
static int plan_and_judge(struct apply_consent *a, struct err *err)
{
	size_t left_out;
	int got;

	do {
		do {
			if (apply_plan_make(a->in, a->resolve, err) < 0)
				return -err->num;
		} while (apply_plan_leave_halves(a->in));
		left_out = count_left_out(a);
		got = a->is_judged && a->judged_without == left_out
			      ? 0
			      : judge_plans(a, left_out, err);
	} while (got > 0 || (got == 0 && keep_products(a)));
	return got;
}

/* For --follow -y: the other paths are planned by themselves. Without them some
 * of these may be only copies. */
static int leave_blocked(struct apply_consent *a, struct err *err)
{
	unsigned int i;

	for (i = 0; i < LEAVE_ROUNDS; i++) {
		int got = follow_leave_blocked(a->in, err);

		if (got <= 0)
			return got;
		a->is_judged = false;
		if (plan_and_judge(a, err) < 0)
			return -err->num;
	}
	return 0;
}

/* The refusals of all plans; false: there are none, or there is a conflict. */
static bool take_askable(struct apply_consent *a)
{
	size_t i, k;

	for (k = 0; k < a->in->change.root_count; k++)
		if (a->in->change.roots[k].plan.conflicts.count)
			return false;
	for (k = 0; k < a->in->change.root_count; k++) {
		struct plan *plan = &a->in->change.roots[k].plan;

		for (i = 0; i < plan->refusals.count; i++) {
			struct asked *asked = VEC_ADD(&a->askable);

			asked->refusal = plan->refusals.items[i];
			asked->path = path_join(apply_plan_root_path(a->in, k),
						asked->refusal.path);
			asked->shown = mem_printf("%s%s", plan->prefix,
						  asked->refusal.path);
		}
		plan->refusals.count = 0;
	}
	return a->askable.count > 0;
}

/* The listed plan is that of a yes to every question. */
int apply_consent_plan(struct apply_consent *a, struct err *err)
{
	size_t i;

	if (parse_consent(a, err) < 0 || plan_and_judge(a, err) < 0)
		return -err->num;
	if (a->o->follow && a->o->yes)
		return leave_blocked(a, err);
	if (a->o->dry_run || a->o->json || !output_can_ask() ||
	    !take_askable(a))
		return 0;
	for (i = 0; i < a->askable.count; i++)
		if (a->askable.items[i].refusal.kind != REFUSED_COPY)
			mem_list_add(&a->in->consent.paths,
				     a->askable.items[i].path);
	mem_list_add(&a->in->consent.rules, CONSENT_ONLY_COPY);
	return apply_plan_make(a->in, a->resolve, err);
}

/* How many of the asked losses; *ret_deleted: of files that are deleted. */
static size_t count_asked_copies(const struct apply_consent *a,
				 size_t *ret_deleted)
{
	const struct consent *c = &a->in->consent;
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
int apply_consent_ask(struct apply_consent *a, struct err *err)
{
	size_t deleted, copies = count_asked_copies(a, &deleted), i;
	bool all = true;

	if (!a->askable.count || parse_consent(a, err) < 0)
		return a->askable.count ? -err->num : 0;
	if (copies > 1) {
		all = ask_about_copies(copies, deleted);
		a->in->consent.except_copies = !all;
		if (all)
			mem_list_add(&a->in->consent.rules, CONSENT_ONLY_COPY);
		else if (!a->takes_all)
			output_hint("%zu files stay as they are", copies);
	}
	for (i = 0; i < a->askable.count && (all || !a->takes_all); i++) {
		const struct asked *asked = &a->askable.items[i];
		bool yes;

		if (copies > 1 && asked->refusal.kind == REFUSED_COPY)
			continue;
		yes = plan_print_consent(asked->shown, &asked->refusal);

		mem_list_add(yes ? &a->in->consent.paths
				 : &a->in->consent.except,
			     asked->path);
		all &= yes;
	}
	if (!all && a->takes_all) {
		output_hint("nothing applied: a commit takes all files; guard "
			    "apply %s, without %s, leaves some out",
			    session_label(&a->in->p->session),
			    a->o->commits  ? "--commits"
			    : a->o->branch ? "--branch"
					   : "--commit");
		return 1;
	}
	return all ? 0 : plan_and_judge(a, err);
}

/* --- remedies for refusals --- */

/* The same command with more options, and with -y where there is no terminal to
 * ask on. */
static char *command_with(const struct apply_consent *a, const char *options)
{
	bool asks = !a->o->yes && !a->o->dry_run && !output_can_ask();
	AUTO(buf) struct buf b = {0};
	char *const *arg;

	buf_printf(&b, "%s apply%s%s", output_command(), options,
		   asks ? " -y" : "");
	for (arg = a->o->words; arg && *arg; arg++)
		buf_printf(&b, " %s", text_shell(*arg));
	return buf_take_text(&b);
}

#define REMEDY_PATHS 3 /* more are named by their rules */

/* " --yes-to PATH" for each refused path. */
static void add_yes_options(const struct apply_consent *a, struct buf *to)
{
	AUTO(mem_list) char **paths = NULL, **rules = NULL;
	size_t count = 0, i, k;
	bool named = true;

	for (k = 0; k < a->in->change.root_count; k++) {
		const struct plan *plan = &a->in->change.roots[k].plan;
		const char *root = apply_plan_root_path(a->in, k);

		for (i = 0; i < plan->refusals.count; i++) {
			const struct refusal *r = &plan->refusals.items[i];
			auto_free char *path = apply_report_path(root, r->path);

			named &= *path != '-' && !consent_is_rule(path);
			count += mem_list_add_once(&paths, path);
			(void)mem_list_add_once(&rules, r->rule);
		}
	}
	named &= count <= REMEDY_PATHS;
	for (i = 0; paths && (named ? paths : rules)[i]; i++)
		buf_printf(to, " --yes-to %s",
			   text_shell((named ? paths : rules)[i]));
}

/* Both complete commands for plans with refusals. */
void apply_consent_remedy(const struct apply_consent *a)
{
	auto_free char *without = command_with(a, " --except critical");
	auto_free char *with = NULL;
	AUTO(buf) struct buf options = {0};
	bool any = false, copies = false, in_git = false, only_copies = true;
	size_t i, k;

	for (i = 0; i < a->in->change.root_count; i++) {
		/* Conflicts are resolved first, by commands of their own. */
		if (a->in->change.roots[i].plan.conflicts.count)
			return;
		any |= a->in->change.roots[i].plan.refusals.count > 0;
		for (k = 0; k < a->in->change.roots[i].plan.refusals.count; k++)
			only_copies &= a->in->change.roots[i]
					       .plan.refusals.items[k]
					       .kind != REFUSED_RISK;
		copies |= plan_print_copies_refused(
				  &a->in->change.roots[i].plan) > 0;
	}
	if (!any)
		return;
	add_yes_options(a, &options);
	with = command_with(a, buf_text(&options));
	output_hint("nothing applied; with these changes: %s", with);
	for (i = 0; i < a->in->consent.copies.count; i++)
		in_git |= a->in->consent.copies.items[i].in_git;
	for (i = 0; in_git && i < a->in->change.root_count; i++)
		apply_report_gits_left(&a->in->change.roots[i].plan,
				       apply_plan_root_path(a->in, i),
				       session_label(&a->in->p->session));
	if (a->takes_all) {
		const char *run = session_label(&a->in->p->session);
		const char *yes = a->o->yes || !output_can_ask() ? " -y" : "";

		/* A branch asks about risks, too. */
		if (only_copies)
			output_hint("no file is changed by: guard apply "
				    "--branch NAME%s "
				    "%s, which commits to that branch",
				    yes, run);
		if (a->o->commits)
			output_hint(in_git ? "or by: guard apply%s %s .git, "
					     "then apply the files"
					   : "or by: guard import%s %s, to "
					     "merge the run's commits",
				    yes, run);
		return;
	}
	output_hint("without them: %s", without);
	if (copies)
		output_hint("--yes-to PATH and --except PATH decide on one "
			    "file or one deleted directory, --yes-to all "
			    "allows all of it");
}

/* The command that names every root of the run, and so takes both ends of each
 * move. */
void apply_consent_halves_remedy(const struct apply_consent *a)
{
	const struct session *s = &a->in->p->session;
	auto_free char *command = command_with(a, "");
	auto_free char *cwd = getcwd(NULL, 0);
	AUTO(buf) struct buf b = {0};
	size_t i;

	/* Paths were named: the plans take all that they can. Commits are taken
	 * without paths alone. */
	if (resolve_run_has_paths(a->in->p) || a->o->commits)
		return;
	buf_add_text(&b, command);
	for (i = 0; i < s->root_count; i++)
		buf_printf(&b, " %s",
			   cwd && strcmp(cwd, s->roots[i].path) == 0
				   ? "."
				   : text_shell(s->roots[i].path));
	output_hint("nothing applied; all changes with both names: %s",
		    buf_text(&b));
	free(command);
	command = command_with(a, " --only");
	output_hint("without the other names: %s", command);
}
