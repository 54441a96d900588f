#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/parse.h"
#include "base/path.h"
#include "guard/change/changes.h"
#include "guard/cli/commands.h"
#include "guard/cli/plan_print.h"
#include "guard/cli/plan_summary.h"
#include "guard/change/changeset.h"
#include "guard/change/undo_discard.h"
#include "guard/change/recover.h"
#include "restore/unreadable_dirs.h"
#include "restore/workspace.h"
#include "snapshot/store/ingest_hint.h"

struct undo_command {
	struct context *c;
	bool dry, yes;
	/* The number of actions in effect to undo; 0: the last action. */
	unsigned long count;
	char *path; /* the project */
	struct action last; /* the action to undo */
	unsigned long step; /* how many there were before it */
	/* The change of the action's roots from the state after the action to
	 * the state before it. */
	struct changeset change;
	/* Dry run: the changes that the steps before would have made. */
	VEC(struct applied_ops) simulated;
};

/* Frees the action and its change; the project and the simulated steps of a
 * dry run stay. */
static void clear_undo(struct undo_command *u)
{
	changeset_free(&u->change);
	action_free(&u->last);
}

/* A dry run of several undoes has not really undone the steps before this. */
static bool is_simulated_step(const struct undo_command *u)
{
	return u->dry && u->step;
}

static int open_project_workspace(const struct undo_command *u, struct err *err)
{
	return workspace_open(u->c->state.workspaces_fd, u->path, false, err);
}

static bool has_more_steps(const struct undo_command *u)
{
	return u->step + 1 < u->count;
}

