#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/text.h"
#include "guard/changes.h"
#include "guard/commands.h"
#include "guard/context.h"
#include "guard/diffrisk.h"
#include "guard/diffshow.h"
#include "guard/diffsnaps.h"
#include "guard/jsonout.h"
#include "guard/listing.h"
#include "guard/live.h"
#include "guard/options.h"
#include "guard/output.h"
#include "guard/pick.h"

static void print_header(const struct session *s, const struct changes *c)
{
	AUTO(buf) struct buf b = {0};
	struct change_counts n;

	changes_count(&c->project, &n);
	diffshow_head(s, &b);
	changes_sum(&n, &b);
	(void)printf("%s\n", buf_text(&b));
}

static void print_json(const struct session *s, const struct changes *c,
		       const struct difftext_source *project,
		       const struct difftext_source *home)
{
	json_t *object = json_object(), *counts = diffshow_counts(&c->project);
	json_t *risks = json_array();

	jsonout_text(object, "schema", "guard.diff/1");
	(void)json_object_update_new(object, jsonout_run(s));
	jsonout_number(counts, "home", c->home.count);
	(void)json_object_set_new(object, "counts", counts);
	(void)json_object_set_new(object, "entries",
				  diffshow_json(&c->project));
	(void)json_object_set_new(object, "home", diffshow_json(&c->home));
	diffrisk_json(&c->project, project, false, risks);
	diffrisk_json(&c->home, home, true, risks);
	(void)json_object_set_new(object, "risks", risks);
	jsonout_print(object);
}

static void print_text(const struct session *s, const struct changes *c,
		       const struct difftext_source *project,
		       const struct difftext_source *home)
{
	print_header(s, c);
	diffrisk_print(&c->project, project, false);
	diffrisk_print(&c->home, home, true);
	listing_print(c, stdout);
	diffshow_texts(&c->project, project, false);
	diffshow_texts(&c->home, home, true);
}

static void print(const struct session *s, struct changes *c,
		  const struct diff_options *o)
{
	struct difftext_fds fds = {c->upper_fd, c->lower_fd};
	struct difftext_fds home_fds = {c->home_upper_fd, c->home_lower_fd};
	struct difftext_source project = difftext_of_run(&fds);
	struct difftext_source home = difftext_of_run(&home_fds);

	diffshow_sort(&c->project);
	diffshow_sort(&c->home);
	switch (o->form) {
	case FORM_TEXT:
		print_text(s, c, &project, &home);
		break;
	case FORM_STAT:
		print_header(s, c);
		diffshow_stat(&c->project, &project, "");
		diffshow_stat(&c->home, &home, "~/");
		break;
	case FORM_JSON:
		print_json(s, c, &project, &home);
		break;
	default:
		diffshow_names(&c->project, o->form, "");
		diffshow_names(&c->home, o->form, "~/");
	}
}

static void keep_named(struct changes *c, const struct pick *p)
{
	const char *const none[] = {NULL};

	if (!p->paths && !p->home_paths)
		return;
	changes_keep(&c->project,
		     p->paths ? (const char *const *)p->paths : none);
	changes_keep(&c->home,
		     p->home_paths ? (const char *const *)p->home_paths : none);
}

/* What cannot be compared, because there is no base yet or never will be, is
 * not marked: a diff is shown in any case. */
static void mark_here(struct context *c, struct session *s,
		      struct changes *changes)
{
	AUTO(snapshot) struct snapshot base = {0};
	struct err ignored;

	if (!changes->project.count || session_base(s, false, &ignored) <= 0 ||
	    context_store(c, STORE_READ, &ignored) < 0 ||
	    catalog_load(c->store, s->base, &base, &ignored) < 0)
		return;
	(void)changes_here_mark(c->store, &base, &changes->project, &ignored);
}

/* A live run's layer as it is at one moment; where the run cannot be held
 * still, as it is while it is read. */
static int load_held(struct context *c, const struct session *s,
		     struct changes *ret, struct err *err)
{
	struct frozen *frozen = NULL;
	struct err odd;
	int got;

	if (live_hold(s, &frozen, &odd) < 0)
		output_warn("%s: it goes on while its layer is read", odd.text);
	got = changes_load(s, &c->state, ret, err);
	freeze_end(&frozen);
	return got;
}

static int diff(struct context *c, int count, char **argv, int dashed,
		const struct diff_options *o, struct err *err)
{
	AUTO(pick) struct pick p = PICK_NONE;
	AUTO(changes) struct changes changes = CHANGES_NONE;
	int points, got;

	if (context_open(c, true, err) < 0)
		return -err->num;
	points = diffsnaps_points(c, count - dashed, argv, err);
	if (points < 0)
		return points;
	if (points)
		return diffsnaps(c, argv, points, count, o, err);
	if (pick_run(c, count, argv, dashed, false, &p, err) < 0)
		return -err->num;
	got = context_recover(c, p.session.project, err);
	if (got == -EBUSY)
		output_say("another guard is at work in %s just now",
			   text_quote(p.session.project));
	else if (got < 0)
		return got;
	if (load_held(c, &p.session, &changes, err) < 0)
		return -err->num;
	if (changes_check(&changes.project, changes.lower_fd, p.paths, err) <
		    0 ||
	    changes_check(&changes.home, changes.home_lower_fd, p.home_paths,
			  err) < 0)
		return -err->num;
	mark_here(c, &p.session, &changes);
	keep_named(&changes, &p);
	output_color(o->color);
	if (!o->no_pager && o->form <= FORM_STAT)
		output_pager_start();
	if (pick_is_going(&p.session) && o->form <= FORM_STAT)
		(void)printf("still going: this is what there is by now\n");
	print(&p.session, &changes, o);
	if (!output_finish())
		return STATUS_REFUSED;
	return o->exit_code && changes.project.count + changes.home.count;
}

int cmd_diff(int argc, char **argv)
{
	const struct verb *verb = options_verb("diff");
	AUTO(context) struct context c = CONTEXT_NONE;
	struct diff_options o = {.color = OUTPUT_AUTO};
	const struct option_slot slots[] = {
		{OPT_STAT, .choice = &o.form, .value = FORM_STAT},
		{OPT_NAME_STATUS, .choice = &o.form, .value = FORM_NAME_STATUS},
		{OPT_NAME_ONLY, .choice = &o.form, .value = FORM_NAME_ONLY},
		{'z', .choice = &o.form, .value = FORM_RAW},
		{OPT_JSON, .choice = &o.form, .value = FORM_JSON},
		{OPT_EXIT_CODE, .flag = &o.exit_code},
		{OPT_NO_PAGER, .flag = &o.no_pager},
		{OPT_COLOR, .read = options_color, .to = &o.color},
		{0},
	};
	int dashed = options_after_dashes(argc, argv);
	struct err err;
	int got = options_take(verb, argc, argv, slots);

	if (got != OPTIONS_END)
		return got;
	got = diff(&c, argc - optind, argv + optind, dashed, &o, &err);
	if (got >= 0)
		return got;
	output_error(&err);
	return STATUS_USAGE;
}
