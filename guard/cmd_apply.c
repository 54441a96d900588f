#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/text.h"
#include "guard/applied.h"
#include "guard/carry.h"
#include "guard/changes.h"
#include "guard/commands.h"
#include "guard/context.h"
#include "guard/importer.h"
#include "guard/jsonout.h"
#include "guard/options.h"
#include "guard/output.h"
#include "guard/pick.h"
#include "restore/result.h"

struct apply_options {
	bool dry, yes, quiet, json;
	enum plan_resolve resolve; /* RESOLVE_NOT: nothing was said */
};

/* All that an apply holds on to. */
struct apply {
	struct context *c;
	const struct apply_options *o;
	struct pick *p;
	struct changes changes;
	struct snapshot base, before;
	struct project project;
	struct entry want;
	struct plan plan;
	struct carry_counts counts;
	bool changed_since; /* the layer is not what the run left */
};

static void apply_free(struct apply *a)
{
	plan_free(&a->plan);
	entry_free(&a->want);
	project_close(&a->project);
	snapshot_free(&a->before);
	snapshot_free(&a->base);
	changes_free(&a->changes);
}

static int check_state(const struct pick *p, struct err *err)
{
	const struct session *s = &p->session;

	if (p->home_paths)
		return fail(err, ENOTSUP,
			    "changes of your home folder cannot be applied in "
			    "this version: copy %s by hand",
			    text_quote(p->home_paths[0]));
	if (s->state == RUN_DISCARDED)
		return fail(err, ENOENT, "run %s was discarded", s->id);
	if (s->state == RUN_APPLIED && !p->paths)
		return fail(err, EALREADY,
			    "run %s is applied already: name paths to apply "
			    "what is left of it",
			    s->id);
	return 0;
}

static int load_base(struct apply *a, struct err *err)
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
	return catalog_load(a->c->store, s->base, &a->base, err);
}

struct compare {
	struct store *store;
	const struct entry *base;
	bool *changed;
};

static bool same(const struct entry *a, const struct entry *b)
{
	if (!a || !b || !a->mode || !b->mode)
		return (!a || !a->mode) && (!b || !b->mode);
	return entry_same_content(a, b) && entry_same_meta(a, b);
}

/*
 * A path that was stored otherwise after the run is fine when it is now as
 * before the run: it was taken back or is applied already.
 */
static int compare_path(void *arg, const char *path, const struct entry *then,
			const struct entry *want, struct err *err)
{
	struct compare *c = arg;
	struct entry base = {0};
	int got;

	if (same(then, want))
		return 0;
	got = tree_lookup(c->store, c->base, path, &base, err);
	if (got < 0)
		return got;
	if (!same(got ? &base : NULL, want)) {
		output_warn("%s is not as the run left it", text_quote(path));
		*c->changed = true;
	}
	entry_free(&base);
	return 0;
}

static int compare_result(struct apply *a, struct err *err)
{
	AUTO(snapshot) struct snapshot result = {0};
	struct compare c = {
		.store = a->c->store,
		.base = &a->base.root,
		.changed = &a->changed_since,
	};

	if (!a->p->session.result)
		return 0;
	if (catalog_load(a->c->store, a->p->session.result, &result, err) < 0)
		return -err->num;
	return tree_diff(a->c->store, &result.root, &a->want, compare_path, &c,
			 err);
}

static int make_plan(struct apply *a, struct err *err)
{
	struct session *s = &a->p->session;
	auto_free char *label = mem_printf("run %s", s->id);
	struct plan_options options = {
		.paths = (const char *const *)a->p->paths,
		.git_apart = true,
		.refuse_special = true,
		.base_notes = &a->base,
		.resolve = a->o->resolve ? a->o->resolve : RESOLVE_MERGE,
		.our_label = "project",
		.their_label = label,
	};

	if (changes_load(s, &a->c->state, &a->changes, err) < 0 ||
	    changes_check(&a->changes.project, a->changes.lower_fd, a->p->paths,
			  err) < 0 ||
	    context_store(a->c, STORE_WRITE, err) < 0 ||
	    load_base(a, err) < 0 ||
	    project_open(s->project, a->c->state.workspaces_fd, false,
			 &a->project, err) < 0 ||
	    project_look(a->c->store, &a->project, "pre-apply", s->id,
			 &a->before, err) < 0 ||
	    applied_rebase(a->c->store, s, &a->base.root, &a->before.root,
			   err) < 0 ||
	    result_make(a->c->store, &a->base.root, a->changes.upper_fd,
			&a->changes.project, &a->want, err) < 0 ||
	    compare_result(a, err) < 0)
		return -err->num;
	if (plan_make(a->c->store, &a->base.root, &a->want, &a->before.root,
		      &options, &a->plan, err) < 0)
		return -err->num;
	return carry_count(a->c->store, &a->plan, &a->counts, err);
}