/* The project here, or the nearest directory above that guard has changed. */
static int find_last_action(struct undo_command *u, struct err *err)
{
	u->path = mem_strdup(u->c->project);
	for (;;) {
		auto_close int fd = -1;
		int got;
		char *up;

		if (recover_project(u->c, u->path, err) < 0)
			return -err->num;
		fd = open_project_workspace(u, err);
		got = fd < 0 ? fd : action_load_last(fd, &u->last, err);
		if (got != -ENOENT)
			return got;
		if (strcmp(u->path, "/") == 0)
			return fail(err, ENOENT, "nothing to undo in %s",
				    text_quote(u->c->project));
		up = path_parent(u->path);
		free(u->path);
		u->path = *up ? up : (free(up), mem_strdup("/"));
	}
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

/* Another guard may have done something while the project was waited for. */
static int check_last_action(const struct undo_command *u, int workspace_fd,
			     struct err *err)
{
	AUTO(action) struct action now = {0};

	if ((u->count ? action_load_effective(workspace_fd, 0, &now, err)
		      : action_load_last(workspace_fd, &now, err)) == 0 &&
	    action_same(&now, &u->last))
		return 0;
	return fail(err, EBUSY,
		    "another guard command changed %s at the same time: "
		    "nothing undone; try again",
		    text_quote(u->path));
}

static const char *undo_root_path(const struct undo_command *u, size_t index)
{
	return index ? u->last.roots.items[index].path : u->path;
}

static int snapshot_undo_root(struct undo_command *u, size_t index,
			      struct err *err)
{
	struct changeset_root *root = &u->change.roots[index];
	struct unreadable_search search = {&root->project, root->base.time};
	size_t i;

	if (changeset_open_root(&u->change, index, undo_root_path(u, index),
				err) < 0 ||
	    (!index && !u->dry &&
	     check_last_action(u, root->project.workspace_fd, err) < 0) ||
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

/* After the undo of an apply the run is pending again; after the undo of that
 * undo it is applied. Returns false if the record could not be written. */
static bool set_undone_run_state(struct undo_command *u,
				 const struct action *done)
{
	struct session s = {.fd = -1, .lock_fd = -1};
	bool applied = strcmp(done->undone_kind, "apply") != 0;
	struct err err;
	int got;

	if (!done->run_id[0])
		return true;
	got = session_open(u->c->state.runs_fd, done->run_id, true, &s, &err);
	/* The run is still running, and pending in any case. */
	if (got == -ENOENT)
		output_print("run %s itself no longer exists", done->run_id);
	if (got == -EBUSY || got == -ENOENT)
		return true;
	if (got == 0)
		got = recover_set_undone_state(u->c, &s, done->undone_kind,
					       done->complete, &err);
	if (got < 0)
		output_warn(
			"done, but the record that run %s %s could not be "
			"written; the next guard command here tries again: %s",
			done->run_id,
			applied ? "is applied" : "is pending again", err.text);
	else if (!applied)
		output_print("run %s is pending again", s.id);
	session_free(&s);
	return got == 0;
}

/* "apply of run 3mk9zq-4t", "undo of the restore". */
static char *action_title(const struct action *a)
{
	bool of_undo = a->undone_kind[0] && strcmp(a->kind, "undo") == 0;

	return mem_printf("%s%s%s%s%s", a->kind, of_undo ? " of the " : "",
			  of_undo ? a->undone_kind : "",
			  a->run_id[0] ? " of run " : "", a->run_id);
}

static int execute_undo(struct undo_command *u, struct err *err)
{
	auto_free char *undone_title = action_title(&u->last);
	/* An undo of an undo does the first thing again: in the end the run is
	 * as after "apply" or as after "undo". */
	const char *kind = strcmp(u->last.kind, "undo") != 0 ? u->last.kind
			   : strcmp(u->last.undone_kind, "undo") == 0 ? "apply"
								      : "undo";
	AUTO(action)
	struct action action = {
		.kind = mem_strdup("undo"),
		.run_id = mem_strdup(u->last.run_id),
		.undone_kind = mem_strdup(kind),
		.undone_before = action_before(&u->last),
		.git = u->last.git,
		.complete = u->last.complete,
	};
	auto_free char *before = NULL;

	changeset_wait_starting_runs(&u->change);
	if (changeset_execute(&u->change, &action, err) < 0)
		return -err->num;
	before = mem_printf("%" PRIu64, action_before(&action));
	if (set_undone_run_state(u, &action))
		action_close(u->change.roots[0].project.workspace_fd, &action);
	state_log(&u->c->state, "undo", "undoes", u->last.kind, "run",
		  u->last.run_id, "project", u->path, "before", before, NULL);
	output_print("%s in %s is undone%s", undone_title, text_quote(u->path),
		     has_more_steps(u) ? "" : "; guard undo redoes it");
	return STATUS_OK;
}

/* False: there was nothing to be said. */
static bool print_undo_notes(const struct changeset_root *r,
			     const struct snapshot *s, const char *path,
			     const char *when)
{
	bool any = false;
	size_t i;

	for (i = 0; i < s->note_count; i++) {
		const struct note *n = &s->notes[i];
		auto_free char *name = NULL;

		if (n->kind != NOTE_INCOMPLETE ||
		    !(path_below(n->path, path) || path_below(path, n->path)))
			continue;
		name = mem_printf("%s%s", r->prefix ? r->prefix : "", n->path);
		output_warn("%s could not be read %s: %s",
			    text_quote(*name ? name : "."), when, n->text);
		any = true;
	}
	return any;
}

/* Prints the unread files of the states, with the reason. False: there are
 * none. */
static bool print_unread_paths(const struct undo_command *u, size_t index)
{
	const struct changeset_root *root = &u->change.roots[index];
	bool any = false;
	size_t i;

	for (i = 0; i < root->plan.conflicts.count; i++) {
		const struct conflict *c = &root->plan.conflicts.items[i];

		if (c->kind != CONFLICT_INCOMPLETE)
			continue;
		any = true;
		if (print_undo_notes(root, &root->now, c->path, "now"))
			continue;
		(void)print_undo_notes(root, &root->want, c->path,
				       "before the action");
		(void)print_undo_notes(root, &root->base, c->path,
				       "after the action");
	}
	return any;
}

static bool is_undo_blocked(const struct undo_command *u)
{
	bool blocked = false, unread = false;
	auto_free char *out = NULL;
	size_t i;

	for (i = 0; i < u->change.root_count; i++)
		unread |= print_unread_paths(u, i);
	out = unread ? mem_printf("nothing undone: cannot check whether these "
				  "files have changed; try again when they can "
				  "be read, or use guard restore --at %" PRIu64
				  " PATH",
				  action_before(&u->last))
		     : mem_strdup("nothing undone: these files have changed "
				  "since; guard restore restores single files");
	for (i = 0; i < u->change.root_count; i++)
		blocked |= plan_print_blocks(&u->change.roots[i].plan, out);
	return blocked;
}

static int undo_transaction(struct undo_command *u, struct err *err)
{
	auto_free char *which = NULL;
	struct plan_counts counts;
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
			.now_notes = &root->now,
		};

		if (i)
			root->prefix =
				changes_prefix(done->path, u->c->state.home);
		root->only = TAKE(done->only);
		root->first = action_first(&u->last, i);
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
		    changeset_plan_root(&u->change, i, &root->base.root,
					&options, err) < 0)
			return -err->num;
	}
	/* The age keeps the user from taking this action for a later command
	 * that was refused. */
	which = action_title(&u->last);
	output_print("%s %s: %s, %s",
		     u->step ? "before that, in" : "the last action in",
		     text_quote(u->path), which,
		     text_age(u->change.roots[0].base.time));
	for (i = 0; i < u->change.root_count && !(output_is_quiet() && u->yes);
	     i++)
		if (plan_print(u->c->store, &u->change.roots[i].plan, err) < 0)
			return -err->num;
	for (i = 0; i < u->change.root_count; i++)
		plan_print_owners(&u->change.roots[i].plan);
	if (is_undo_blocked(u))
		return STATUS_REFUSED;
	for (i = 0; u->dry && i < u->change.root_count; i++) {
		struct applied_ops *did = VEC_ADD(&u->simulated);

		did->own = true;
		did->root_path = mem_strdup(undo_root_path(u, i));
		applied_ops_add_plan(did, &u->change.roots[i].plan);
	}
	if (u->dry && !is_simulated_step(u) &&
	    changeset_check(&u->change, err) < 0)
		return -err->num;
	if (u->dry)
		return STATUS_OK;
	if (plan_summary_count(&u->change, &counts, err) < 0)
		return -err->num;
	if (!plan_summary_ask(&counts, u->path, u->yes))
		return STATUS_REFUSED;
	return execute_undo(u, err);
}

