#include <inttypes.h>

#include "base/parse.h"
#include "base/path.h"
#include "guard/cli/choose_run.h"
#include "guard/cli/commands.h"
#include "guard/cli/discard.h"
#include "guard/cli/plan_print.h"
#include "guard/cli/plan_summary.h"
#include "guard/cli/rewind.h"
#include "guard/change/partial_discard.h"
#include "guard/change/resolve_run.h"
#include "guard/cli/verdict_show.h"
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
		name = mem_printf("%s%s", r->prefix ?: "", n->path);
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

/* The text below the conflicts: the command that handles the files, to free. */
static char *undo_remedy(const struct undo *u, bool unread)
{
	const struct action *a = &u->last;
	const char *done = u->redo ? "redone" : "undone";

	if (unread)
		return mem_printf(
			"nothing %s: cannot check whether these files have "
			"changed; try again when they can be read, or use "
			"guard restore --at %" PRIu64 " PATH",
			done, action_before(a));
	/* After an undo the run is pending, and an apply merges. */
	if (u->redo && a->run_id[0])
		return mem_printf(
			"nothing redone: these files have changed since the "
			"undo; guard apply %s%s merges the run's changes into "
			"them",
			a->run_name ?: a->run_id, a->complete ? "" : " PATH");
	if (u->redo)
		return mem_printf("nothing redone: these files have changed "
				  "since the undo; guard restore --at %" PRIu64
				  " PATH restores single files",
				  action_before(a));
	return mem_strdup("nothing undone: these files have changed since; "
			  "guard restore restores single files");
}

static bool is_undo_blocked(const struct undo *u)
{
	bool blocked = false, unread = false;
	auto_free char *out = NULL;
	size_t i;

	for (i = 0; i < u->change.root_count; i++)
		unread |= print_unread_paths(u, i);
	out = undo_remedy(u, unread);
	for (i = 0; i < u->change.root_count; i++)
		blocked |=
			plan_print_blocks(&u->change.roots[i].plan, out, NULL);
	return blocked;
}

static int undo_transaction(struct undo *u, struct err *err)
{
	auto_free char *which = NULL;
	struct plan_counts counts;
	bool times = true;
	size_t i;

	if (undo_plan(u, err) < 0)
		return -err->num;
	/* The age keeps the user from taking this action for a later command
	 * that was refused. */
	which = undo_title(&u->last);
	output_print("%s %s: %s, %s",
		     u->step   ? "before that, in"
		     : u->redo ? "the last undone action in"
			       : "the last action in",
		     text_quote(u->path), which,
		     text_age(u->change.roots[0].base.time));
	for (i = 0; i < u->change.root_count && !(output_is_quiet() && u->yes);
	     i++)
		if (plan_print(u->c->store, &u->change.roots[i].plan, NULL,
			       err) < 0)
			return -err->num;
	for (i = 0; i < u->change.root_count; i++) {
		plan_print_owners(&u->change.roots[i].plan);
		plan_print_choices(&u->change.roots[i].plan);
		times &= plan_is_times(&u->change.roots[i].plan);
	}
	if (is_undo_blocked(u))
		return STATUS_REFUSED;
	/* The list has none of them. */
	if (times && changeset_has_steps(&u->change))
		output_print("that changes only times of files or directories");
	if (!u->dry) {
		if (plan_summary_count(&u->change, &counts, err) < 0)
			return -err->num;
		if (!plan_summary_ask(&counts, NULL, u->path, u->yes))
			return STATUS_REFUSED;
	}
	return undo_execute(u, err) < 0 ? -err->num : STATUS_OK;
}

/* Discards the run, or the same paths of it, again. */
static int redo_discard(struct undo *u, struct err *err)
{
	AUTO(resolved_run) struct resolved_run p = RESOLVED_RUN_NONE;
	AUTO(mem_list) char **operands = NULL;
	int parts = (int)u->last.parts.count, i;

	if (resolve_run_text(u->c, u->last.run_id, !u->dry, &p.session, err) <
	    0)
		return -err->num;
	mem_list_add(&operands, u->last.run_id);
	for (i = 0; i < parts; i++) {
		auto_free char *path = partial_discard_path(
			&p.session, &u->last.parts.items[i]);

		mem_list_add(&operands, path);
	}
	resolved_run_free(&p);
	if (resolve_run_open(u->c, parts + 1, operands, parts, !u->dry, &p,
			     err) < 0)
		return -err->num;
	/* The parts are all paths of the first time. */
	p.only = true;
	return discard_run(
		u->c, &p,
		&(struct discard_choice){.dry = u->dry, .yes = u->yes}, err);
}

/* --- one or several --- */

static int undo_one(struct undo *u, struct err *err)
{
	if (action_is_rewind(&u->last))
		return rewind_undo(u, err);
	if (!action_is_discard(&u->last))
		return undo_transaction(u, err);
	return u->redo ? redo_discard(u, err) : undo_discard(u, err);
}