static void print_json(const struct apply *a, bool applied, uint64_t after)
{
	json_t *object = json_object();

	jsonout_text(object, "schema", "guard.apply/1");
	jsonout_text(object, "run", a->p->session.id);
	jsonout_text(object, "project", a->p->session.project);
	(void)json_object_set_new(object, "applied", json_boolean(applied));
	jsonout_number(object, "before", a->before.seq);
	jsonout_number(object, "after", after);
	carry_json(&a->plan, object);
	jsonout_print(object);
}

static bool names_git(char *const *paths)
{
	for (; paths && *paths; paths++)
		if (path_has_part(*paths, ".git"))
			return true;
	return false;
}

static bool names_all(char *const *paths)
{
	if (!paths)
		return true;
	for (; *paths; paths++)
		if (!**paths)
			return true;
	return false;
}

/* The way out of a conflict goes by what has been tried already. */
static char *way_out(const struct apply *a)
{
	const char *id = a->p->session.id;

	switch (a->o->resolve) {
	case RESOLVE_THEIRS:
		return mem_printf("nothing is applied: what is named above is "
				  "never taken away by --theirs; put it out of "
				  "the way, or use --ours");
	case RESOLVE_MARKERS:
		return mem_printf("nothing is applied: only texts can have "
				  "conflict markers; name the paths that you "
				  "want, or use --ours or --theirs");
	default:
		return mem_printf("nothing is applied: guard show %s:PATH "
				  "prints the run's side; --ours keeps yours, "
				  "--theirs takes the run's, --merge writes "
				  "conflict markers, or name the paths that "
				  "you want",
				  id);
	}
}

/* As git does: it is done, but there is work left that must not be missed. */
static int say_marked(const struct apply *a)
{
	size_t i;

	if (!a->counts.marked)
		return STATUS_OK;
	for (i = 0; i < a->plan.step_count; i++)
		if (a->plan.steps[i].how == STEP_MARKED)
			output_warn("conflict markers are in %s",
				    text_quote(a->plan.steps[i].path));
	output_warn("%s to be put right by hand: applied, with conflict "
		    "markers",
		    text_count(a->counts.marked, "file"));
	return STATUS_REFUSED;
}

static void say_done(const struct apply *a)
{
	const struct session *s = &a->p->session;
	AUTO(buf) struct buf sum = {0};

	carry_sum(&a->counts, &sum);
	output_say("run %s applied to %s: %s", s->id, text_quote(s->project),
		   buf_text(&sum));
	if (s->state != RUN_APPLIED)
		output_say("the rest of it still waits (guard diff %s)", s->id);
	output_hint("guard undo takes it back");
}

static void say_git_left(const struct apply *a)
{
	struct session *s = &a->p->session;
	auto_free char *left = NULL;

	if (!a->plan.git_left)
		return;
	left = importer_left(a->c, s);
	if (*left)
		output_say("%s of the run %s not in your repository; guard "
			   "import %s brings them in",
			   left, strncmp(left, "1 ", 2) == 0 ? "is" : "are",
			   s->id);
	output_say("what changed in .git is left alone; guard apply %s "
		   ".git takes it over",
		   s->id);
}

/* Whoever names a .git is told what of it will be executed some day. */
static void warn_of_git(const struct apply *a)
{
	AUTO(changes_git) struct changes_git git = {0};
	size_t i;

	if (!names_git(a->p->paths))
		return;
	changes_git_make(&a->changes.project, a->changes.upper_fd,
			 a->changes.lower_fd, &git);
	for (i = 0; i < git.count; i++)
		if (git.items[i].runs)
			output_warn("git may execute it: %s",
				    git.items[i].text);
}

/* They are in nobody's way, but nobody may think that they were taken over. */
static size_t say_home_left(const struct apply *a)
{
	size_t count = changes_count_home(&a->changes.home);

	if (count)
		output_say("%s in your home folder left alone: guard diff %s "
			   "shows them, this version cannot apply them",
			   text_count(count, "change"), a->p->session.id);
	return count;
}

static int carry_apply(struct apply *a, struct err *err)
{
	struct session *s = &a->p->session;
	struct action action = {
		.kind = "apply",
		.run_id = s->id,
		.git = names_git(a->p->paths),
		.whole = names_all(a->p->paths),
	};
	auto_free char *before = NULL, *after = NULL;
	struct err ignored;

	if (session_set_state(s, RUN_APPLYING, err) < 0)
		return -err->num;
	if (carry_out(a->c->store, &a->project, &a->plan, &a->before, &action,
		      err) < 0) {
		if (faccessat(a->project.workspace_fd, "next-action", F_OK, 0) <
		    0)
			(void)session_set_state(s, RUN_ENDED, &ignored);
		return -err->num;
	}
	applied_add(s, a->before.seq, action.after, &a->plan);
	if (context_settle_run(s, action.whole, err) < 0)
		return -err->num;
	before = mem_printf("%" PRIu64, a->before.seq);
	after = mem_printf("%" PRIu64, action.after);
	state_log(&a->c->state, "apply", "run", s->id, "project", s->project,
		  "before", before, "after", after, NULL);
	if (a->o->json)
		print_json(a, true, action.after);
	say_done(a);
	say_git_left(a);
	(void)say_home_left(a);
	return say_marked(a);
}