/* --- one or several --- */

static int undo_one(struct undo_command *u, struct err *err)
{
	const struct undo_discard d = {
		.c = u->c,
		.path = u->path,
		.last = &u->last,
		.dry = u->dry,
		.yes = u->yes,
		.step = u->step,
		.more = has_more_steps(u),
	};

	return action_is_discard(&u->last) ? undo_discard(&d, err)
					   : undo_transaction(u, err);
}

static int load_effective_action(struct undo_command *u, size_t back,
				 struct err *err)
{
	auto_close int fd = open_project_workspace(u, err);

	clear_undo(u);
	return fd < 0 ? fd : action_load_effective(fd, back, &u->last, err);
}

/* None is begun when there are fewer of them. */
static int undo_many(struct undo_command *u, struct err *err)
{
	unsigned long n;

	for (n = 0; n < u->count; n++) {
		int got = load_effective_action(u, n, err);

		if (got == -ENOENT)
			return fail(err, ENOENT, "only %s in %s can be undone",
				    text_count(n, "action"),
				    text_quote(u->path));
		if (got < 0)
			return got;
	}
	for (; u->step < u->count; u->step++) {
		int status;

		if (load_effective_action(u, u->dry ? u->step : 0, err) < 0)
			return -err->num;
		status = undo_one(u, err);
		if (status != STATUS_OK && u->step)
			output_print("%s before it %sundone",
				     text_count(u->step, "action"),
				     u->dry ? "would be " : "");
		if (status != STATUS_OK)
			return status;
	}
	return STATUS_OK;
}

int cmd_undo(int argc, char **argv)
{
	const struct verb *verb = options_verb("undo");
	AUTO(context) struct context c = CONTEXT_NONE;
	struct undo_command u = {.c = &c};
	const struct option_slot slots[] = {
		{'n', .flag = &u.dry},
		{'y', .flag = &u.yes},
		{'q', .read = output_quiet_read},
		{0},
	};
	struct err err;
	int got;
	size_t i;

	c.wait_for_lock = true;
	got = options_parse(verb, argc, argv, slots);
	if (got != OPTIONS_END)
		return got;
	if (argc - optind > 1 ||
	    (argc - optind == 1 &&
	     (parse_number(argv[optind], ACTIONS_MAX, &u.count) < 0 ||
	      !u.count)))
		return options_usage_error(
			verb,
			"unexpected argument %s: expected a number up to %d; "
			"use `guard restore` for single files",
			text_quote(
				argv[argc - optind > 1 ? optind + 1 : optind]),
			ACTIONS_MAX);
	got = context_open(&c, true, &err) < 0 || find_last_action(&u, &err) < 0
		      ? -err.num
	      : u.count ? undo_many(&u, &err)
			: undo_one(&u, &err);
	clear_undo(&u);
	for (i = 0; i < u.simulated.count; i++)
		applied_ops_free(&u.simulated.items[i]);
	VEC_FREE(&u.simulated);
	free(u.path);
	return output_status(got, &err);
}
