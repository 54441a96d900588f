#include "guard/change/undo.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/text.h"
#include "guard/change/applied_base.h"
#include "guard/change/apply_log.h"
#include "guard/change/changes.h"
#include "guard/change/recover.h"
#include "guard/change/undo_git.h"
#include "guard/state/report.h"
#include "overlay/session_base.h"
#include "restore/unreadable_dirs.h"
#include "restore/workspace.h"
#include "snapshot/store/ingest_hint.h"
#include "snapshot/tree/catalog.h"

/* Frees the action and its change; the project and the simulated steps of a
 * dry run stay. */
static void clear(struct undo *u)
{
	changeset_free(&u->change);
	action_free(&u->last);
}

void undo_free(struct undo *u)
{
	size_t i;

	clear(u);
	for (i = 0; i < u->simulated.count; i++)
		applied_ops_free(&u->simulated.items[i]);
	VEC_FREE(&u->simulated);
	free(u->path);
}

int undo_open_workspace(const struct undo *u, struct err *err)
{
	return workspace_open(u->c->state.workspaces_fd, u->path, false, err);
}

/* Sets *arg, and ends the comparison, unless only the time of a directory
 * differs: a file that the run created and deleted again changes that. */
static int find_change(void *arg, const char *path, const struct entry *was,
		       const struct entry *is, struct err *err)
{
	bool *changed = arg;

	(void)path;
	(void)err;
	*changed = !was || !is || !S_ISDIR(was->mode) || !S_ISDIR(is->mode) ||
		   !entry_same_meta(was, is);
	return *changed ? -ECANCELED : 0;
}

/* Whether the action changed the project's subtree of one of its roots. */
static int root_touches(const struct undo *u, const struct action_root *root,
			const char *path, struct err *err)
{
	const char *project = u->c->project;
	AUTO(snapshot) struct snapshot before = {0}, after = {0};
	AUTO(entry) struct entry was = {0}, is = {0};
	bool changed = false;

	if (path_below(path, project))
		return 1;
	if (!path_below(project, path))
		return 0;
	/* Without both states the undo is refused later, with the reason. */
	if (!root->after ||
	    catalog_load(u->c->store, root->before, &before, err) < 0 ||
	    catalog_load(u->c->store, root->after, &after, err) < 0)
		return 1;
	project = path_rest(project, path);
	if (tree_lookup(u->c->store, &before.root, project, &was, err) < 0 ||
	    tree_lookup(u->c->store, &after.root, project, &is, err) < 0 ||
	    (tree_diff(u->c->store, &was, &is, find_change, &changed, err) <
		     0 &&
	     !changed))
		return -err->num;
	return changed;
}

/* Whether u->last, an action of the directory u->path, concerns the project:
 * an action of a directory above does if it changed a file of the project. */
static int touches_project(const struct undo *u, struct err *err)
{
	const struct action *a = &u->last;
	size_t i;
	int got = 0;

	if (u->by_run || strcmp(u->path, u->c->project) == 0)
		return 1;
	if (action_is_discard(a) || action_is_rewind(a))
		return 0;
	if (context_store(u->c, STORE_READ, err) < 0)
		return -err->num;
	for (i = 0; i < a->roots.count && got == 0; i++)
		got = root_touches(u, &a->roots.items[i],
				   i ? a->roots.items[i].path : u->path, err);
	return got;
}

/* path: the directory of the action, above the project. */
static int fail_elsewhere(const struct undo *u, const char *path,
			  const struct action *a, struct err *err)
{
	const char *verb = u->redo ? "redo" : "undo";
	auto_free char *title = undo_title(a);
	auto_free char *remedy =
		a->run_id[0] && !u->redo
			? mem_printf("guard undo %s", a->run_name ?: a->run_id)
			: mem_printf("guard -C %s %s", text_shell(path), verb);

	return fail(err, EPERM,
		    "nothing %sne: the next action to %s is the %s in %s, "
		    "which changed nothing in %s; %s %ses that action",
		    verb, verb, title, text_quote(path),
		    text_quote(u->c->project), remedy, verb);
}

static int load_nth(struct undo *u, int workspace_fd, size_t back,
		    struct err *err)
{
	return u->redo ? action_load_undone(workspace_fd, back, &u->last, err)
		       : action_load_effective(workspace_fd, back, &u->last,
					       err);
}

