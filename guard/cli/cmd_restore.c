#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "guard/cli/commands.h"
#include "guard/cli/plan_print.h"
#include "guard/cli/plan_summary.h"
#include "guard/change/changeset.h"
#include "guard/change/restore_want.h"
#include "guard/change/partial_snapshot.h"
#include "guard/history/sources.h"
#include "guard/change/recover.h"
#include "restore/create_file.h"
#include "snapshot/walk/take.h"

enum overwrite {
	OVERWRITE_IF_CHANGED, /* files that differ from the stored ones */
	OVERWRITE_ALWAYS, /* the same, with every file read again */
	OVERWRITE_NEVER, /* only missing files */
};

struct restore {
	struct context *c;
	const char *at, *to;
	bool dry, yes, json;
	bool exact; /* delete files that the snapshot does not have */
	enum overwrite overwrite;
	struct sources found;
	struct changeset change; /* of one root */
	struct changeset_root *root;
	struct plan_counts counts; /* of its plan */
	bool done; /* something was restored */
	bool root_missing; /* the root directory did not exist */
};

static const char *restored_root(const struct restore *r)
{
	return r->found.items[0].snapshot.root_path;
}

/* Set-id bits and the like come back from the user's own snapshots, not from
 * what a run left. */
static bool from_run(const struct restore *r)
{
	size_t i;

	for (i = 0; i < r->found.count; i++)
		if (snapshot_of_run(&r->found.items[i].snapshot))
			return true;
	return false;
}

/* In a root that was made anew nothing can be lost, and its own times come
 * back too. */
static int make_restore_plan(struct restore *r, struct err *err)
{
	auto_free const char **paths =
		mem_zalloc((r->found.count + 1) * sizeof(*paths));
	enum restore_mode how = r->root_missing ? RESTORE_GONE
				: r->exact	? RESTORE_EXACT
						: RESTORE_ADD;
	struct plan_options options = {
		.paths = r->root_missing ? NULL : paths,
		.additive = how == RESTORE_ADD,
		.missing_only = r->overwrite == OVERWRITE_NEVER,
		.keep_git = how == RESTORE_EXACT,
		.partial = r->root->only != NULL,
		.refuse_special = from_run(r),
	};
	size_t i;

	for (i = 0; i < r->found.count; i++)
		paths[i] = r->found.items[i].path;
	if (restore_want_make(r->c->store, &r->root->now.root, r->found.items,
			      r->found.count, how, &r->root->want.root,
			      err) < 0)
		return -err->num;
	return changeset_plan_root(&r->change, 0, NULL, &options, err);
}

static bool is_silent_restore(const struct restore *r)
{
	return r->json || (output_is_quiet() && r->yes);
}

static int print_entry(void *arg, const char *path, const struct entry *e,
		       struct err *err)
{
	auto_free char *complete = path_join(arg, path);
	AUTO(buf) struct buf b = {0};

	(void)err;
	text_escape_name(&b, complete);
	(void)printf("  %sA%s  %s%s\n", output_style(STYLE_ADDED),
		     output_style(STYLE_NONE), buf_text(&b),
		     S_ISDIR(e->mode) ? "/" : "");
	return 0;
}

/* Without a directory to compare with, every entry is new. */
static int confirm_restore_all(struct restore *r, const char *where,
			       struct err *err)
{
	size_t i;

	for (i = 0; i < r->found.count && !is_silent_restore(r); i++) {
		const struct restore_target *t = &r->found.items[i];
		auto_free char *path =
			r->to ? path_join(where, path_name(t->arg))
			      : mem_strdup(t->arg);

		if (tree_each(r->c->store, &t->entry, print_entry, path, err) <
		    0)
			return -err->num;
	}
	if (r->dry)
		return project_may_make(where, err);
	return output_confirm(r->yes, "guard: recreate all of it in %s?",
			      text_quote(where));
}

/* 1: go on; 0: nothing is to be done or it was not wanted (*ret is the
 * status); negative. */
