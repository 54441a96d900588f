#include "guard/change/apply_plan.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/sorted.h"
#include "base/text.h"
#include "base/vec.h"
#include "guard/change/applied_base.h"
#include "guard/change/delta.h"
#include "guard/change/late_base.h"
#include "guard/change/live.h"
#include "guard/change/recover.h"
#include "guard/change/moved_dirs.h"
#include "guard/rules/risk.h"
#include "guard/state/report.h"
#include "overlay/session_base.h"
#include "overlay/upper_busy.h"
#include "restore/result.h"
#include "restore/move_from_upper.h"

/* From this number of steps on, other guard processes are told that an apply is
 * under way. */
#define MANY_STEPS 1000

static const char *const none[] = {NULL};
/* All paths, and those of the project's own .git. */
static const char *const with_git[] = {"", ".git", NULL};

void apply_plan_free(struct apply_plan *a)
{
	changeset_free(&a->change);
	changes_free(&a->changes);
	consent_free(&a->consent);
	differences_free(&a->differences);
	*a = (struct apply_plan)APPLY_PLAN_NONE;
}

static bool is_home(const struct apply_plan *a, size_t index)
{
	return index == a->p->session.root_count;
}

const char *apply_plan_root_path(const struct apply_plan *a, size_t index)
{
	return a->p->session.roots[index].path;
}

/* The errors of other roots than the project name them. */
static int name_failed_root(const struct apply_plan *a, size_t index,
			    struct err *err)
{
	return index ? err_context(err, "%s",
				   text_quote(apply_plan_root_path(a, index)))
		     : -err->num;
}

static int ensure_base(struct apply_plan *a, struct err *err)
{
	struct session *s = &a->p->session;

	if (late_base_ensure(a->c, s, resolve_run_home_paths(a->p), err) < 0)
		return err_context(
			err,
			"the files from before run %s could not be stored, so "
			"its changes cannot be separated from yours: copy what "
			"you need (guard diff %s)",
			session_label(s), session_label(s));
	return 0;
}

/* The base that the changes were compared with. */
static int take_root_base(struct apply_plan *a, size_t index, struct err *err)
{
	const struct session *s = &a->p->session;
	struct snapshot *base = &a->change.roots[index].base;
	struct snapshot *compared = &a->changes.roots[index].base;

	if (compared->seq) {
		*base = *compared;
		*compared = (struct snapshot){0};
		return 0;
	}
	return catalog_load(a->c->store, applied_base_seq(s, index), base,
			    err) == 0
		       ? 0
	       : index ? err_context(err, "%s before run %s",
				     text_quote(s->roots[index].path),
				     session_label(s))
		       : -err->num;
}

static int refresh_root(struct apply_plan *a, size_t index, struct err *err)
{
	const struct session *s = &a->p->session;
	struct changeset_root *root = &a->change.roots[index];
	bool home = is_home(a, index);
	const char *path = apply_plan_root_path(a, index);
	int got;

	if (root->project.path || (home && !root->only))
		return 0;
	got = changeset_open_root(&a->change, index, path, err);
	if (got < 0)
		return home ? got : changes_explain(got, path, err);
	if (home)
		root->project.moved_since = session_began(s);
	if (changeset_inspect_root(&a->change, index, "pre-apply", s->id, err) <
	    0)
		return -err->num;
	root->project.moved_since = (struct timestamp){0};
	return home ? applied_base_filter_notes(a->c->store, s, index,
						&root->now, err)
		    : 0;
}

int apply_plan_refresh(struct apply_plan *a, struct err *err)
{
	size_t i;

	for (i = 0; i < a->change.root_count; i++)
		if (refresh_root(a, i, err) < 0)
			return -err->num;
	return 0;
}

/* The tree that the run left in a root. */
static int load_root_want(struct apply_plan *a, size_t index, struct err *err)
{
	struct changeset_root *root = &a->change.roots[index];
	const struct changes_root *changes = &a->changes.roots[index];
	char **paths = resolve_run_paths(a->p, index);
	const char *const *only = NULL;

	if (changes->delta) {
		entry_copy(&root->want.root, &changes->delta->now);
		return 0;
	}
	if (resolve_run_has_paths(a->p) && !resolve_run_names_git(paths))
		only = paths ? (const char *const *)paths : none;
	return result_make(a->c->store, &root->base.root, changes->upper_fd,
			   &changes->list, only, &root->want.root, err);
}

