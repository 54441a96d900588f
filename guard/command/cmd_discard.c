#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/text.h"
#include "guard/apply/importer.h"
#include "guard/changes.h"
#include "guard/commands.h"
#include "guard/context.h"
#include "guard/keep/retire.h"
#include "guard/listing.h"
#include "guard/options.h"
#include "guard/output.h"
#include "guard/pick.h"
#include "guard/recover.h"
#include "guard/reserve.h"

#define TRASH_SECONDS (7 * 24 * 3600)

/* A note only: undo brings the run back, and with it its commits. */
static void say_commits(struct context *c, struct session *s)
{
	auto_free char *left = importer_left(c, s);

	if (*left)
		output_say("run %s holds %s that you never imported (guard "
			   "import %s)",
			   s->id, left, s->id);
}

static int discard_all(struct context *c, struct pick *p, bool yes,
		       struct err *err)
{
	struct session *s = &p->session;
	struct err ignored;

	say_commits(c, s);
	if (!output_agreed(yes, "guard: discard all of run %s?", s->id))
		return STATUS_REFUSED;
	if (retire_discard(c, s, err) < 0)
		return -err->num;
	output_say("run %s discarded; guard keeps it for 7 days", s->id);
	output_hint("guard undo brings it back");
	(void)session_empty_trash(c->state.trash_fd, TRASH_SECONDS, &ignored);
	return STATUS_OK;
}

/* What was named in a group; NULL: nothing. */
static char **named_in(const struct pick *p, size_t group, bool home)
{
	if (home)
		return p->home_paths;
	return group ? pick_extra_paths(p, group - 1) : p->paths;
}

static int check_named(const struct changes_group *g, char *const *paths,
		       struct err *err)
{
	size_t i;

	for (; paths && *paths; paths++) {
		for (i = 0; i < g->list->count; i++)
			if (path_below(g->list->items[i].path, *paths))
				break;
		if (i == g->list->count)
			return fail(err, ENOENT,
				    "the run changed nothing at %s%s",
				    g->prefix, text_quote(*paths));
	}
	return 0;
}

static int revert(struct context *c, struct session *s,
		  const struct changes_group *g, char *const *paths,
		  unsigned int *number, struct err *err)
{
	for (; paths && *paths; paths++) {
		auto_free char *name =
			mem_printf("%lld-discard-part-%s-%u",
				   (long long)time(NULL), s->id, ++*number);
		auto_free char *key = mem_printf("%s%s", g->prefix, *paths);

		if (layer_revert(g->upper_fd, g->lower_fd, *paths,
				 c->state.trash_fd, name, err) < 0)
			return err_context(err, "discard %s",
					   text_quote(*paths));
		record_add(&s->more, "discarded", key);
		if (session_save(s, err) < 0)
			return -err->num;
		state_log(&c->state, "discard", "run", s->id, "project",
			  s->project, "path", key, "kept", name, NULL);
	}
	return 0;
}

/* Nobody has anything to decide any more when no change is left. */
static int end_empty(struct context *c, struct session *s, struct err *err)
{
	AUTO(changes) struct changes changes = CHANGES_NONE;

	if (changes_load(s, &c->state, &changes, err) < 0)
		return -err->num;
	if (changes_total(&changes) || changes_count_home(&changes.home))
		return STATUS_OK;
	if (session_trash(s, c->state.runs_fd, c->state.trash_fd, "unchanged",
			  err) < 0)
		return -err->num;
	output_say("nothing is left of run %s", s->id);
	return STATUS_OK;
}

static int discard_paths(struct context *c, struct pick *p, bool yes,
			 struct err *err)
{
	AUTO(changes) struct changes changes = CHANGES_NONE;
	auto_free struct changes_group *groups = NULL;
	struct session *s = &p->session;
	unsigned int number = 0;
	size_t count, i;

	if (changes_load(s, &c->state, &changes, err) < 0)
		return -err->num;
	if (pick_check(p, &changes, err) < 0)
		return -err->num;
	count = changes_groups(&changes, &groups);
	for (i = 0; i < count; i++)
		if (check_named(&groups[i], named_in(p, i, groups[i].home),
				err) < 0)
			return -err->num;
	changes_find_moves(&changes);
	pick_keep(p, &changes);
	listing_print(&changes, stdout);
	if (!output_agreed(yes, "guard: discard these changes of run %s?",
			   s->id))
		return STATUS_REFUSED;
	for (i = 0; i < count; i++)
		if (revert(c, s, &groups[i], named_in(p, i, groups[i].home),
			   &number, err) < 0)
			return -err->num;
	output_say("discarded from run %s; guard undo brings whole runs back "
		   "only",
		   s->id);
	output_hint("guard log PATH    finds what the run made of a path in "
		    "the project (post-run),");
	output_hint("guard restore --at N PATH    brings it back");
	return end_empty(c, s, err);
}

static int discard(struct context *c, int count, char **argv, int dashed,
		   bool yes, struct err *err)
{
	AUTO(pick) struct pick p = PICK_NONE;
	int got;

	if (context_open(c, true, err) < 0 ||
	    pick_run(c, count, argv, dashed, false, &p, err) < 0)
		return -err->num;
	reserve_use(c->state.fd);
	got = recover_project(c, p.session.project, err);
	if ((got < 0 && got != -ENOENT) || pick_lock(c, &p, err) < 0)
		return -err->num;
	return pick_named_paths(&p) ? discard_paths(c, &p, yes, err)
				    : discard_all(c, &p, yes, err);
}

int cmd_discard(int argc, char **argv)
{
	const struct verb *verb = options_verb("discard");
	AUTO(context) struct context c = CONTEXT_NONE;
	int dashed = options_after_dashes(argc, argv);
	bool yes = false;
	const struct option_slot slots[] = {
		{'y', .flag = &yes},
		{'q', .read = output_quiet_read},
		{0},
	};
	struct err err;
	int got;

	got = options_take(verb, argc, argv, slots);
	if (got != OPTIONS_END)
		return got;
	got = discard(&c, argc - optind, argv + optind, dashed, yes, &err);
	return output_ended(got, &err);
}