static int confirm_restore(struct restore *r, const char *where, int *ret,
			   struct err *err)
{
	*ret = STATUS_REFUSED;
	if (!is_silent_restore(r) &&
	    plan_print(r->c->store, &r->root->plan, err) < 0)
		return -err->num;
	if (plan_print_blocks(
		    &r->root->plan,
		    r->exact
			    ? "nothing restored: move the paths listed above "
			      "away, or use --to"
			    : "nothing restored: move the paths listed above "
			      "away, use --to, or --exact, which deletes them"))
		return 0;
	*ret = STATUS_OK;
	if (r->root->plan.left)
		output_print("%s already up to date: unchanged",
			     text_count(r->root->plan.left, "path"));
	if (r->root->plan.git_skipped)
		output_print("a .git that the snapshot lacks is unchanged");
	plan_print_owners(&r->root->plan);
	if (!r->root->plan.steps.count) {
		output_print("nothing to do: all of it exists already%s",
			     r->root->plan.left ? "" : " as it was stored");
		if (!r->root->plan.left)
			sources_print_earlier(&r->found);
		output_hint("guard log PATH lists other versions, guard "
			    "restore --at N PATH restores one");
		return 0;
	}
	if (r->dry)
		return changeset_check(&r->change, err);
	*ret = STATUS_REFUSED;
	return plan_summary_ask(&r->counts, where, r->yes);
}

static int execute_restore(struct restore *r, struct err *err)
{
	AUTO(action)
	struct action action = {
		.kind = mem_strdup("restore"),
		.run_id = mem_strdup(""),
		.git = true,
		.complete = true,
	};
	auto_free char *before = NULL;
	auto_free char *from =
		mem_printf("%" PRIu64, r->found.items[0].snapshot.seq);
	AUTO(buf) struct buf sum = {0};

	changeset_wait_starting_runs(&r->change);
	if (changeset_execute(&r->change, &action, err) < 0)
		return -err->num;
	action_close(r->root->project.workspace_fd, &action);
	r->done = true;
	before = mem_printf("%" PRIu64, r->root->now.seq);
	state_log(&r->c->state, "restore", "project", restored_root(r), "path",
		  r->found.items[0].arg, "from", from, "before", before, NULL);
	plan_summary_text(&r->counts, &sum);
	output_print("restored: %s; the state before is snapshot %" PRIu64,
		     buf_text(&sum), r->root->now.seq);
	output_hint("guard undo reverts it");
	return STATUS_OK;
}

/* Takes a snapshot of the current state. With --overwrite=always, files that
 * the stat cache holds for unchanged are read again. */
static int snapshot_before_restore(struct restore *r, struct err *err)
{
	char *cache = r->root->project.cache_path;
	int got;

	if (r->overwrite == OVERWRITE_ALWAYS)
		r->root->project.cache_path = NULL;
	got = changeset_inspect_root(&r->change, 0, "pre-restore", "", err);
	r->root->project.cache_path = cache;
	return got;
}

static bool is_root_missing(const struct restore *r)
{
	struct stat st;

	return lstat(restored_root(r), &st) < 0 && errno == ENOENT;
}