/* --- the home directory --- */

/* Only the named paths are applied. */

/* A cache is taken only by a path in it. */
static bool is_named_in_home(const char *path, char *const *paths)
{
	for (; *paths; paths++)
		if (path_below(path, *paths) &&
		    (!changes_is_cache(path) || changes_is_cache(*paths)))
			return true;
	return false;
}

/* Sets the paths in *tree to the entries of another tree. */
static int copy_paths(struct store *store, const struct change_list *list,
		      const struct entry *from, struct entry *tree,
		      struct err *err)
{
	AUTO(lookup) struct lookup lookup = {.store = store, .root = from};
	struct tree_editor *editor = tree_editor_new(store, tree);
	size_t i;
	int got = 0;

	for (i = 0; i < list->count && got == 0; i++)
		got = applied_base_copy(editor, &lookup, list->items[i].path,
					err);
	return tree_editor_end(&editor, got, tree, err);
}

/* The present caches are the base of theirs: they are in no stored tree. What
 * changed in them since the run began is an edit of the user. */
static int add_caches_to_base(struct apply_plan *a, struct changeset_root *root,
			      const struct change_list *caches, struct err *err)
{
	size_t i;

	for (i = 0; i < root->now.note_count; i++)
		if (root->now.notes[i].kind == NOTE_MOVED &&
		    changes_is_cache(root->now.notes[i].path))
			snapshot_add_note(&root->base, NOTE_MOVED,
					  root->now.notes[i].path, "");
	return copy_paths(a->c->store, caches, &root->now.root,
			  &root->base.root, err);
}

static int load_home_want(struct apply_plan *a, struct err *err)
{
	size_t index = a->p->session.root_count, i;
	struct changeset_root *root = &a->change.roots[index];
	const struct changes_root *home = changes_home(&a->changes);
	char *const *paths = resolve_run_home_paths(a->p);
	struct change_list named = {0}, stored = {0}, caches = {0};
	struct changes_root read = *home; /* borrowed */
	AUTO(entry) struct entry want = {0};
	int got;

	if (!paths)
		return 0;
	/* Borrowed. */
	for (i = 0; i < home->list.count; i++) {
		const struct change *c = &home->list.items[i];

		if (!is_named_in_home(c->path, paths))
			continue;
		*VEC_ADD(&named) = *c;
		*VEC_ADD(changes_is_cache(c->path) ? &caches : &stored) = *c;
	}
	read.list = named;
	root->only = late_base_paths(&read);
	got = refresh_root(a, index, err);
	if (got == 0)
		got = take_root_base(a, index, err);
	if (got == 0)
		got = add_caches_to_base(a, root, &caches, err);
	entry_copy(&want, &root->base.root);
	/* The trees have all changes but those of caches. */
	if (got == 0 && home->delta)
		got = copy_paths(a->c->store, &stored, &home->delta->now, &want,
				 err);
	if (got == 0)
		got = result_make(a->c->store, &want, home->upper_fd,
				  home->delta ? &caches : &named, NULL,
				  &root->want.root, err);
	VEC_FREE(&named);
	VEC_FREE(&stored);
	VEC_FREE(&caches);
	return got;
}

size_t apply_plan_home_left(const struct apply_plan *a)
{
	const struct change_list *list = &changes_home(&a->changes)->list;
	char *const *named = resolve_run_home_paths(a->p);
	size_t count = 0, i;

	for (i = 0; i < list->count; i++)
		count += !changes_is_cache(list->items[i].path) &&
			 !(named &&
			   is_named_in_home(list->items[i].path, named));
	return count;
}

/* --- all roots --- */

/* The layers as they are at one moment, in the store: from here on they are
 * not read any more. */
