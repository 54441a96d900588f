#include <signal.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/mem.h"
#include "guard/context.h"
#include "guard/change/plan_summary.h"
#include "guard/progress.h"
#include "guard/report.h"

/* The action, and the snapshot of the last folder of it, which it names. */
struct action_note {
	struct action *action;
	uint64_t *seq; /* of that snapshot, in the action */
	int workspace_fd;
	/* Of the transaction, at its begin; at its end. */
	transaction_add_journal note;
	void *journal;
	void (*seen)(void *arg);
	void *seen_arg;
};

static int save_last_action(void *arg, const struct snapshot *s,
			    struct atomic_set *set, struct err *err)
{
	struct action_note *n = arg;

	if (n->seen)
		n->seen(n->seen_arg);
	*n->seq = s->seq;
	return action_save_last(n->workspace_fd, n->action, set, err);
}

static void list_applied_ops(const struct plan *plan, struct applied_ops *to)
{
	size_t i;

	for (i = 0; i < plan->step_count; i++)
		applied_ops_add(to, plan->steps[i].path, &plan->steps[i].to);
	applied_ops_sort(to);
}

/* One of the folders as it is afterwards; with: what it is stored with. */
static int store_result_snapshot(struct store *store,
				 const struct planned_root *r,
				 const struct action *a,
				 struct action_note *with, uint64_t *ret,
				 struct err *err)
{
	AUTO(snapshot) struct snapshot after = {0};
	AUTO(applied_ops) struct applied_ops did = {0};
	auto_free char *reason = mem_printf("post-%s", a->kind);
	const struct project_after o = {
		.reason = reason,
		.run_id = a->run_id,
		.before = r->before,
		.did = &did,
		.with = with ? save_last_action : NULL,
		.with_arg = with,
	};

	list_applied_ops(r->plan, &did);
	if (project_snapshot_after(store, r->project, &o, &after, err) < 0)
		return -err->num;
	*ret = after.seq;
	return 0;
}

static void copy_only_paths(const char *const *only, char ***to)
{
	mem_list_free(to);
	for (; only && *only; only++)
		mem_list_add(to, *only);
}

static void list_transaction_roots(const struct planned_root *roots,
				   size_t count, struct action *a,
				   struct transaction_root *to)
{
	size_t i;

	for (i = 0; i < count; i++) {
		const struct planned_root *r = &roots[i];
		struct action_root *other;

		to[i] = (struct transaction_root){
			.project = r->project,
			.plan = r->plan,
			.before = r->before,
			.layer = r->layer,
		};
		if (!i) {
			copy_only_paths(r->project->only, &a->only);
			a->first = r->first;
			continue;
		}
		other = action_add_root(a, r->project->path);
		copy_only_paths(r->project->only, &other->only);
		other->first = r->first;
	}
}

static int save_next_action(void *arg, const struct snapshot *s,
			    struct atomic_set *set, struct err *err)
{
	struct action_note *n = arg;

	*n->seq = s->seq;
	if (action_save_next(n->workspace_fd, n->action, set, err) < 0)
		return -err->num;
	return n->note ? n->note(n->journal, set, err) : 0;
}

struct plans_execution {
	struct store *store;
	const struct planned_root *roots;
	size_t count;
	struct action *action; /* NULL: nothing is noted */
	struct progress progress;
};

/*
 * A recovery compares with what the plan wants, and merged texts have been put
 * into the store without a snapshot: adding one flushes all that is there. The
 * last of them, what is about to be done and the journal become durable
 * together.
 */
static int begin_action(void *arg, transaction_add_journal note, void *journal,
			struct err *err)
{
	const struct plans_execution *b = arg;
	struct action *a = b->action;
	struct action_note next = {
		.action = a,
		.workspace_fd = b->roots[0].project->workspace_fd,
		.note = note,
		.journal = journal,
	};
	size_t i;

	for (i = 0; i < b->count; i++) {
		bool last = i + 1 == b->count;

		next.seq = i ? &a->others[i - 1].before : &a->before;
		if (catalog_add_with(b->store, b->roots[i].before,
				     last ? save_next_action : NULL, &next,
				     err) < 0)
			return -err->num;
		*next.seq = b->roots[i].before->seq;
	}
	return 0;
}

