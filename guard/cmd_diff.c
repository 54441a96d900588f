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
#include "guard/difftext.h"
#include "guard/jsonout.h"
#include "guard/listing.h"
#include "guard/options.h"
#include "guard/output.h"
#include "guard/pick.h"

enum diff_form {
	FORM_TEXT,
	FORM_STAT,
	FORM_NAME_STATUS,
	FORM_NAME_ONLY,
	FORM_RAW,
	FORM_JSON,
};

struct diff_options {
	enum diff_form form;
	enum output_when color;
	bool no_pager, exit_code;
};

static void print_header(const struct session *s, const struct changes *c)
{
	AUTO(buf) struct buf b = {0};
	struct change_counts n;

	changes_count(&c->project, &n);
	buf_printf(&b, "%srun %s%s  %s  started %s", output_style(STYLE_BOLD),
		   s->id, output_style(STYLE_NONE), pick_state_text(s),
		   output_age(s->started));
	if (s->status >= 0)
		buf_printf(&b, ", exit status %d", s->status);
	buf_add_text(&b, "\n$ ");
	output_name(&b, s->command ? s->command : "");
	buf_add_text(&b, "\nin ");
	output_name(&b, s->project);
	buf_add_text(&b, ": ");
	changes_sum(&n, &b);
	(void)printf("%s\n", buf_text(&b));
}

static void print_texts(const struct change_list *list, int upper_fd,
			int lower_fd, bool home)
{
	size_t i;

	for (i = 0; i < list->count && !output_broken(); i++) {
		const struct change *c = &list->items[i];

		if (home ? changes_is_cache(c->path)
			 : (c->flags & CHANGE_GIT) != 0)
			continue;
		difftext_print(c, upper_fd, lower_fd);
	}
}

static void print_stat(const struct change_list *list, int upper_fd,
		       int lower_fd, const char *prefix)
{
	size_t i;

	for (i = 0; i < list->count && !output_broken(); i++) {
		const struct change *c = &list->items[i];
		AUTO(buf) struct buf b = {0};
		struct difftext_stat n;

		output_name(&b, c->path);
		difftext_count(c, upper_fd, lower_fd, &n);
		if (n.text) {
			buf_printf(&b, "  %s+%zu%s %s-%zu%s",
				   output_style(STYLE_ADDED), n.added,
				   output_style(STYLE_NONE),
				   output_style(STYLE_DELETED), n.removed,
				   output_style(STYLE_NONE));
		} else {
			changes_detail(c, &b);
		}
		(void)printf("%c  %s%s\n", changes_letter(c->kind), prefix,
			     buf_text(&b));
	}
}

/* home: paths of the home group stand behind "~/". */
static void print_names(const struct change_list *list, enum diff_form form,
			const char *prefix)
{
	size_t i;

	for (i = 0; i < list->count; i++) {
		const struct change *c = &list->items[i];
		AUTO(buf) struct buf b = {0};

		if (form == FORM_RAW) {
			(void)printf("%c%c%s%s%c", changes_letter(c->kind),
				     '\0', prefix, c->path, '\0');
			continue;
		}
		output_name(&b, c->path);
		if (form == FORM_NAME_STATUS)
			(void)printf("%c\t", changes_letter(c->kind));
		(void)printf("%s%s\n", prefix, buf_text(&b));
	}
}

static json_t *json_group(const struct change_list *list)
{
	json_t *array = json_array();
	size_t i;

	for (i = 0; i < list->count; i++)
		(void)json_array_append_new(array,
					    jsonout_change(&list->items[i]));
	return array;
}

static void print_json(const struct session *s, const struct changes *c)
{
	json_t *object = json_object(), *counts = json_object();
	struct change_counts n;

	changes_count(&c->project, &n);
	jsonout_text(object, "schema", "guard.diff/1");
	(void)json_object_update_new(object, jsonout_run(s));
	jsonout_number(counts, "deleted", n.deleted);
	jsonout_number(counts, "type", n.type);
	jsonout_number(counts, "modified", n.modified);
	jsonout_number(counts, "meta", n.meta);
	jsonout_number(counts, "added", n.added);
	jsonout_number(counts, "git", n.git);
	jsonout_number(counts, "home", c->home.count);
	(void)json_object_set_new(object, "counts", counts);
	(void)json_object_set_new(object, "entries", json_group(&c->project));
	(void)json_object_set_new(object, "home", json_group(&c->home));
	jsonout_print(object);
}

static void print_text(const struct session *s, const struct changes *c)
{
	print_header(s, c);
	listing_print(c, stdout);
	print_texts(&c->project, c->upper_fd, c->lower_fd, false);
	print_texts(&c->home, c->home_upper_fd, c->home_lower_fd, true);
}

/* One order everywhere: deletions first. */
static int by_kind(const void *a, const void *b)
{
	const struct change *x = a, *y = b;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return path_compare(x->path, y->path);
}

static void sort(struct change_list *list)
{
	if (list->count)
		qsort(list->items, list->count, sizeof(*list->items), by_kind);
}

static void print(const struct session *s, struct changes *c,
		  const struct diff_options *o)
{
	sort(&c->project);
	sort(&c->home);
	switch (o->form) {
	case FORM_TEXT:
		print_text(s, c);
		break;
	case FORM_STAT:
		print_header(s, c);
		print_stat(&c->project, c->upper_fd, c->lower_fd, "");
		print_stat(&c->home, c->home_upper_fd, c->home_lower_fd, "~/");
		break;
	case FORM_JSON:
		print_json(s, c);
		break;
	default:
		print_names(&c->project, o->form, "");
		print_names(&c->home, o->form, "~/");
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

static int diff(struct context *c, int count, char **argv, int dashed,
		const struct diff_options *o, struct err *err)
{
	AUTO(pick) struct pick p = PICK_NONE;
	AUTO(changes) struct changes changes = CHANGES_NONE;
	int got;

	if (context_open(c, true, err) < 0 ||
	    pick_run(c, count, argv, dashed, false, &p, err) < 0)
		return -err->num;
	got = context_recover(c, p.session.project, err);
	if (got == -EBUSY)
		output_say("another guard is at work in %s just now",
			   text_quote(p.session.project));
	else if (got < 0)
		return got;
	if (changes_load(&p.session, &c->state, &changes, err) < 0)
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