static int load_layer_trees(struct apply_plan *a, struct err *err)
{
	const struct session *s = &a->p->session;
	size_t i;

	/* The files of a live run would be stored again by each apply. */
	bool scan = resolve_run_has_paths(a->p) && s->live &&
		    !session_has_applied(s);

	if ((scan ? changes_load(s, &a->c->state, &a->changes, err)
		  : changes_load_trees(a->c, s, &a->changes, err)) < 0 ||
	    resolve_run_check(a->p, &a->changes, err) < 0)
		return -err->num;
	resolve_run_add_moves(a->p, &a->changes, "applied");
	/* A move may have added the home directory, whose lock comes after the
	 * lock of the project. */
	if (resolve_run_home_paths(a->p) && apply_plan_refresh(a, err) < 0)
		return -err->num;
	for (i = 0; i < s->root_count; i++)
		if (take_root_base(a, i, err) < 0 ||
		    load_root_want(a, i, err) < 0)
			return name_failed_root(a, i, err);
	return load_home_want(a, err);
}

/*
 * The choice of the paths that are read of a large project. When the run
 * changed little, the plan needs only the changed paths, and the snapshots
 * before and after the apply are of these paths.
 */

struct partial_choice {
	char **paths;
	const char *last; /* in paths; entries below it are part of it */
	uint64_t count, max;
	bool all; /* a change needs the whole project to be read */
	struct differences *differences;
};

static bool has_hard_links(const struct entry *e)
{
	return e && e->link_group && S_ISREG(e->mode);
}

/* A file's other names may be anywhere. */
static int collect_partial_path(void *arg, const char *path,
				const struct entry *base,
				const struct entry *want, struct err *err)
{
	struct partial_choice *s = arg;
	bool is_dir =
		base && want && S_ISDIR(base->mode) && S_ISDIR(want->mode);
	auto_free char *alone = NULL;

	(void)err;
	/* Below a path that counts once there may be any number. */
	if (s->differences->count < 4 * s->max)
		differences_add(s->differences, path, base, want);
	else
		s->differences->complete = false;
	if (has_hard_links(base) || has_hard_links(want))
		s->all = true;
	if (s->all || !*path || path_has_part(path, ".git") ||
	    (s->last && path_below(path, s->last)))
		return 0;
	if (++s->count > s->max) {
		s->all = true;
		return 0;
	}
	if (is_dir)
		alone = mem_printf("%s/", path);
	s->last = NULL;
	mem_list_add(&s->paths, is_dir ? alone : path);
	if (!is_dir)
		s->last = s->paths[s->count - 1];
	return 0;
}

static int choose_paths_to_read(struct apply_plan *a, struct err *err)
{
	struct changeset_root *root = &a->change.roots[0];
	struct partial_choice s = {
		.max = changeset_partial_max(&root->base),
		.differences = &a->differences,
	};
	int got;

	s.differences->complete = true;
	got = tree_diff(a->c->store, &root->base.root, &root->want.root,
			collect_partial_path, &s, err);
	if (got < 0 || s.all)
		mem_list_free(&s.paths);
	if (got < 0 || !s.differences->complete)
		differences_free(s.differences);
	root->only = s.paths;
	return got < 0 ? got : 0;
}

/* A late base and the layers are read at the same moment: the command of a live
 * run is suspended for both. */
static bool lacks_base(struct session *s)
{
	struct err ignored;

	return session_base(s, true, &ignored) <= 0;
}

/* With a late base all trees of a root hold the changed paths alone. */
static int choose_paths_of_late_base(struct apply_plan *a, struct err *err)
{
	const struct session *s = &a->p->session;
	AUTO(changes) struct changes changes = CHANGES_NONE;
	size_t i;

	if (changes_load(s, NULL, &changes, err) < 0)
		return -err->num;
	for (i = 0; i < s->root_count; i++)
		if (s->roots[i].late)
			a->change.roots[i].only =
				late_base_paths(&changes.roots[i]);
	return 0;
}

static bool has_late_base(const struct session *s)
{
	size_t i;

	for (i = 0; i < s->root_count; i++)
		if (s->roots[i].late)
			return true;
	return false;
}

/* freezer: of a live run that is suspended already, or NULL. */
static int load_apply_trees(struct apply_plan *a, struct freezer **freezer,
			    struct err *err)
{
	struct session *s = &a->p->session;