/* A run that changed the home alone waits on. */
static int nothing_left(struct apply *a, struct err *err)
{
	if (!a->plan.already && !a->plan.git_left && !a->p->paths &&
	    changes_count_home(&a->changes.home)) {
		if (a->o->json)
			print_json(a, false, 0);
		(void)say_home_left(a);
		return STATUS_REFUSED;
	}
	if (a->o->json)
		print_json(a, false, 0);
	output_say("nothing is left to do: %s",
		   text_count(a->plan.already, "difference"));
	say_git_left(a);
	if (!a->o->dry &&
	    context_settle_run(&a->p->session, names_all(a->p->paths), err) < 0)
		return -err->num;
	return STATUS_OK;
}

static bool agreed(const struct apply *a)
{
	if (!a->changed_since)
		return carry_ask(&a->counts, a->p->session.project, a->o->yes);
	output_warn("the layer of run %s has changed since its end; what is "
		    "listed here is what it holds now",
		    a->p->session.id);
	return carry_ask(&a->counts, a->p->session.project, false);
}

static int apply_locked(struct apply *a, struct err *err)
{
	auto_free char *out = NULL;

	if (check_state(a->p, err) < 0 || make_plan(a, err) < 0)
		return -err->num;
	if (!a->o->json && !(a->o->quiet && a->o->yes) &&
	    carry_print(a->c->store, &a->plan, err) < 0)
		return -err->num;
	warn_of_git(a);
	carry_print_choices(&a->plan);
	out = way_out(a);
	if (carry_print_blocks(&a->plan, out)) {
		if (a->o->json)
			print_json(a, false, 0);
		return STATUS_REFUSED;
	}
	if (!a->plan.step_count)
		return nothing_left(a, err);
	if (a->o->dry) {
		if (a->o->json)
			print_json(a, false, 0);
		say_git_left(a);
		return STATUS_OK;
	}
	if (!agreed(a)) {
		if (a->o->json)
			print_json(a, false, 0);
		return STATUS_REFUSED;
	}
	return carry_apply(a, err);
}

static int apply(struct context *c, int count, char **argv, int dashed,
		 const struct apply_options *o, struct err *err)
{
	AUTO(pick) struct pick p = PICK_NONE;
	struct apply a = {
		.c = c,
		.o = o,
		.p = &p,
		.changes = CHANGES_NONE,
		.project = {.fd = -1, .workspace_fd = -1, .lock_fd = -1},
	};
	int got;

	if (context_open(c, true, err) < 0 ||
	    pick_run(c, count, argv, dashed, false, &p, err) < 0 ||
	    context_recover(c, p.session.project, err) < 0 ||
	    pick_lock(c, &p, err) < 0)
		return -err->num;
	got = apply_locked(&a, err);
	apply_free(&a);
	return got;
}

/* One of --ours, --theirs and --merge. */
static bool read_resolve(const struct verb *verb, int id, const char *value,
			 void *to)
{
	enum plan_resolve *resolve = to;
	enum plan_resolve said = id == OPT_OURS	    ? RESOLVE_OURS
				 : id == OPT_THEIRS ? RESOLVE_THEIRS
						    : RESOLVE_MARKERS;

	(void)value;
	if (*resolve && *resolve != said) {
		options_complain(verb, "only one of --ours, --theirs and "
				       "--merge can be meant");
		return false;
	}
	*resolve = said;
	return true;
}

int cmd_apply(int argc, char **argv)
{
	const struct verb *verb = options_verb("apply");
	AUTO(context) struct context c = CONTEXT_NONE;
	struct apply_options o = {0};
	int dashed = options_after_dashes(argc, argv);
	const struct option_slot slots[] = {
		{'n', .flag = &o.dry},
		{'y', .flag = &o.yes},
		{'q', .flag = &o.quiet},
		{OPT_JSON, .flag = &o.json},
		{OPT_OURS, .read = read_resolve, .to = &o.resolve},
		{OPT_THEIRS, .read = read_resolve, .to = &o.resolve},
		{OPT_MERGE, .read = read_resolve, .to = &o.resolve},
		{0},
	};
	struct err err;
	int got;

	got = options_take(verb, argc, argv, slots);
	if (got != OPTIONS_END)
		return got;
	output_quiet(o.quiet);
	output_color(OUTPUT_AUTO);
	got = apply(&c, argc - optind, argv + optind, dashed, &o, &err);
	return output_ended(got, &err);
}
