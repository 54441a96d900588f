/* The plans of an apply, and their execution. */
#include <inttypes.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/sorted.h"
#include "base/text.h"
#include "guard/change/applied_base.h"
#include "guard/change/apply_plan.h"
#include "guard/change/moved_dirs.h"
#include "guard/change/recover.h"
#include "guard/change/worktrees.h"
#include "guard/rules/risk.h"
#include "guard/state/report.h"
#include "overlay/upper_busy.h"
#include "restore/git/gitdir.h"
#include "restore/move_from_upper.h"

/* From this number of steps on, other guard processes are told that an apply is
 * under way. */
#define MANY_STEPS 1000

static const char *const none[] = {NULL};

/* The paths to plan; NULL: all. */
static const char *const *plan_paths(const struct apply_plan *a, size_t index)
{
	const struct changeset_root *root = &a->change.roots[index];
	char **paths = resolve_run_paths(a->p, index);

	if (root->git_picked || (index && root->picked))
		return NULL;
	/* Other roots were named. */
	if (resolve_run_has_paths(a->p) && !paths)
		return none;
	return (const char *const *)(paths ?: root->gits);
}

/* The paths that the user leaves out, by option or in a review; to free. */
static char **excepted_paths(const struct apply_plan *a, size_t index)
{
	const struct changeset_root *root = &a->change.roots[index];
	char **except =
		consent_excepted(&a->consent, apply_plan_root_path(a, index));
	size_t i;

	for (i = 0; i < root->choice_count; i++)
		if (root->choices[i].resolve == RESOLVE_NOT)
			mem_list_add(&except, root->choices[i].path);
	return except;
}

/* Adds a path to those that are left out; true: it was not among them. */
static bool leave_path(struct apply_plan *a, size_t root, const char *path)
{
	auto_free char *full = path_join(apply_plan_root_path(a, root), path);

	return mem_list_add_once(&a->consent.except, full);
}

/* Leaves out the run's changes below a directory where another file system is
 * now, which is no part of the root. Paths that the user named stay. */
static void leave_mounts(struct apply_plan *a, size_t index)
{
	const struct snapshot *now = &a->change.roots[index].now;
	const struct changes_root *changes = &a->changes.roots[index];
	size_t i;

	for (i = 0; i < now->note_count && !resolve_run_has_paths(a->p); i++) {
		const char *path = now->notes[i].path;
		auto_free char *full =
			mem_printf("%s%s", changes->prefix, path);

		if (strcmp(now->notes[i].text, NOTE_FILE_SYSTEM) != 0 ||
		    !changes_has(&changes->list, path))
			continue;
		a->left = true;
		if (leave_path(a, index, path))
			report_warning("left out: %s is another file system "
				       "since the run",
				       text_quote(full));
	}
}

/* The user has switched the worktree to another branch. */
static void report_switched(const struct apply_plan *a, struct worktree *w,
			    const char *shown)
{
	const struct changeset_root *root = &a->change.roots[w->owner];
	struct store *store = a->c->store;
	auto_free char *head = path_join(w->admin, "HEAD");
	AUTO(entry) struct entry began = {0}, now = {0};
	struct err ignored;

	if (!w->said &&
	    tree_lookup(store, &root->base.root, head, &began, &ignored) > 0 &&
	    tree_lookup(store, &root->now.root, head, &now, &ignored) > 0 &&
	    !entry_same_content(&began, &now))
		report_warning("worktree %s is at another branch or commit "
			       "than when the run began",
			       text_quote(shown));
	w->said = true;
}

/* Leaves out worktrees that no path names, and says so once. With the run's
 * commits, those of the user are taken. */
static void leave_worktrees(struct apply_plan *a, size_t root)
{
	struct changes_root *changes = &a->changes.roots[root];
	const char *run = session_label(&a->p->session);
	size_t i;

	worktrees_count(changes);
	for (i = 0; i < changes->worktrees.count; i++) {
		struct worktree *w = &changes->worktrees.items[i];
		const char *path = w->path ?: w->from;
		auto_free char *shown =
			mem_printf("%s%s", changes->prefix, path);
		AUTO(buf) struct buf text = {0};
		bool left;

		if (w->named && worktrees_is_old(w) && !w->outside)
			report_switched(a, w, shown);
		if (w->named || (a->commits && !w->left && root == w->owner &&
				 worktrees_is_old(w)))
			continue;
		left = w->from && leave_path(a, root, w->from);
		left |= w->path && leave_path(a, root, w->path);
		if (!left)
			continue;
		worktrees_text(w, &text);
		report_note(w->outside && !worktrees_is_old(w)
				    ? "left out: worktree %s (%s): guard "
				      "import %s imports its commits"
				    : "left out: worktree %s (%s): guard apply "
				      "%s %s applies it",
			    text_quote(shown), buf_text(&text), run,
			    text_shell(shown));
		a->worktrees_left = true;
		a->left |= !resolve_run_has_paths(a->p);
	}
}