	if (ensure_base(a, err) < 0 ||
	    (has_late_base(s) && choose_paths_of_late_base(a, err) < 0))
		return -err->num;
	if (s->live)
		return apply_plan_refresh(a, err) < 0 ||
				       (!*freezer &&
					live_suspend(s, freezer, err) < 0) ||
				       load_layer_trees(a, err) < 0
			       ? -err->num
			       : 0;
	if (load_layer_trees(a, err) < 0)
		return -err->num;
	/* All other cases need a complete snapshot, or read the paths
	 * themselves. */
	if (a->may_be_partial && !resolve_run_home_paths(a->p) &&
	    s->root_count == 1 &&
	    !resolve_run_names_git(resolve_run_paths(a->p, 0)) &&
	    changeset_partial_max(&a->change.roots[0].base) &&
	    !a->change.roots[0].project.path &&
	    choose_paths_to_read(a, err) < 0)
		return -err->num;
	return apply_plan_refresh(a, err);
}

int apply_plan_load(struct apply_plan *a, struct err *err)
{
	struct session *s = &a->p->session;
	struct freezer *freezer = NULL;
	size_t i;
	int got = 0;

	if (s->state == RUN_DISCARDED)
		return fail(err, ENOENT, "run %s was discarded",
			    session_label(s));
	if (s->state == RUN_APPLIED && !resolve_run_has_paths(a->p) &&
	    !a->commits)
		return fail(err, EALREADY,
			    "run %s is already applied: name paths to apply "
			    "the rest",
			    session_label(s));
	if (context_store(a->c, STORE_WRITE, err) < 0 ||
	    (!s->live && !changes_are_stored(s) &&
	     moved_dirs_restore(s, a->c->store, err) < 0))
		return -err->num;
	changeset_init(&a->change, a->c, s->root_count + 1);
	for (i = 1; i <= s->root_count; i++)
		a->change.roots[i].prefix =
			changes_prefix(apply_plan_root_path(a, i), s->home);
	if (lacks_base(s))
		got = live_suspend(s, &freezer, err);
	if (got == 0)
		got = load_apply_trees(a, &freezer, err);
	freezer_end(&freezer);
	return got;
}

int apply_plan_lock(struct context *c, struct resolved_run *p, struct err *err)
{
	struct session live = SESSION_NONE;
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
	if (!resolve_run_is_running(&live))
		return got;
	live_show_edits(&live);
	return 0;
}

static int plan_root(struct apply_plan *a, size_t index,
		     enum plan_resolve resolve, struct err *err)
{
	struct changeset_root *root = &a->change.roots[index];
	auto_free char *label = mem_printf("run %s", a->p->session.id);
	char **paths = resolve_run_paths(a->p, index);
	bool home = is_home(a, index);
	const char *path = apply_plan_root_path(a, index);
	auto_free char *above = home ? NULL : risk_above(path);
	auto_free char *hooks =
		home ? NULL : consent_hooks_dir(a->c->store, &root->now.root);
	AUTO(risk_links) struct risk_links links = {0};
	AUTO(snapshot) struct snapshot begun = {0};
	bool late = a->p->session.roots[index].late;
	struct consent_root consent = {
		.consent = &a->consent,
		.store = a->c->store,
		.now = &root->now.root,
		.want = root->picked ? root->picked : &root->want.root,
		.path = path,
		.above = above,
		.hooks = hooks,
		.links = &links,
		.home = home,
	};
	AUTO(mem_list)
	char **agreed = consent_paths_below(a->consent.paths, consent.path);
	AUTO(mem_list)
	char **except = consent_excepted(&a->consent, consent.path);
	struct plan_options options = {
		.paths = (const char *const *)paths,
		.choices = root->choices,
		.choice_count = root->choice_count,
		.partial = late,
		.git_apart = !root->git_picked,
		.partial_now = !late && root->only,
		.refuse_special = true,
		.refuse_unreadable = geteuid() != 0,
		.agreed = (const char *const *)agreed,
		.consent = consent_decide,
		.consent_arg = &consent,
		.base_notes = &root->base,
		.now_notes = &root->now,
		.resolve = resolve ? resolve : RESOLVE_MERGE,
		.our_label = home    ? "home"
			     : index ? "yours"
				     : "project",
		.their_label = label,
	};
	struct err ignored;
	size_t i;