/* Whether the directory has any action, in effect or undone. */
static int has_action(int workspace_fd, struct err *err)
{
	AUTO(action) struct action a = {0};
	int got = action_load_effective(workspace_fd, 0, &a, err);

	return got == -ENOENT ? action_load_undone(workspace_fd, 0, &a, err)
			      : got;
}

/* 1: u->path is the directory to undo in. 0: its newest action, u->last,
 * changed nothing in the project. -ENOENT: it has none. */
static int inspect_dir(struct undo *u, struct err *err)
{
	auto_close int fd = undo_open_workspace(u, err);
	int got;

	if (fd < 0)
		return fd;
	if (u->by_run || strcmp(u->path, u->c->project) == 0) {
		got = has_action(fd, err);
		return got < 0 ? got : 1;
	}
	got = load_nth(u, fd, 0, err);
	return got < 0 ? got : touches_project(u, err);
}

int undo_find(struct undo *u, struct err *err)
{
	AUTO(action) struct action elsewhere = {0};
	auto_free char *above = NULL;

	u->path = mem_strdup(u->c->project);
	for (;;) {
		int got;
		char *up;

		if (recover_project(u->c, u->path, err) < 0)
			return -err->num;
		got = inspect_dir(u, err);
		if (got && got != -ENOENT)
			return got < 0 ? got : 0;
		if (got == 0 && !above) {
			above = mem_strdup(u->path);
			elsewhere = u->last;
			u->last = (struct action){0};
		}
		action_free(&u->last);
		if (strcmp(u->path, "/") == 0)
			return above ? fail_elsewhere(u, above, &elsewhere, err)
				     : fail(err, ENOENT, "nothing to %s in %s",
					    u->redo ? "redo" : "undo",
					    text_quote(u->c->project));
		up = path_parent(u->path);
		free(u->path);
		u->path = up;
	}
}

int undo_load(struct undo *u, size_t back, struct err *err)
{
	auto_close int fd = undo_open_workspace(u, err);
	int got;

	clear(u);
	if (fd < 0)
		return fd;
	got = load_nth(u, fd, back, err);
	if (got < 0)
		return got;
	got = touches_project(u, err);
	if (got < 0)
		return got;
	return got ? 0 : fail_elsewhere(u, u->path, &u->last, err);
}

bool undo_can_redo(const struct undo *u, struct action *ret)
{
	struct err ignored;
	auto_close int fd = undo_open_workspace(u, &ignored);

	return fd >= 0 && action_load_undone(fd, 0, ret, &ignored) == 0;
}

/* A later run can have the same name: *id is that of the first action found. */
static bool is_of_run(const struct action *a, const char *run, char **id)
{
	if (!*id && a->run_name && strcmp(a->run_name, run) == 0)
		*id = mem_strdup(a->run_id);
	return a->run_id[0] && strcmp(a->run_id, *id ?: run) == 0;
}

int undo_count_run(struct undo *u, const char *run, struct err *err)
{
	auto_close int fd = undo_open_workspace(u, err);
	auto_free char *id = NULL;
	struct err ignored;
	size_t back, newer = 0;
	bool known = false;

	if (fd < 0)
		return fd;
	u->count = 0;
	for (back = 0;; back++) {
		AUTO(action) struct action a = {0};
		bool own;

		if (action_load_effective(fd, back, &a, &ignored) < 0)
			break;
		own = is_of_run(&a, run, &id);
		if (own && newer)
			return fail(err, EBUSY,
				    "other actions are newer than those of run "
				    "%s: guard undo %zu undoes its last action "
				    "and all newer ones",
				    a.run_name ?: run, back + 1);
		if (own)
			u->count++;
		else if (!u->count)
			newer++;
		else
			return 0;
	}
	for (back = 0; !u->count && !known; back++) {
		AUTO(action) struct action a = {0};

		if (action_load_undone(fd, back, &a, &ignored) < 0)
			return fail(err, ENOENT, "no action of run %s", run);
		known = is_of_run(&a, run, &id);
	}
	return 0;
}

/* --- the plan --- */

/* A dry run of several undoes has not really undone the steps before this. */
static bool is_simulated_step(const struct undo *u)
{
	return u->dry && u->step;
}

/* The argument of record_unreadable(). */
struct unreadable_search {
	struct project *project;
	struct timestamp left_time; /* of the state after the action */
};

/*
 * Files and directories that the action made unreadable for their owner. A
 * directory is made readable for the inspection; an unreadable file with the
 * size and mtime after the action is taken for unchanged, as there is no better
 * evidence.
 */