/* Plans one root, whose consents are asked for by consent_decide(). */
static int plan_root_by(struct apply_plan *a, size_t index,
			enum plan_resolve resolve, struct consent_root *consent,
			struct err *err)
{
	struct changeset_root *root = &a->change.roots[index];
	auto_free char *label = mem_printf("run %s", a->p->session.id);
	auto_free char *git_dir =
		index ? NULL : gitdir_below(a->p->session.project);
	AUTO(mem_list)
	char **agreed = consent_paths_below(a->consent.paths, consent->path);
	AUTO(mem_list) char **except = excepted_paths(a, index);
	bool late = a->p->session.roots[index].late;
	struct plan_options options = {
		.paths = plan_paths(a, index),
		.except = (const char *const *)except,
		.choices = root->choices,
		.choice_count = root->choice_count,
		.partial = late,
		.git_apart = !root->git_picked,
		.git_dir = git_dir,
		.partial_now = !late && root->only,
		.refuse_special = true,
		.refuse_unreadable = geteuid() != 0,
		.agreed = (const char *const *)agreed,
		.consent = consent_decide,
		.consent_arg = consent,
		.base_notes = &root->base,
		.now_notes = &root->now,
		.resolve = resolve ? resolve : RESOLVE_MERGE,
		.our_label = consent->home ? "home"
			     : index	   ? "yours"
					   : "project",
		.their_label = label,
	};

	if (!index && !root->picked && a->differences.complete)
		options.differences = &a->differences;
	if (changeset_plan_root(&a->change, index, &root->base.root, &options,
				err) < 0)
		return -err->num;
	if (options.paths == none) {
		root->plan.git_skipped = 0;
		names_free(&root->plan.gits_skipped);
	}
	/* A branch has files of its own. */
	if (a->consent.off)
		plan_drop_conflicts(&root->plan);
	consent_refuse_copies(consent, &root->plan);
	consent_refuse_commits(consent, &root->plan);
	return 0;
}

static int plan_root(struct apply_plan *a, size_t index,
		     enum plan_resolve resolve, struct err *err)
{
	struct changeset_root *root = &a->change.roots[index];
	struct store *store = a->c->store;
	bool home = a->changes.roots[index].home;
	const char *path = apply_plan_root_path(a, index);
	auto_free char *above = home ? mem_strdup("~") : risk_above(path);
	AUTO(snapshot) struct snapshot begun = {0};
	/* A branch takes nothing of the other roots. */
	static char *rules[] = {"all", NULL};
	static const struct consent given = {.rules = rules};
	struct consent_root consent = {
		.consent = a->consent.off && index ? &given : &a->consent,
		.store = store,
		.now = &root->now.root,
		.want = root->picked ?: &root->want.root,
		.path = path,
		.above = above,
		.home = home,
		.changes = &a->changes.roots[index],
	};
	struct err ignored;

	changes_refs_forget(consent.changes);
	leave_mounts(a, index);
	leave_worktrees(a, index);
	if (home && !resolve_run_home_paths(a->p)) {
		plan_free(&root->plan);
		return 0;
	}
	if (a->consent.copies.count && !home &&
	    catalog_load(store, a->p->session.roots[index].base, &begun,
			 &ignored) == 0)
		consent.begun = &begun.root;
	return plan_root_by(a, index, resolve, &consent, err);
}

int apply_plan_make(struct apply_plan *a, enum plan_resolve resolve,
		    struct err *err)
{
	size_t i;

	risk_renew_time();
	for (i = 0; i < a->change.root_count; i++) {
		struct changeset_root *root = &a->change.roots[i];

		if (changes_is_gone(&a->changes.roots[i])) {
			plan_free(&root->plan);
			names_add(&root->plan.excepted, "");
		} else if (plan_root(a, i, resolve, err) < 0) {
			return a->changes.roots[i].home
				       ? -err->num
				       : apply_plan_name_root(a, i, err);
		}
		/* The project and a home directory that was named are part of
		 * the action even when nothing is done in them. */
		root->excluded = i && (a->changes.roots[i].home
					       ? !resolve_run_home_paths(a->p)
					       : !plan_has_effect(&root->plan));
	}
	return 0;
}

bool apply_plan_has_exceptions(const struct apply_plan *a)
{
	size_t i;

	if (a->worktrees_left)
		return true;
	for (i = 0; i < a->change.root_count; i++)
		if (a->change.roots[i].plan.excepted.count)
			return true;
	return false;
}