	if (a->consent.copies.count && !home &&
	    catalog_load(a->c->store, a->p->session.roots[index].base, &begun,
			 &ignored) == 0)
		consent.begun = &begun.root;
	for (i = 0; i < root->choice_count; i++)
		if (root->choices[i].resolve == RESOLVE_NOT)
			mem_list_add(&except, root->choices[i].path);
	options.except = (const char *const *)except;
	if (home && !paths) {
		plan_free(&root->plan);
		return 0;
	}
	if (!home)
		consent_find_links(a->c->store, &root->now.root, &links);
	if (!index && !root->picked && a->differences.complete)
		options.differences = &a->differences;
	if (a->commits && !index)
		options.paths = with_git;
	if (root->git_picked || (index && root->picked))
		options.paths = NULL;
	else if (resolve_run_has_paths(a->p) && !paths)
		options.paths = none; /* other roots were named */
	if (changeset_plan_root(&a->change, index, &options.base_notes->root,
				&options, err) < 0)
		return -err->num;
	if (options.paths == none) {
		root->plan.git_skipped = 0;
		names_free(&root->plan.gits_skipped);
	}
	consent_refuse_copies(&consent, &root->plan);
	return 0;
}

int apply_plan_make(struct apply_plan *a, enum plan_resolve resolve,
		    struct err *err)
{
	size_t i;

	for (i = 0; i < a->change.root_count; i++) {
		struct changeset_root *root = &a->change.roots[i];

		if (plan_root(a, i, resolve, err) < 0)
			return is_home(a, i) ? -err->num
					     : name_failed_root(a, i, err);
		/* The project and a home directory that was named are part of
		 * the action even when nothing is done in them. */
		root->excluded =
			i && (is_home(a, i) ? !resolve_run_home_paths(a->p)
					    : !plan_has_effect(&root->plan));
	}
	return 0;
}

bool apply_plan_has_exceptions(const struct apply_plan *a)
{
	size_t i;

	for (i = 0; i < a->change.root_count; i++)
		if (a->change.roots[i].plan.excepted.count)
			return true;
	return false;
}

/* Adds a path to those that are left out; true: it was not among them. */
static bool leave_path(struct apply_plan *a, size_t root, const char *path)
{
	auto_free char *full = path_join(apply_plan_root_path(a, root), path);

	if (mem_list_has((const char *const *)a->consent.except, full))
		return false;
	mem_list_add(&a->consent.except, full);
	return true;
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
		for (k = 0; k < plan->excepted.count; k++)
			mem_list_add(&lists[i], plan->excepted.items[k]);
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
	if (is_home(a, root) && !resolve_run_home_paths(a->p))
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
	return !resolve_run_home_paths(a->p) && apply_plan_home_left(a);
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
	const struct entry *wanted =
		root->picked ? root->picked : &root->want.root;
	struct store *store = a->c->store;
	AUTO(snapshot) struct snapshot own = {0};

	if (root->excluded || !plan_has_effect(&root->plan))
		return 0;
	if (s->roots[index].late &&
	    applied_base_move_left(store, s, index, &root->now, &root->plan,
				   wanted, action, err) < 0)
		return -err->num;
	/* apply_commits_make() has set another .git in the base. */
	return (a->commits && !index &&
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

/*
 * New directories are moved out of the layer itself when the complete run is
 * applied: no decision about the rest of its layer is pending then.
 */
static char **choose_moved_dirs(struct apply_plan *a, bool complete)
{
	struct session *s = &a->p->session;
	char **paths;

	if (!complete || s->live || !a->changes.stored || moved_dirs_any(s) ||
	    a->change.roots[0].picked)
		return NULL;
	paths = move_from_upper_choose(&a->change.roots[0].plan);
	if (paths && !upper_busy_ruled_out(s->fd, a->changes.roots[0].upper_fd))
		mem_list_free(&paths);
	moved_dirs_record(s, paths);
	return paths;
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
	char **moved_dirs = choose_moved_dirs(a, complete);
	const struct transaction_layer layer = {
		.upper_fd = a->changes.roots[0].upper_fd,
		.before = s->ended,
		.paths = moved_dirs,
		.changes = &a->changes.roots[0].list,
	};
	auto_free char *before = NULL, *after = NULL;
	struct err more;
	int got = 0;

	project->layer = moved_dirs ? &layer : NULL;
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
