#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/parse.h"
#include "base/path.h"
#include "guard/change/changes.h"
#include "guard/cli/commands.h"
#include "guard/cli/plan_print.h"
#include "guard/cli/plan_summary.h"
#include "guard/change/undo.h"

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
static bool print_unread_paths(const struct undo *u, size_t index)
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

static bool is_undo_blocked(const struct undo *u)
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
		blocked |=
			plan_print_blocks(&u->change.roots[i].plan, out, NULL);
	return blocked;
}

static int undo_transaction(struct undo *u, struct err *err)
{
	auto_free char *which = NULL;
	struct plan_counts counts;
	size_t i;

	if (undo_plan(u, err) < 0)
		return -err->num;
	/* The age keeps the user from taking this action for a later command
	 * that was refused. */
	which = undo_title(&u->last);
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
	if (!u->dry) {
		if (plan_summary_count(&u->change, &counts, err) < 0)
			return -err->num;
		if (!plan_summary_ask(&counts, NULL, u->path, u->yes))
			return STATUS_REFUSED;
	}
	return undo_execute(u, err) < 0 ? -err->num : STATUS_OK;
}

/* --- one or several --- */

static int undo_one(struct undo *u, struct err *err)
{
	return action_is_discard(&u->last) ? undo_discard(u, err)
					   : undo_transaction(u, err);
}

/* None is begun when there are fewer of them. */
static int undo_many(struct undo *u, struct err *err)
{
	unsigned long n;

	for (n = 0; n < u->count; n++) {
		int got = undo_load(u, n, err);

		if (got == -ENOENT)
			return fail(err, ENOENT, "only %s in %s can be undone",
				    text_count(n, "action"),
				    text_quote(u->path));
		if (got < 0)
			return got;
	}
	for (; u->step < u->count; u->step++) {
		int status;

		if (undo_load(u, u->dry ? u->step : 0, err) < 0)
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
	struct undo u = {.c = &c};
	const struct option_slot slots[] = {
		{'n', .flag = &u.dry},
		{'y', .flag = &u.yes},
		{'q', .read = output_quiet_read},
		{0},
	};
	struct err err;
	int got;

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
	got = context_open(&c, true, &err) < 0 || undo_find(&u, &err) < 0
		      ? -err.num
	      : u.count ? undo_many(&u, &err)
			: undo_one(&u, &err);
	undo_free(&u);
	return output_status(got, &err);
}