/* The files are as they shall be: what fails now is no reason to call the
 * action failed, but undo needs to know of it. */
static bool end_action(void *arg, void (*seen)(void *), void *seen_arg)
{
	struct plans_execution *c = arg;
	struct action *a = c->action;
	struct action_note last = {
		.action = a,
		.workspace_fd = c->roots[0].project->workspace_fd,
		.seen = seen,
		.seen_arg = seen_arg,
	};
	struct err err;
	size_t i;

	progress_end(&c->progress);
	for (i = 0; i < c->count; i++) {
		uint64_t *after = i ? &a->others[i - 1].after : &a->after;

		last.seq = after;
		if (store_result_snapshot(c->store, &c->roots[i], a,
					  i + 1 == c->count ? &last : NULL,
					  after, &err) == 0)
			continue;
		report_warning(
			"it is done, but the state after it, which undo "
			"needs, could not be stored; the next command of "
			"guard here tries again: %s",
			err.text);
		return false;
	}
	return true;
}

static void show_execution_progress(void *arg, uint64_t done, uint64_t total)
{
	progress_bytes(arg, done, total);
}

static int run_transaction_of(struct plans_execution *c,
			      const struct transaction_root *roots,
			      const char *kind, const char *run_id,
			      struct err *err)
{
	const struct transaction what = {
		.action = kind,
		.run_id = run_id,
		.progress = show_execution_progress,
		.progress_arg = &c->progress,
		.is_cancelled = context_signal_pending,
		.begin = c->action ? begin_action : NULL,
		.end = c->action ? end_action : NULL,
		.callback_arg = c,
	};
	int got;

	(void)signal(SIGIO, SIG_IGN); /* lock_has_writer() */
	progress_start(&c->progress, kind);
	got = transaction_run(c->store, roots, c->count, &what, err);
	progress_end(&c->progress);
	return got;
}

int execute_plans_unrecorded(struct store *store,
			     const struct transaction_root *roots, size_t count,
			     const char *kind, const char *run_id,
			     struct err *err)
{
	struct plans_execution c = {.store = store, .count = count};

	return run_transaction_of(&c, roots, kind, run_id, err);
}

static int execute_announced_plans(struct store *store,
				   const struct planned_root *roots,
				   size_t count, struct action *a,
				   struct err *err)
{
	int workspace = roots[0].project->workspace_fd;
	auto_free struct transaction_root *to = mem_zalloc(count * sizeof(*to));
	struct plans_execution c = {store, roots, count, a, {0}};
	int got;

	list_transaction_roots(roots, count, a, to);
	got = run_transaction_of(&c, to, a->kind, a->run_id, err);
	/* Left behind only together with its journal. */
	if ((got < 0 || !a->after) && !fd_exists(workspace, "journal"))
		action_drop_next(workspace);
	return got;
}

int execute_plans_check(struct store *store, const struct planned_root *roots,
			size_t count, struct err *err)
{
	auto_free struct transaction_root *to = mem_zalloc(count * sizeof(*to));
	size_t i;

	for (i = 0; i < count; i++)
		to[i] = (struct transaction_root){
			.project = roots[i].project,
			.plan = roots[i].plan,
			.before = roots[i].before,
		};
	(void)signal(SIGIO, SIG_IGN); /* lock_has_writer() */
	return transaction_check(store, to, count, err);
}

void execute_plans_await_starts(const struct context *c,
				const struct planned_root *roots, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		context_wait_starting_runs(c, roots[i].project->path);
}

int execute_plans(struct store *store, const struct planned_root *roots,
		  size_t count, struct action *a, struct err *err)
{
	sigset_t signals;
	bool interrupted;
	int got;

	(void)signal(SIGPIPE, SIG_IGN);
	context_block_signals(&signals);
	got = execute_announced_plans(store, roots, count, a, err);
	interrupted = context_restore_signals(&signals);
	if (got == 0 && interrupted)
		report_warning("interrupted too late: it is done");
	return got;
}