static int record_unreadable(void *arg, const char *path,
			     const struct entry *left,
			     const struct entry *wanted, struct err *err)
{
	const struct unreadable_search *search = arg;
	struct project *p = search->project;

	(void)wanted;
	if (left && unreadable_dirs_match(left->mode))
		mem_list_add(&p->unreadable_dirs, path);
	if (!left || !S_ISREG(left->mode) || (left->mode & S_IRUSR) ||
	    (left->flags & ENTRY_INCOMPLETE) || geteuid() == 0)
		return 0;
	return project_add_hint(p, path, left, search->left_time, err);
}

int undo_check_last(const struct undo *u, int workspace_fd, struct err *err)
{
	AUTO(action) struct action now = {0};

	if ((u->redo ? action_load_undone(workspace_fd, 0, &now, err)
		     : action_load_effective(workspace_fd, 0, &now, err)) ==
		    0 &&
	    action_same(&now, &u->last))
		return 0;
	return fail(err, EBUSY,
		    "another guard command changed %s at the same time: "
		    "nothing undone; try again",
		    text_quote(u->path));
}

static const char *undo_root_path(const struct undo *u, size_t index)
{
	return index ? u->last.roots.items[index].path : u->path;
}

static int snapshot_undo_root(struct undo *u, size_t index, struct err *err)
{
	struct changeset_root *root = &u->change.roots[index];
	struct unreadable_search search = {&root->project, root->base.time};
	size_t i;

	if (changeset_open_root(&u->change, index, undo_root_path(u, index),
				err) < 0 ||
	    (!index && !u->dry &&
	     undo_check_last(u, root->project.workspace_fd, err) < 0) ||
	    tree_diff(u->c->store, &root->base.root, &root->want.root,
		      record_unreadable, &search, err) < 0)
		return -err->num;
	ingest_hint_sort(root->project.hints.items, root->project.hints.count);
	if (changeset_inspect_root(&u->change, index, "pre-undo",
				   u->last.run_id, err) < 0)
		return -err->num;
	/* A dry run plans each action against the files as they would be after
	 * the steps before it. */
	for (i = 0; is_simulated_step(u) && i < u->simulated.count; i++) {
		const struct applied_ops *did = &u->simulated.items[i];

		if (strcmp(did->root_path, undo_root_path(u, index)) == 0 &&
		    applied_ops_replay(did, u->c->store, root->only,
				       &root->now.root, err) < 0)
			return -err->num;
	}
	return 0;
}

int undo_plan(struct undo *u, struct err *err)
{
	size_t i;

	changeset_init(&u->change, u->c, u->last.roots.count);
	if (context_store(u->c, STORE_WRITE, err) < 0)
		return -err->num;
	for (i = 0; i < u->change.root_count; i++) {
		struct action_root *done = &u->last.roots.items[i];
		struct changeset_root *root = &u->change.roots[i];
		struct plan_options options = {
			.git_apart = !u->last.git,
			.partial = done->only != NULL,
			.keep_added = true,
			.now_notes = &root->now,
		};

		if (i)
			root->prefix =
				changes_prefix(done->path, u->c->state.home);
		root->only = TAKE(done->only);
		if (!done->after)
			return fail(
				err, ENODATA,
				"the state after the last %s was not stored: "
				"restore what you need from snapshot %" PRIu64
				" with guard restore --at",
				u->last.kind, done->before);
		if (catalog_load(u->c->store, done->after, &root->base, err) <
			    0 ||
		    catalog_load(u->c->store, done->before, &root->want, err) <
			    0)
			return err_context(err, "undo the %s", u->last.kind);
		if (snapshot_undo_root(u, i, err) < 0 ||
		    (u->last.git &&
		     undo_git_adjust(u->c->store, root, err) < 0) ||
		    changeset_plan_root(&u->change, i, &root->base.root,
					&options, err) < 0)
			return -err->num;
	}
	return 0;
}

static int check(struct undo *u, struct err *err)
{
	size_t i;

	for (i = 0; i < u->change.root_count; i++) {
		struct applied_ops *did = VEC_ADD(&u->simulated);

		did->own = true;
		did->root_path = mem_strdup(undo_root_path(u, i));
		applied_ops_add_plan(did, &u->change.roots[i].plan);
	}
	return is_simulated_step(u) ? 0 : changeset_check(&u->change, err);
}

/* --- the execution --- */

