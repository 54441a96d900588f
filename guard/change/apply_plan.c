#include "guard/change/apply_plan.h"

#include <errno.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/text.h"
#include "guard/change/applied_base.h"
#include "guard/change/delta.h"
#include "guard/change/late_base.h"
#include "guard/change/live.h"
#include "guard/change/moved_dirs.h"
#include "guard/change/worktrees.h"
#include "guard/state/report.h"
#include "overlay/session_base.h"
#include "restore/result.h"

static const char *const none[] = {NULL};

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

int apply_plan_name_root(const struct apply_plan *a, size_t index,
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

/* Not before the layers were read. */
static bool is_left_out(const struct apply_plan *a, size_t index)
{
	return index < a->changes.root_count &&
	       changes_is_gone(&a->changes.roots[index]) &&
	       !resolve_run_paths(a->p, index);
}

static int refresh_root(struct apply_plan *a, size_t index, struct err *err)
{
	const struct session *s = &a->p->session;
	struct changeset_root *root = &a->change.roots[index];
	bool home = is_home(a, index);
	const char *path = apply_plan_root_path(a, index);
	int got;

	if (root->project.path || (home && !root->only) ||
	    is_left_out(a, index))
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
	const struct changes_root *home = changes_home(&a->changes);
	const struct change_list *list = &home->list;
	char *const *named = resolve_run_home_paths(a->p);
	size_t count = 0, i;

	for (i = 0; i < list->count; i++)
		count += !changes_is_cache(list->items[i].path) &&
			 !worktrees_leave(home, list->items[i].path) &&
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
	for (i = 0; i < s->root_count; i++) {
		if (is_left_out(a, i)) {
			report_warning("left out: %s no longer exists",
				       text_quote(s->roots[i].path));
			a->left = true;
		} else if (take_root_base(a, i, err) < 0 ||
			   load_root_want(a, i, err) < 0) {
			return apply_plan_name_root(a, i, err);
		}
	}
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

/* A project that was renamed has its runs along; another directory at its old
 * path must not get their files. */
static int refuse_other_dir(const struct session *s, struct err *err)
{
	return session_root_replaced(&s->roots[0])
		       ? fail(err, ESTALE,
			      "%s is another directory than the one in which "
			      "run %s began: if it is the same project, run "
			      "`guard repair --moved-from %s` in it first",
			      text_quote(s->project), session_label(s),
			      text_shell(s->project))
		       : 0;
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
	if (refuse_other_dir(s, err) < 0 ||
	    context_store(a->c, STORE_WRITE, err) < 0 ||
	    (!s->live && !session_is_stored(s) &&
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
