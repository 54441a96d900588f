#include "guard/past/carry.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/text.h"
#include "guard/context.h"
#include "guard/jsonout.h"
#include "guard/output.h"
#include "guard/past/carry_moves.h"
#include "guard/progress.h"
#include "restore/onfile.h"

bool carry_only_times(const struct step *s)
{
	return s->kind == STEP_META && entry_same_meta(&s->from, &s->to);
}

static int count_entry(void *arg, const char *path, const struct entry *e,
		       struct err *err)
{
	size_t *count = arg;

	(void)path;
	(void)e;
	(void)err;
	++*count;
	return 0;
}

int carry_count(struct store *store, const struct plan *plan,
		struct carry_counts *ret, struct err *err)
{
	AUTO(carry_moves) struct carry_moves moves = {0};
	struct carry_counts n = {0};
	size_t i;

	if (carry_moves_make(store, plan, &moves, err) < 0)
		return -err->num;
	for (i = 0; i < plan->step_count; i++) {
		const struct step *s = &plan->steps[i];

		if (s->how == STEP_MERGED)
			n.merged++;
		else if (s->how == STEP_MARKED)
			n.marked++;
		else if (s->kind == STEP_REPLACE)
			n.replaced++;
		else if (s->kind == STEP_CREATE)
			n.created++;
		else if (s->kind == STEP_META && carry_only_times(s))
			n.times++;
		else if (s->kind == STEP_META)
			n.meta++;
		else if (tree_each(store, &s->from, count_entry, &n.deleted,
				   err) < 0)
			return -err->num;
	}
	n.moved = moves.count;
	n.deleted -= moves.count;
	n.created -= moves.count;
	*ret = n;
	return 0;
}

void carry_add(struct carry_counts *to, const struct carry_counts *more)
{
	to->deleted += more->deleted;
	to->replaced += more->replaced;
	to->created += more->created;
	to->meta += more->meta;
	to->times += more->times;
	to->merged += more->merged;
	to->marked += more->marked;
	to->moved += more->moved;
}

void carry_sum(const struct carry_counts *counts, struct buf *to)
{
	const struct text_part parts[] = {
		{counts->deleted, "deleted"},
		{counts->moved, "moved"},
		{counts->replaced, "replaced"},
		{counts->created, "created"},
		{counts->meta, "with other rights"},
		{counts->merged, "merged"},
		{counts->marked, "with conflict markers"},
	};

	text_sum(to, parts, sizeof(parts) / sizeof(parts[0]), "times only");
}

static json_t *json_path(const char *path, const char *key, const char *text)
{
	json_t *object = json_object();

	jsonout_text(object, "path", path);
	jsonout_text(object, key, text);
	return object;
}

static json_t *json_step(const struct step *s)
{
	static const char *const names[] = {
		[STEP_DELETE] = "delete",
		[STEP_REPLACE] = "replace",
		[STEP_CREATE] = "create",
		[STEP_META] = "meta",
	};
	static const char *const hows[] = {
		[STEP_MERGED] = "merged",
		[STEP_MARKED] = "conflict-markers",
		[STEP_OVER] = "replaces-edit",
	};
	json_t *object = json_path(s->path, "op", names[s->kind]);

	if (s->how != STEP_PLAIN)
		jsonout_text(object, "how", hows[s->how]);
	return object;
}

static json_t *json_conflicts(const struct conflict *list, size_t count)
{
	json_t *array = json_array();
	size_t i;

	for (i = 0; i < count; i++)
		(void)json_array_append_new(
			array, json_path(list[i].path, "reason",
					 conflict_text(list[i].kind)));
	return array;
}

/* Told as far as it can be: the steps are all there. */
static void add_moves(struct store *store, const struct plan *plan,
		      json_t *object)
{
	AUTO(carry_moves) struct carry_moves moves = {0};
	struct err ignored;

	(void)carry_moves_make(store, plan, &moves, &ignored);
	(void)json_object_set_new(object, "moves", carry_moves_json(&moves));
}

void carry_json(struct store *store, const struct plan *plan, json_t *object)
{
	json_t *steps = json_array();
	json_t *refused = json_array();
	size_t i;

	for (i = 0; i < plan->step_count; i++)
		(void)json_array_append_new(steps, json_step(&plan->steps[i]));
	for (i = 0; i < plan->refusal_count; i++)
		(void)json_array_append_new(
			refused,
			json_path(plan->refusals[i].path, "reason",
				  refusal_text(plan->refusals[i].kind)));
	(void)json_object_set_new(object, "steps", steps);
	(void)json_object_set_new(
		object, "conflicts",
		json_conflicts(plan->conflicts, plan->conflict_count));
	(void)json_object_set_new(object, "refused", refused);
	(void)json_object_set_new(object, "kept",
				  json_conflicts(plan->kept, plan->kept_count));
	(void)json_object_set_new(object, "over",
				  json_conflicts(plan->over, plan->over_count));
	jsonout_number(object, "already", plan->already);
	jsonout_number(object, "git_left", plan->git_left);
	add_moves(store, plan, object);
}