/* In place: the current state is stored first. */
static int restore_here(struct restore *r, struct err *err)
{
	auto_close int fd = -1;
	int got, status;
	size_t i;

	r->root_missing = is_root_missing(r);
	for (i = 1; i < r->found.count; i++)
		if (strcmp(r->found.items[i].snapshot.root_path,
			   restored_root(r)) != 0)
			return fail(
				err, EXDEV,
				"%s was stored with %s, %s with %s: "
				"restore them one by one",
				text_quote(r->found.items[0].arg),
				text_quote(restored_root(r)),
				text_quote(r->found.items[i].arg),
				text_quote(
					r->found.items[i].snapshot.root_path));
	if (r->root_missing) {
		output_print("%s no longer exists: it will be recreated",
			     text_quote(restored_root(r)));
		got = confirm_restore_all(r, restored_root(r), err);
		if (got <= 0)
			return got < 0	? got
			       : r->dry ? STATUS_OK
					: STATUS_REFUSED;
		fd = project_open_dir(restored_root(r), true, err);
		/* An action that was interrupted there before the directory
		 * was deleted can be ended now. */
		if (fd < 0 || recover_project(r->c, restored_root(r), err) < 0)
			return -err->num;
	}
	if (changeset_open_root(&r->change, 0, restored_root(r), err) < 0)
		return -err->num;
	/* A home directory with a partial snapshot is not read completely for a
	 * few paths, and neither is a large project. */
	if (partial_snapshot_targets(r->c->store, r->found.items,
				     r->found.count, r->root_missing,
				     &r->root->only, err) < 0 ||
	    snapshot_before_restore(r, err) < 0 ||
	    make_restore_plan(r, err) < 0 ||
	    plan_summary_count(&r->change, &r->counts, err) < 0)
		return -err->num;
	if (r->root_missing)
		return plan_print_blocks(&r->root->plan, NULL)
			       ? STATUS_REFUSED
			       : execute_restore(r, err);
	got = confirm_restore(r, restored_root(r), &status, err);
	if (got <= 0)
		return got < 0 ? got : status;
	return execute_restore(r, err);
}

/*
 * --to: the directory must not have entries of these names. Nothing in it is
 * read, stored or replaced, so it may be any directory.
 */
static int plan_restore_to(struct restore *r, const char *dir, struct err *err)
{
	struct tree_editor *ed;
	struct plan_options options = {.refuse_special = from_run(r)};
	size_t i;
	int got = 0;

	if (context_project(r->c, dir, true, &r->root->project, err) < 0 ||
	    take_entry(r->c->store, r->root->project.fd, "", NULL,
		       &r->root->now.root, err) < 0)
		return -err->num;
	ed = tree_editor_new(r->c->store, &r->root->now.root);
	for (i = 0; i < r->found.count && got == 0; i++) {
		const char *name = path_name(r->found.items[i].arg);
		const struct entry *e = &r->found.items[i].entry;

		got = tree_editor_put(ed, name, e, err);
		if (got == 0)
			got = restore_want_skip_unread(
				r->c->store, &r->root->now.root,
				&r->found.items[i], name, ed, false, err);
	}
	if (got == 0)
		got = tree_editor_save(ed, &r->root->want.root, err);
	tree_editor_free(&ed);
	if (got < 0)
		return got;
	return changeset_plan_root(&r->change, 0, NULL, &options, err);
}

static int restore_to(struct restore *r, struct err *err)
{
	const struct restore_target *first = &r->found.items[0];
	const char *name = path_name(first->arg);
	auto_free char *dir = NULL;
	int got;

	if (!*r->to)
		return fail(err, EINVAL, "--to: the path is empty");
	dir = path_resolve(r->to, err);
	if (dir && path_below(dir, r->c->state.path))
		return fail(err, EINVAL,
			    "%s is in guard's own state: restore into another "
			    "directory",
			    text_quote(dir));
	if (!dir || sources_check_free(&r->found, dir, err) < 0)
		return -err->num;
	got = confirm_restore_all(r, dir, err);
	if (got <= 0)
		return got < 0 ? got : r->dry ? STATUS_OK : STATUS_REFUSED;
	if (r->found.count == 1 && create_file_possible(&first->entry, name)) {
		got = create_file_make(r->c->store, dir, name, &first->entry,
				       err);
	} else {
		if (plan_restore_to(r, dir, err) < 0)
			return -err->num;
		if (plan_print_blocks(&r->root->plan, NULL))
			return STATUS_REFUSED;
		got = changeset_execute_unrecorded(&r->change, "restore", err);
	}
	if (got)
		return got < 0 ? got : STATUS_REFUSED;
	r->done = true;
	state_log(&r->c->state, "restore", "project", restored_root(r), "path",
		  first->arg, "to", dir, NULL);
	output_print("restored into %s", text_quote(dir));
	return STATUS_OK;
}