/* Leaves out the directory above a path that is left out, if it would replace a
 * file of the user. */
static bool leave_replaced(struct apply_plan *a, size_t root, const char *path)
{
	const struct change_list *l = &a->changes.roots[root].list;
	auto_free char *up = path_parent(path);
	const struct change *c = FIND_BY_PATH(up, l->items, l->count, path);

	if (c && c->kind == CHANGE_TYPE)
		return leave_path(a, root, up);
	return *up && leave_replaced(a, root, up);
}

bool apply_plan_leave_halves(struct apply_plan *a)
{
	size_t roots = a->change.root_count, i, k;
	auto_free char ***lists = mem_zalloc(roots * sizeof(*lists));
	auto_free size_t *counts = mem_zalloc(roots * sizeof(*counts));
	bool any = false, more = false;

	for (i = 0; i < roots && !a->p->only; i++) {
		const struct plan *plan = &a->change.roots[i].plan;

		/* A home directory of which no path was named has no plan. */
		lists[i] = consent_excepted(&a->consent,
					    apply_plan_root_path(a, i));
		for (k = 0; k < plan->excepted.count; k++) {
			mem_list_add(&lists[i], plan->excepted.items[k]);
			more |= leave_replaced(a, i, plan->excepted.items[k]);
		}
		while (lists[i][counts[i]])
			counts[i]++;
		any |= counts[i] > 0;
	}
	if (any) {
		changes_find_moves(&a->changes);
		resolve_run_add_halves(&a->changes, lists, false, "left out");
	}
	for (i = 0; i < roots; i++) {
		for (k = counts[i]; any && lists[i][k]; k++)
			more |= leave_path(a, i, lists[i][k]);
		mem_list_free(&lists[i]);
	}
	return more;
}

/* --- moves from one root to another --- */

static const char *end_path(const struct changes_across *m, bool from)
{
	return from ? m->from : m->to;
}

/* Whether the plan of a root makes one end of a move. */
static bool plan_makes_end(const struct plan *plan, const char *path)
{
	size_t i;

	for (i = 0; i < plan->steps.count; i++) {
		const struct step *s = &plan->steps.items[i];

		if (s->kind == STEP_DELETE ? path_below(path, s->path)
					   : strcmp(path, s->path) == 0)
			return true;
	}
	return false;
}

/* Whether the plans leave an end in its root pending: of the home directory no
 * path was named, or the user did not accept the end in a review. */
static bool leaves_end(const struct apply_plan *a, size_t root,
		       const char *path)
{
	if (a->changes.roots[root].home && !resolve_run_home_paths(a->p))
		return true;
	return a->change.roots[root].picked &&
	       !plan_makes_end(&a->change.roots[root].plan, path);
}

bool apply_plan_is_half(const struct apply_plan *a,
			const struct changes_across *m, bool from)
{
	size_t root = from ? m->from_root : m->to_root;
	size_t other = from ? m->to_root : m->from_root;

	return leaves_end(a, other, end_path(m, !from)) &&
	       plan_makes_end(&a->change.roots[root].plan, end_path(m, from));
}

static int refuse_half(const struct apply_plan *a,
		       const struct changes_across *m, bool from,
		       struct err *err)
{
	size_t root = from ? m->from_root : m->to_root;
	size_t other = from ? m->to_root : m->from_root;
	auto_free char *path =
		path_join(apply_plan_root_path(a, root), end_path(m, from));
	auto_free char *shown = mem_printf(
		"%s%s", a->changes.roots[root].prefix, end_path(m, from));
	auto_free char *pending = mem_printf(
		"%s%s", a->changes.roots[other].prefix, end_path(m, !from));

	return fail(err, EXDEV,
		    "%s would be applied without its %s name %s: guard apply "
		    "%s %s takes both",
		    text_quote(shown), from ? "new" : "old",
		    text_quote(pending), session_label(&a->p->session),
		    text_quote(path));
}

/* Whether the search for moves can find one with an end that stays pending. */
static bool may_leave_ends(const struct apply_plan *a)
{
	if (a->p->only)
		return false;
	if (a->change.roots[0].picked && a->p->session.root_count > 1)
		return true;
	return !resolve_run_home_paths(a->p) &&
	       (a->worktrees_left || apply_plan_home_left(a));
}

int apply_plan_check_halves(struct apply_plan *a, struct err *err)
{
	size_t i;

	if (!may_leave_ends(a))
		return 0;
	changes_find_moves(&a->changes);
	for (i = 0; i < a->changes.across.count; i++) {
		const struct changes_across *m = &a->changes.across.items[i];
		bool from = apply_plan_is_half(a, m, true);

		if (from || apply_plan_is_half(a, m, false))
			return refuse_half(a, m, from, err);
	}
	return 0;
}