bool carry_ask(const struct carry_counts *counts, const char *where, bool yes)
{
	AUTO(buf) struct buf sum = {0};

	carry_sum(counts, &sum);
	return output_agreed(yes, "guard: %s in %s: do it?", buf_text(&sum),
			     text_quote(where));
}

/* One of the folders as it is afterwards. */
static int store_after(struct store *store, struct project *p,
		       const struct action *a, uint64_t *ret, struct err *err)
{
	AUTO(snapshot) struct snapshot after = {0};
	auto_free char *reason = mem_printf("post-%s", a->kind);

	if (project_snapshot(store, p, reason, a->run_id, "", &after, err) < 0)
		return -err->num;
	*ret = after.seq;
	return 0;
}

/* The files are as they shall be: what fails now is no reason to call the
 * action failed, but undo needs to know of it. */
static void note_done(struct store *store, const struct carry_root *roots,
		      size_t count, struct action *a)
{
	struct err err;
	size_t i;

	for (i = 0; i < count; i++) {
		uint64_t *after = i ? &a->others[i - 1].after : &a->after;

		if (store_after(store, roots[i].project, a, after, &err) == 0)
			continue;
		output_warn("it is done, but the state after it could not be "
			    "stored: %s",
			    err.text);
		return;
	}
	if (action_save_last(roots[0].project->workspace_fd, a, &err) < 0)
		output_warn("it is done, but undo will not know of it: %s",
			    err.text);
}

static void list_only(const char *const *only, char ***to)
{
	mem_list_free(to);
	for (; only && *only; only++)
		mem_list_add(to, *only);
}

/*
 * A recovery compares with what the plan wants, and merged texts have been put
 * into the store without a snapshot: adding one flushes all that is there.
 */
static int store_before(struct store *store, const struct carry_root *roots,
			size_t count, struct action *a,
			struct transaction_root *to, struct err *err)
{
	size_t i;

	for (i = 0; i < count; i++) {
		const struct carry_root *r = &roots[i];
		struct action_root *other;

		if (catalog_add(store, r->before, err) < 0)
			return -err->num;
		to[i] = (struct transaction_root){
			.project = r->project,
			.plan = r->plan,
			.before = r->before->seq,
			.layer = r->layer,
		};
		if (!i) {
			a->before = r->before->seq;
			list_only(r->project->only, &a->only);
			continue;
		}
		other = action_add_root(a, r->project->path);
		other->before = r->before->seq;
		list_only(r->project->only, &other->only);
	}
	return 0;
}

static void tell_progress(void *arg, uint64_t done, uint64_t total)
{
	progress_bytes(arg, done, total);
}

int carry_transaction(struct store *store, const struct transaction_root *roots,
		      size_t count, const char *kind, const char *run_id,
		      struct err *err)
{
	struct progress progress;
	const struct transaction what = {
		.action = kind,
		.run_id = run_id,
		.progress = tell_progress,
		.progress_arg = &progress,
	};
	int got;

	progress_start(&progress, kind);
	got = transaction_run(store, roots, count, &what, err);
	progress_end(&progress);
	return got;
}

static int carry(struct store *store, const struct carry_root *roots,
		 size_t count, struct action *a, struct err *err)
{
	int workspace = roots[0].project->workspace_fd;
	auto_free struct transaction_root *to = mem_zalloc(count * sizeof(*to));

	if (store_before(store, roots, count, a, to, err) < 0 ||
	    action_save_next(workspace, a, ATOMIC_BYTES, err) < 0)
		return -err->num;
	if (carry_transaction(store, to, count, a->kind, a->run_id, err) < 0) {
		/* Left behind only together with its journal. */
		if (faccessat(workspace, "journal", F_OK, 0) < 0)
			action_drop_next(workspace);
		return -err->num;
	}
	note_done(store, roots, count, a);
	return 0;
}

int carry_out(struct store *store, const struct carry_root *roots, size_t count,
	      struct action *a, struct err *err)
{
	sigset_t signals;
	int got;

	(void)signal(SIGPIPE, SIG_IGN);
	context_hold_signals(&signals);
	got = carry(store, roots, count, a, err);
	(void)sigprocmask(SIG_SETMASK, &signals, NULL);
	return got;
}