/* After the undo of an apply the run is pending again; after its redo it is
 * applied. Returns false if the record could not be written. */
static bool set_undone_run_state(struct undo *u, const struct action *done)
{
	struct session s = SESSION_NONE;
	bool applied = !done->undone;
	struct err err;
	int got;

	if (!done->run_id[0])
		return true;
	got = session_open(u->c->state.runs_fd, done->run_id, true, &s, &err);
	if (got == -ENOENT)
		report_note("run %s itself no longer exists", done->run_id);
	/* EBUSY: the run is still running, and pending in any case. */
	if (got == -EBUSY || got == -ENOENT)
		return true;
	if (got == 0)
		got = recover_set_undone_state(u->c, &s, done, done->complete,
					       &err);
	if (got < 0)
		report_warning(
			"done, but the record that run %s %s could not be "
			"written; the next guard command here tries again: %s",
			done->run_id,
			applied ? "is applied" : "is pending again", err.text);
	else if (!applied)
		report_note("run %s is pending again", session_label(&s));
	session_free(&s);
	return got == 0;
}

/* The kind of the action that the user took. */
static const char *origin_kind(const struct action *a)
{
	return a->origin ?: a->parts.count ? "discard" : a->kind;
}

char *undo_title(const struct action *a)
{
	return a->run_id[0] ? mem_printf("%s of run %s", origin_kind(a),
					 a->run_name ?: a->run_id)
			    : mem_strdup(origin_kind(a));
}

/* With -y a plain undo after an undo is refused. */
char *undo_further(const struct undo *u)
{
	AUTO(action) struct action a = {0};
	struct err ignored;
	auto_close int fd = undo_open_workspace(u, &ignored);

	if (fd < 0 || action_load_effective(fd, 0, &a, &ignored) < 0)
		return mem_strdup("");
	return mem_printf(", guard undo%s goes one step further back",
			  u->yes ? " -y 1" : "");
}

void undo_hint(const struct undo *u)
{
	auto_free char *further = NULL;

	if (u->step + 1 < u->count)
		return;
	further = u->redo ? NULL : undo_further(u);
	if (u->redo)
		report_hint("guard undo undoes it again");
	else
		report_hint("guard redo repeats it%s", further);
}

/* The changes that the action applied are pending again, or not any more. */
static int move_bases(const struct undo *u, struct action *a, struct err *err)
{
	AUTO(session) struct session s = SESSION_NONE;
	AUTO(snapshot) struct snapshot before = {0};
	struct err ignored;
	int got;

	if (!u->last.run_id[0])
		return 0;
	got = session_open(u->c->state.runs_fd, u->last.run_id, false, &s, err);
	if (got < 0)
		return got == -ENOENT ? 0 : got;
	/* A run that went on since then has changes that are not applied. */
	if (catalog_load(u->c->store, action_before(&u->last), &before,
			 &ignored) == 0 &&
	    timestamp_compare(s.ended, before.time) > 0)
		a->complete = false;
	got = session_base(&s, false, err);
	if (got < 0 && got != -ENODATA)
		return got;
	return apply_log_convert(u->c, &s, err) < 0
		       ? -err->num
		       : applied_base_move_back(u->c->store, &s, &u->last, a,
						err);
}

int undo_execute(struct undo *u, struct err *err)
{
	auto_free char *title = undo_title(&u->last);
	AUTO(action)
	struct action action = {
		.number = u->last.number,
		.kind = mem_strdup("undo"),
		.undone = !u->redo,
		.run_id = mem_strdup(u->last.run_id),
		.run_name = mem_strdup(u->last.run_name),
		.origin = mem_strdup(origin_kind(&u->last)),
		.git = u->last.git,
		.complete = u->last.complete,
	};
	auto_free char *before = NULL;

	if (u->dry)
		return check(u, err);
	changeset_wait_starting_runs(&u->change);
	if (move_bases(u, &action, err) < 0 ||
	    changeset_execute(&u->change, &action, err) < 0)
		return -err->num;
	before = mem_printf("%" PRIu64, action_before(&action));
	if (set_undone_run_state(u, &action))
		action_close(u->change.roots[0].project.workspace_fd, &action);
	state_log(&u->c->state, "undo", "undoes", u->last.kind, "run",
		  u->last.run_id, "project", u->path, "before", before, NULL);
	report_note("%s in %s is %s", title, text_quote(u->path),
		    u->redo ? "redone" : "undone");
	undo_hint(u);
	return 0;
}