static int move_base(const struct apply_plan *a, size_t index,
		     struct action *action, struct err *err)
{
	const struct changeset_root *root = &a->change.roots[index];
	const struct session *s = &a->p->session;
	const struct entry *wanted = root->picked ?: &root->want.root;
	struct store *store = a->c->store;
	AUTO(snapshot) struct snapshot own = {0};

	if (root->excluded || !plan_has_effect(&root->plan))
		return 0;
	if (s->roots[index].late &&
	    applied_base_move_left(store, s, index, &root->now, &root->plan,
				   wanted, action, err) < 0)
		return -err->num;
	/* apply_commits_make() has set another .git in the base. */
	return (root->gits &&
		catalog_load(store, root->base.seq, &own, err) < 0) ||
			       applied_base_move(store, s, index,
						 own.seq ? &own : &root->base,
						 &root->plan, wanted, action,
						 err) < 0
		       ? -err->num
		       : 0;
}

/* The applied changes are no changes of the run any more. */
static int move_bases(const struct apply_plan *a, struct action *action,
		      struct err *err)
{
	size_t i;

	for (i = 0; i < a->change.root_count; i++)
		if (move_base(a, i, action, err) < 0)
			return -err->num;
	return 0;
}

/* Whether the layer has the changes of the complete run, and no process can
 * change it: the files and directories of the plan may come from it. */
static bool may_use_layer(const struct apply_plan *a)
{
	const struct session *s = &a->p->session;

	return !s->live && a->changes.stored && !a->change.roots[0].picked &&
	       upper_busy_ruled_out(s->fd, a->changes.roots[0].upper_fd);
}

int apply_plan_execute(struct apply_plan *a, bool complete, bool git,
		       uint64_t *ret_after, struct err *err)
{
	struct session *s = &a->p->session;
	struct changeset_root *project = &a->change.roots[0];
	AUTO(action)
	struct action action = {
		.kind = mem_strdup("apply"),
		.run_id = mem_strdup(s->id),
		.run_name = mem_strdup(session_name(s)),
		.git = git,
		.complete = complete,
	};
	/* New directories are moved out of the layer itself when the complete
	 * run is applied: no decision about the rest of its layer is pending
	 * then. */
	char **moved_dirs = complete && !moved_dirs_any(s)
				    ? move_from_upper_choose(&project->plan)
				    : NULL;
	bool use_layer =
		(moved_dirs || move_from_upper_wants_clone(&project->plan)) &&
		may_use_layer(a);
	struct transaction_layer layer = {
		.upper_fd = a->changes.roots[0].upper_fd,
		.before = s->ended,
		.changes = &a->changes.roots[0].list,
	};
	auto_free char *before = NULL, *after = NULL;
	struct err more;
	int got = 0;

	if (!use_layer)
		mem_list_free(&moved_dirs);
	moved_dirs_record(s, moved_dirs);
	layer.paths = moved_dirs;
	project->layer = use_layer ? &layer : NULL;
	changeset_wait_starting_runs(&a->change);
	/* The run says that it is being applied where that takes a moment, or
	 * where parts of its layer may be missing from now on. A live run's
	 * record is its own guard's to write. */
	if (!s->live && (moved_dirs || project->plan.steps.count >= MANY_STEPS))
		got = session_set_state(s, RUN_APPLYING, err);
	if (got == 0)
		got = move_bases(a, &action, err);
	if (got == 0)
		got = changeset_execute(&a->change, &action, err);
	project->layer = NULL;
	mem_list_free(&moved_dirs);
	if (got < 0) {
		/* An unfinished transaction is completed by the next
		 * command. */
		if (s->live ||
		    fd_exists(project->project.workspace_fd, "next-action"))
			return got;
		if (moved_dirs_restore(s, a->c->store, &more) < 0)
			report_warning("%s", more.text);
		(void)session_set_state(s, RUN_ENDED, &more);
		return got;
	}
	/* The files are as they shall be, and undo knows of it: what fails now
	 * is no reason to call the apply failed. */
	if (recover_set_run_state(a->c, s, complete, &more) == 0)
		action_close(project->project.workspace_fd, &action);
	else
		report_warning(
			"done, but the state of run %s could not be written; "
			"the next guard command here tries again: %s",
			session_label(s), more.text);
	before = mem_printf("%" PRIu64, project->now.seq);
	*ret_after = action.roots.items[0].after;
	after = mem_printf("%" PRIu64, *ret_after);
	state_log(&a->c->state, "apply", "run", s->id, "project", s->project,
		  "before", before, "after", after, NULL);
	return 0;
}
