#include "guard/carry.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/text.h"
#include "guard/jsonout.h"
#include "guard/output.h"

/* A folder whose times alone move. */
static bool only_times(const struct step *s)
{
	return s->kind == STEP_META && entry_same_meta(&s->from, &s->to) &&
	       S_ISDIR(s->to.mode);
}

void carry_count(const struct plan *plan, struct carry_counts *ret)
{
	size_t i;

	*ret = (struct carry_counts){0};
	for (i = 0; i < plan->step_count; i++) {
		const struct step *s = &plan->steps[i];

		if (s->kind == STEP_DELETE)
			ret->deleted++;
		else if (s->kind == STEP_REPLACE)
			ret->replaced++;
		else if (s->kind == STEP_CREATE)
			ret->created++;
		else if (only_times(s))
			ret->times++;
		else
			ret->meta++;
	}
}

static void print_step(const struct step *s)
{
	static const struct {
		char letter;
		enum output_style style;
	} kinds[] = {
		[STEP_DELETE] = {'D', STYLE_DELETED},
		[STEP_REPLACE] = {'M', STYLE_CHANGED},
		[STEP_CREATE] = {'A', STYLE_ADDED},
		[STEP_META] = {'P', STYLE_CHANGED},
	};
	const struct entry *e = s->kind == STEP_DELETE ? &s->from : &s->to;
	AUTO(buf) struct buf b = {0};

	output_name(&b, s->path[0] ? s->path : ".");
	if (S_ISDIR(e->mode))
		buf_add_char(&b, '/');
	else if (S_ISLNK(e->mode))
		buf_add_text(&b, "  link");
	else if (S_ISREG(e->mode))
		buf_printf(&b, "  %s", text_size(e->size));
	if (s->kind == STEP_META && s->from.mode != s->to.mode)
		buf_printf(&b, "  mode %04o -> %04o", s->from.mode & 07777,
			   s->to.mode & 07777);
	(void)printf("  %s%c%s  %s\n", output_style(kinds[s->kind].style),
		     kinds[s->kind].letter, output_style(STYLE_NONE),
		     buf_text(&b));
}

void carry_print(const struct plan *plan)
{
	static const enum step_kind order[] = {STEP_DELETE, STEP_REPLACE,
					       STEP_META, STEP_CREATE};
	size_t k, i;

	for (k = 0; k < sizeof(order) / sizeof(order[0]); k++)
		for (i = 0; i < plan->step_count; i++)
			if (plan->steps[i].kind == order[k] &&
			    !only_times(&plan->steps[i]))
				print_step(&plan->steps[i]);
}

bool carry_print_blocks(const struct plan *plan, const char *way_out)
{
	size_t i;

	for (i = 0; i < plan->conflict_count; i++)
		output_warn("conflict: %s: %s",
			    text_quote(plan->conflicts[i].path),
			    conflict_text(plan->conflicts[i].kind));
	for (i = 0; i < plan->refusal_count; i++)
		output_warn("refused: %s: %s",
			    text_quote(plan->refusals[i].path),
			    refusal_text(plan->refusals[i].kind));
	if (plan->conflict_count && way_out)
		output_say("%s", way_out);
	if (plan->refusal_count)
		output_say("name the paths that you want without those that "
			   "are refused");
	return plan->conflict_count || plan->refusal_count;
}

static json_t *json_path(const char *path, const char *key, const char *text)
{
	json_t *object = json_object();

	jsonout_text(object, "path", path);
	jsonout_text(object, key, text);
	return object;
}

void carry_json(const struct plan *plan, json_t *object)
{
	static const char *const names[] = {
		[STEP_DELETE] = "delete",
		[STEP_REPLACE] = "replace",
		[STEP_CREATE] = "create",
		[STEP_META] = "meta",
	};
	json_t *steps = json_array(), *conflicts = json_array();
	json_t *refused = json_array();
	size_t i;

	for (i = 0; i < plan->step_count; i++)
		(void)json_array_append_new(
			steps, json_path(plan->steps[i].path, "op",
					 names[plan->steps[i].kind]));
	for (i = 0; i < plan->conflict_count; i++)
		(void)json_array_append_new(
			conflicts,
			json_path(plan->conflicts[i].path, "reason",
				  conflict_text(plan->conflicts[i].kind)));
	for (i = 0; i < plan->refusal_count; i++)
		(void)json_array_append_new(
			refused,
			json_path(plan->refusals[i].path, "reason",
				  refusal_text(plan->refusals[i].kind)));
	(void)json_object_set_new(object, "steps", steps);
	(void)json_object_set_new(object, "conflicts", conflicts);
	(void)json_object_set_new(object, "refused", refused);
	jsonout_number(object, "already", plan->already);
	jsonout_number(object, "git_left", plan->git_left);
}

int carry_ask(const struct plan *plan, const char *where, bool yes)
{
	struct carry_counts n;
	int answer;

	if (yes)
		return 1;
	carry_count(plan, &n);
	answer = output_ask("guard: delete %zu, replace %zu, create %zu, "
			    "change the rights of %zu in %s?",
			    n.deleted, n.replaced, n.created, n.meta,
			    text_quote(where));
	if (answer < 0)
		output_say("nothing is done: there is no terminal to ask on; "
			   "say it with -y");
	else if (!answer)
		output_say("nothing is done");
	return answer > 0;
}

static void hold_signals(sigset_t *before)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGHUP);
	(void)sigaddset(&set, SIGQUIT);
	(void)signal(SIGPIPE, SIG_IGN);
	(void)sigprocmask(SIG_BLOCK, &set, before);
}

/* The files are as they shall be: what fails now is no reason to call the
 * action failed, but undo needs to know of it. */
static void note_done(struct store *store, struct project *p, struct action *a)
{
	AUTO(snapshot) struct snapshot after = {0};
	auto_free char *reason = mem_printf("post-%s", a->kind);
	struct err err;

	if (project_snapshot(store, p, reason, a->run_id, "", &after, &err) <
	    0) {
		output_warn("it is done, but the state after it could not be "
			    "stored: %s",
			    err.text);
		return;
	}
	a->after = after.seq;
	if (action_save_last(p->workspace_fd, a, &err) < 0)
		output_warn("it is done, but undo will not know of it: %s",
			    err.text);
}

static int carry(struct store *store, struct project *p,
		 const struct plan *plan, struct action *a, struct err *err)
{
	struct transaction what = {
		.action = a->kind,
		.run_id = a->run_id,
		.before = a->before,
	};

	if (action_save_next(p->workspace_fd, a, err) < 0)
		return -err->num;
	if (transaction_run(store, p, plan, &what, err) < 0) {
		/* Left behind only together with its journal. */
		if (faccessat(p->workspace_fd, "journal", F_OK, 0) < 0)
			action_drop_next(p->workspace_fd);
		return -err->num;
	}
	note_done(store, p, a);
	return 0;
}

int carry_out(struct store *store, struct project *p, const struct plan *plan,
	      struct action *a, struct err *err)
{
	sigset_t before;
	int got;

	hold_signals(&before);
	got = carry(store, p, plan, a, err);
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	return got;
}