/* None is begun when there are fewer of them. */
static int check_count(struct undo *u, struct err *err)
{
	const char *done = u->redo ? "redone" : "undone";
	unsigned long n;

	for (n = 0; n < u->count; n++) {
		int got = undo_load(u, n, err);

		if (got == -ENOENT && !n)
			return fail(err, ENOENT, "nothing is left to %s in %s",
				    u->redo ? "redo" : "undo",
				    text_quote(u->path));
		if (got == -ENOENT)
			return fail(err, ENOENT, "only %s in %s can be %s",
				    text_count(n, "action"),
				    text_quote(u->path), done);
		if (got < 0)
			return got;
	}
	return 0;
}

static int undo_many(struct undo *u, struct err *err)
{
	if (check_count(u, err) < 0)
		return -err->num;
	for (; u->step < u->count; u->step++) {
		int status;

		if (undo_load(u, u->dry ? u->step : 0, err) < 0)
			return -err->num;
		status = undo_one(u, err);
		if (status != STATUS_OK && u->step)
			output_print("%s before it %s%s",
				     text_count(u->step, "action"),
				     u->dry ? "would be " : "",
				     u->redo ? "redone" : "undone");
		if (status != STATUS_OK)
			return status;
		if (!u->dry && u->last.run_id[0])
			verdict_show_renew(u->c, u->last.run_id);
	}
	return STATUS_OK;
}

/*
 * A script that repeats a command after an error must not undo two actions:
 * with -y, an undo directly after an undo must say how far it goes.
 */
static int check_repeated(const struct undo *u, struct err *err)
{
	AUTO(action) struct action undone = {0};
	auto_free char *title = NULL, *further = NULL;

	if (!u->yes || u->dry || !undo_can_redo(u, &undone))
		return 0;
	title = undo_title(&undone);
	further = undo_further(u);
	return fail(err, EEXIST,
		    "nothing undone: the %s is undone already; guard redo "
		    "repeats it%s",
		    title, further);
}

/* The operand of undo: a number of actions, or a run. */
static int read_operand(struct undo *u, const char *text, struct err *err)
{
	AUTO(session) struct session s = SESSION_NONE;
	struct err unclear;
	int got, found;

	if (parse_number(text, ACTIONS_MAX, &u->count) == 0)
		return 0;
	/* A discarded run has no record any more; its action has id and
	 * name. A run of another project may have the name, too. */
	found = resolve_run_text(u->c, text, false, &s, &unclear);
	if (found < 0 && found != -ENOENT && found != -EEXIST) {
		*err = unclear;
		return found;
	}
	got = undo_count_run(u, found == 0 ? s.id : text, err);
	if (got == -ENOENT && found == -EEXIST) {
		*err = unclear;
		return found;
	}
	if (got == -ENOENT)
		return found == 0 || session_id_ok(text)
			       ? fail(err, ENOENT,
				      "no action of run %s in %s can be "
				      "undone: guard log --actions lists the "
				      "actions",
				      text, text_quote(u->path))
			       : fail(err, ENOENT,
				      "%s is neither a number up to %d nor a "
				      "run: guard log --actions lists the "
				      "actions, guard restore restores single "
				      "files",
				      text_quote(text), ACTIONS_MAX);
	if (got == 0 && !u->count)
		output_print("run %s is undone already", text);
	return got;
}

static int undo_or_redo(struct undo *u, int count, char **operands,
			struct err *err)
{
	unsigned long number;
	int got;

	u->by_run =
		count && parse_number(operands[0], ACTIONS_MAX, &number) < 0;
	got = undo_find(u, err) < 0 ? -err->num : 0;
	u->count = 1;
	if (got == 0)
		got = count	? read_operand(u, operands[0], err)
		      : u->redo ? 0
				: check_repeated(u, err);
	return got < 0 ? got : undo_many(u, err);
}

static int run_verb(const struct options *o, struct context *c, bool redo,
		    struct err *err)
{
	struct undo u = {
		.c = c, .redo = redo, .dry = o->dry_run, .yes = o->yes};
	const char *text = o->operands[0];
	int got;

	if (o->count > 1)
		return options_usage_error(
			o,
			"unexpected argument %s: use `guard restore` for "
			"single files",
			text_quote(o->operands[1]));
	if (text && (strcmp(text, "0") == 0 ||
		     (redo && parse_number(text, ACTIONS_MAX, &u.count) < 0)))
		return options_usage_error(o,
					   "%s: expected a number from 1 to %d",
					   text_quote(text), ACTIONS_MAX);
	c->wait_for_lock = true;
	got = undo_or_redo(&u, o->count, o->operands, err);
	undo_free(&u);
	return got;
}

int cmd_undo(const struct options *o, struct context *c, struct err *err)
{
	return run_verb(o, c, false, err);
}

int cmd_redo(const struct options *o, struct context *c, struct err *err)
{
	return run_verb(o, c, true, err);
}
