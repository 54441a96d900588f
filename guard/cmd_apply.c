#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/text.h"
#include "guard/applying.h"
#include "guard/commands.h"
#include "guard/importer.h"
#include "guard/jsonout.h"
#include "guard/options.h"
#include "guard/output.h"

struct apply_options {
	bool dry, yes, quiet, json;
	enum plan_resolve resolve; /* RESOLVE_NOT: nothing was said */
};

/* All that an apply holds on to. */
struct apply {
	struct applying in;
	const struct apply_options *o;
};

static void print_json(const struct apply *a, bool applied, uint64_t after)
{
	json_t *object = json_object();

	jsonout_text(object, "schema", "guard.apply/1");
	jsonout_text(object, "run", a->in.p->session.id);
	jsonout_text(object, "project", a->in.p->session.project);
	(void)json_object_set_new(object, "applied", json_boolean(applied));
	jsonout_number(object, "before", a->in.before.seq);
	jsonout_number(object, "after", after);
	carry_json(&a->in.plan, object);
	if (a->in.p->home_paths) {
		json_t *home = json_object();

		jsonout_text(home, "path", a->in.p->session.home);
		jsonout_number(home, "before", a->in.home.before.seq);
		carry_json(&a->in.home.plan, home);
		(void)json_object_set_new(object, "home", home);
	}
	jsonout_print(object);
}

/* The way out of a conflict goes by what has been tried already. */
static char *way_out(const struct apply *a)
{
	const char *id = a->in.p->session.id;

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

	if (!a->in.counts.marked)
		return STATUS_OK;
	for (i = 0; i < a->in.plan.step_count; i++)
		if (a->in.plan.steps[i].how == STEP_MARKED)
			output_warn("conflict markers are in %s",
				    text_quote(a->in.plan.steps[i].path));
	output_warn("%s to be put right by hand: applied, with conflict "
		    "markers",
		    text_count(a->in.counts.marked, "file"));
	return STATUS_REFUSED;
}

/* What is changed, for people. */
static const char *where(const struct apply *a)
{
	const struct pick *p = a->in.p;

	return p->home_paths && !p->paths ? p->session.home
					  : p->session.project;
}

static void say_done(const struct apply *a)
{
	const struct session *s = &a->in.p->session;
	AUTO(buf) struct buf sum = {0};

	carry_sum(&a->in.counts, &sum);
	output_say("run %s applied to %s: %s", s->id, text_quote(where(a)),
		   buf_text(&sum));
	if (s->state != RUN_APPLIED)
		output_say("the rest of it still waits (guard diff %s)", s->id);
	output_hint("guard undo takes it back");
}

static void say_git_left(const struct apply *a)
{
	struct session *s = &a->in.p->session;
	auto_free char *left = NULL;

	if (!a->in.plan.git_left)
		return;
	left = importer_left(a->in.c, s);
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

	if (!applying_names_git(a->in.p->paths))
		return;
	changes_git_make(&a->in.changes.project, a->in.changes.upper_fd,
			 a->in.changes.lower_fd, &git);
	for (i = 0; i < git.count; i++)
		if (git.items[i].runs)
			output_warn("git may execute it: %s",
				    git.items[i].text);
}

/* They are in nobody's way, but nobody may think that they were taken over. */
static size_t say_home_left(const struct apply *a)
{
	size_t count = applying_home_left(&a->in);
	const char *id = a->in.p->session.id;

	if (count)
		output_say("%s in your home folder left alone: guard diff %s "
			   "shows them, guard apply %s ~/PATH takes one over",
			   text_count(count, "change"), id, id);
	return count;
}

static int carry_apply(struct apply *a, struct err *err)
{
	char *const *paths = a->in.p->paths;
	uint64_t after;

	if (applying_carry(&a->in, applying_whole(a->in.p),
			   applying_names_git(paths), &after, err) < 0)
		return -err->num;
	if (a->o->json)
		print_json(a, true, after);
	say_done(a);
	say_git_left(a);
	(void)say_home_left(a);
	return say_marked(a);
}

/* A run that changed the home alone waits on. */
static int nothing_left(struct apply *a, struct err *err)
{
	if (!a->in.plan.already && !a->in.plan.git_left &&
	    applying_whole(a->in.p) && applying_home_left(&a->in)) {
		if (a->o->json)
			print_json(a, false, 0);
		(void)say_home_left(a);
		return STATUS_REFUSED;
	}
	if (a->o->json)
		print_json(a, false, 0);
	output_say("nothing is left to do: %s",
		   text_count(a->in.plan.already + a->in.home.plan.already,
			      "difference"));
	say_git_left(a);
	if (!a->o->dry && context_settle_run(&a->in.p->session, &a->in.c->state,
					     applying_whole(a->in.p), err) < 0)
		return -err->num;
	return STATUS_OK;
}

static bool agreed(const struct apply *a)
{
	if (!a->in.changed_since)
		return carry_ask(&a->in.counts, where(a), a->o->yes);
	output_warn("the layer of run %s has changed since its end; what is "
		    "listed here is what it holds now",
		    a->in.p->session.id);
	return carry_ask(&a->in.counts, where(a), false);
}

static int apply_locked(struct apply *a, struct err *err)
{
	auto_free char *out = NULL;

	if (applying_load(&a->in, err) < 0 ||
	    applying_plan(&a->in, &a->in.want, a->o->resolve, false, err) < 0)
		return -err->num;
	if (!a->o->json && !(a->o->quiet && a->o->yes) &&
	    (carry_print(a->in.c->store, &a->in.plan, err) < 0 ||
	     carry_print(a->in.c->store, &a->in.home.plan, err) < 0))
		return -err->num;
	warn_of_git(a);
	carry_print_choices(&a->in.plan);
	carry_print_choices(&a->in.home.plan);
	out = way_out(a);
	if (carry_print_blocks(&a->in.plan, out) |
	    carry_print_blocks(&a->in.home.plan, out)) {
		if (a->o->json)
			print_json(a, false, 0);
		return STATUS_REFUSED;
	}
	if (!a->in.plan.step_count && !a->in.home.plan.step_count)
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
	struct apply a = {.in = APPLYING_NONE, .o = o};
	int got;

	a.in.c = c;
	a.in.p = &p;

	if (context_open(c, true, err) < 0 ||
	    pick_run(c, count, argv, dashed, false, &p, err) < 0 ||
	    context_recover(c, p.session.project, err) < 0 ||
	    pick_lock(c, &p, err) < 0)
		return -err->num;
	got = apply_locked(&a, err);
	applying_free(&a.in);
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