static int restore(struct restore *r, int count, char **argv, struct err *err)
{
	int i, got;

	if (context_open(r->c, false, err) < 0 ||
	    context_store(r->c, STORE_WRITE, err) < 0)
		return -err->num;
	changeset_init(&r->change, r->c, 1);
	r->root = &r->change.roots[0];
	r->found.store = r->c->store;
	r->found.at = r->at;
	for (i = 0; i < count; i++)
		if (sources_find(&r->found, argv[i], err) < 0)
			return -err->num;
	/* An interrupted action in a missing directory is recovered later, when
	 * this restore has created the directory. */
	if (!is_root_missing(r) &&
	    recover_project(r->c, restored_root(r), err) < 0)
		return -err->num;
	sources_print(&r->found);
	got = r->to ? restore_to(r, err) : restore_here(r, err);
	if (got >= 0 && r->json) {
		json_t *object = json_object(), *from = json_array();

		for (i = 0; i < (int)r->found.count; i++) {
			const struct restore_target *t = &r->found.items[i];
			json_t *source = json_object();

			jsonout_text(source, "path", t->arg);
			jsonout_number(source, "snapshot", t->snapshot.seq);
			jsonout_time(source, "time", t->snapshot.time);
			jsonout_add(from, source);
		}
		jsonout_text(object, "schema", "guard.restore/1");
		jsonout_bool(object, "restored", r->done);
		jsonout_text(object, "to", r->to);
		jsonout_set(object, "from", from);
		jsonout_number(object, "before", r->root->now.seq);
		jsonout_number(object, "after", r->root->after);
		if (!r->to)
			plan_summary_json(r->c->store, &r->root->plan, object);
		jsonstream_print(object);
	}
	return got;
}

static bool read_overwrite(const struct verb *verb, int id, const char *text,
			   void *to)
{
	static const char *const names[] = {"if-changed", "always", "never"};
	enum overwrite *ret = to;

	(void)id;
	for (*ret = OVERWRITE_IF_CHANGED; *ret <= OVERWRITE_NEVER; ++*ret)
		if (strcmp(text, names[*ret]) == 0)
			return true;
	options_usage_error(
		verb, "--overwrite must be always, if-changed or never, not %s",
		text_quote(text));
	return false;
}

int cmd_restore(int argc, char **argv)
{
	const struct verb *verb = options_verb("restore");
	AUTO(context) struct context c = CONTEXT_NONE;
	struct restore r = {.c = &c};
	const struct option_slot slots[] = {
		{OPT_PROGRESS, .read = progress_read},
		{OPT_AT, .text = &r.at},
		{OPT_TO, .text = &r.to},
		{OPT_OVERWRITE, .read = read_overwrite, .to = &r.overwrite},
		{OPT_EXACT, .flag = &r.exact},
		{'n', .flag = &r.dry},
		{'y', .flag = &r.yes},
		{'q', .read = output_quiet_read},
		{OPT_JSON, .flag = &r.json},
		{0},
	};
	struct err err;
	int got;

	c.wait_for_lock = true;
	got = options_parse(verb, argc, argv, slots);
	if (got != OPTIONS_END)
		return got;
	if (r.exact && r.overwrite == OVERWRITE_NEVER)
		return options_usage_error(
			verb,
			"--exact and --overwrite never exclude each other");
	if (r.to && (r.exact || r.overwrite != OVERWRITE_IF_CHANGED))
		return options_usage_error(
			verb, "--to never overwrites or deletes: do not use it "
			      "with --exact or --overwrite");
	if (optind == argc)
		return options_usage_error(
			verb, "no PATHS given: `.` is the current directory");
	got = restore(&r, argc - optind, argv + optind, &err);
	sources_free(&r.found);
	changeset_free(&r.change);
	return output_status(got, &err);
}
