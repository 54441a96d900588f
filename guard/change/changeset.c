#include "guard/change/changeset.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/fd.h"
#include "base/mem.h"
#include "guard/change/applied_base.h"
#include "guard/change/changeset_private.h"
#include "guard/state/report.h"
#include "guard/change/recover.h"
#include "guard/change/resolve_run.h"
#include "overlay/session_base.h"
#include "overlay/session_list.h"
#include "restore/plan/unit.h"

/* Less is read in no time, and a snapshot of all of it is worth more. */
#define LARGE_PROJECT 2000
/* So many times more things there are than such as are looked at. */
#define PARTIAL_SHARE 8
#define PARTIAL_PATHS_MAX 1000

uint64_t changeset_partial_max(const struct snapshot *s)
{
	uint64_t entries = s->files + s->dirs;

	if (entries < LARGE_PROJECT || (s->root.flags & ENTRY_INCOMPLETE))
		return 0;
	return entries / PARTIAL_SHARE < PARTIAL_PATHS_MAX
		       ? entries / PARTIAL_SHARE
		       : PARTIAL_PATHS_MAX;
}

void changeset_init(struct changeset *set, struct context *c, size_t root_count)
{
	size_t i;

	*set = (struct changeset){
		.c = c,
		.roots = mem_zalloc((root_count + 1) * sizeof(*set->roots)),
		.root_count = root_count,
	};
	for (i = 0; i <= root_count; i++)
		set->roots[i].project = PROJECT_NONE;
}

void changeset_free(struct changeset *set)
{
	size_t i;

	for (i = 0; i < set->root_count + set->hidden; i++) {
		struct changeset_root *root = &set->roots[i];

		free(root->prefix);
		mem_list_free(&root->only);
		mem_list_free(&root->gits);
		plan_free(&root->plan);
		snapshot_free(&root->base);
		snapshot_free(&root->want);
		snapshot_free(&root->now);
		project_close(&root->project);
	}
	free(set->roots);
	*set = (struct changeset){0};
}

int changeset_open_root(struct changeset *set, size_t index, const char *path,
			struct err *err)
{
	struct project *project = &set->roots[index].project;

	if (project->path)
		return 0;
	if (index && recover_project(set->c, path, err) < 0)
		return -err->num;
	return context_project(set->c, path, false, project, err);
}

int changeset_inspect_root(struct changeset *set, size_t index,
			   const char *reason, const char *run_id,
			   struct err *err)
{
	struct changeset_root *root = &set->roots[index];

	snapshot_free(&root->now);
	root->now = (struct snapshot){0};
	unit_add_paths(root->project.fd, &root->only);
	root->project.only = (const char *const *)root->only;
	return project_inspect(set->c->store, &root->project, reason, run_id,
			       &root->now, err);
}

/* guard's own files in the project: no plan deletes a directory above them. */
static const char **list_skipped_paths(const struct project *p)
{
	size_t count = 0, n = 0;
	const char **paths;

	while (p->skip && p->skip[count])
		count++;
	paths = mem_zalloc((count + 1) * sizeof(*paths));
	while (count-- > 0)
		if (path_below(p->skip[count], p->path))
			paths[n++] = path_rest(p->skip[count], p->path);
	return paths;
}

int changeset_plan_root(struct changeset *set, size_t index,
			const struct entry *base,
			const struct plan_options *options, struct err *err)
{
	struct changeset_root *root = &set->roots[index];
	const struct entry *now = &root->now.root;
	auto_free const char **except = list_skipped_paths(&root->project);
	struct plan_options o = *options;

	if (!o.except)
		o.except = except;
	plan_free(&root->plan);
	if (plan_make(set->c->store, base ? base : now,
		      root->picked ?: &root->want.root, now, &o, &root->plan,
		      err) < 0)
		return -err->num;
	if (root->prefix)
		root->plan.prefix = root->prefix;
	return 0;
}

bool changeset_has_steps(const struct changeset *set)
{
	size_t i;

	for (i = 0; i < set->root_count + set->hidden; i++)
		if (set->roots[i].plan.steps.count)
			return true;
	return false;
}

bool changeset_has_effect(const struct changeset *set)
{
	size_t i;

	for (i = 0; i < set->root_count + set->hidden; i++)
		if (plan_has_effect(&set->roots[i].plan))
			return true;
	return false;
}

void changeset_unlock(struct changeset *set)
{
	size_t i;

	for (i = 0; i < set->root_count; i++)
		project_close(&set->roots[i].project);
}

/* The transaction of a changeset and, unless nothing is recorded, its action.
 */
struct execution {
	struct changeset *set;
	struct changeset_root **roots; /* without excluded roots */
	size_t count;
	struct action *action; /* NULL: nothing is recorded */
	struct session run; /* the action's, open while bases are written */
	uint64_t *seq; /* in the action: of the snapshot that is stored now */
	/* Arguments of begin_action(), and of end_action(). */
	transaction_add_journal add_journal;
	void *journal;
	void (*seen)(void *arg);
	void *seen_arg;
};

static void execution_free(struct execution *e)
{
	free(e->roots);
	session_free(&e->run);
}

static struct execution make_execution(struct changeset *set, struct action *a)
{
	struct execution e = {
		.set = set,
		.action = a,
		.run = SESSION_NONE,
	};
	size_t i;

	e.roots = mem_alloc((set->root_count + set->hidden) *
			    sizeof(struct changeset_root *));
	for (i = 0; i < set->root_count + set->hidden; i++)
		if (!set->roots[i].excluded)
			e.roots[e.count++] = &set->roots[i];
	return e;
}

static int save_next_action(void *arg, const struct snapshot *s,
			    struct atomic_set *set, struct err *err)
{
	struct execution *e = arg;

	*e->seq = s->seq;
	if (action_announce(e->roots[0]->project.workspace_fd, e->action, set,
			    err) < 0)
		return -err->num;
	return e->add_journal ? e->add_journal(e->journal, set, err) : 0;
}

/*
 * A recovery compares the files with the plan's wanted state, and merged texts
 * are in the store without a snapshot: adding a snapshot flushes all pending
 * objects. The last snapshot, the announced action and the journal become
 * durable together.
 */
static int begin_action(void *arg, transaction_add_journal add_journal,
			void *journal, struct err *err)
{
	struct execution *e = arg;
	size_t i;

	e->add_journal = add_journal;
	e->journal = journal;
	for (i = 0; i < e->count; i++) {
		struct snapshot *before = &e->roots[i]->now;
		bool last = i + 1 == e->count;

		e->seq = &e->action->roots.items[i].before;
		if (catalog_add_with(e->set->c->store, before,
				     last ? save_next_action : NULL, e,
				     err) < 0)
			return -err->num;
		*e->seq = before->seq;
	}
	return 0;
}

static int save_last_action(void *arg, const struct snapshot *s,
			    struct atomic_set *set, struct err *err)
{
	struct execution *e = arg;

	if (e->seen)
		e->seen(e->seen_arg);
	*e->seq = s->seq;
	return applied_base_put(&e->set->c->state, e->action, &e->run, set,
				err) < 0
		       ? -err->num
		       : action_record(e->roots[0]->project.workspace_fd,
				       e->action, set, err);
}

/* Stores each root as it is after the action; the last one together with the
 * action. The files are as they shall be: a failure from here on does not make
 * the action fail, but undo needs to know of it. */
static bool end_action(void *arg, void (*seen)(void *), void *seen_arg)
{
	struct execution *e = arg;
	auto_free char *reason = mem_printf("post-%s", e->action->kind);
	struct err err;
	size_t i;

	e->seen = seen;
	e->seen_arg = seen_arg;
	report_progress_end();
	for (i = 0; i < e->count; i++) {
		struct changeset_root *root = e->roots[i];
		AUTO(snapshot) struct snapshot after = {0};
		AUTO(applied_ops) struct applied_ops did = {0};
		const struct project_after o = {
			.reason = reason,
			.run_id = e->action->run_id,
			.before = &root->now,
			.did = &did,
			.with = i + 1 == e->count ? save_last_action : NULL,
			.with_arg = e,
		};

		applied_ops_add_plan(&did, &root->plan);
		applied_ops_sort(&did);
		e->seq = &e->action->roots.items[i].after;
		if (project_snapshot_after(e->set->c->store, &root->project, &o,
					   &after, &err) == 0) {
			*e->seq = root->after = after.seq;
			continue;
		}
		report_warning("done, but the state afterwards, which undo "
			       "needs, could not be stored; the next guard "
			       "command here tries again: %s",
			       err.text);
		return false;
	}
	return true;
}

static void show_execution_progress(void *arg, uint64_t done, uint64_t total)
{
	(void)arg;
	report_progress(done, total);
}

static struct transaction_root *make_transaction_roots(struct execution *e)
{
	struct transaction_root *to = mem_zalloc(e->count * sizeof(*to));
	size_t i;

	for (i = 0; i < e->count; i++) {
		struct changeset_root *root = e->roots[i];

		to[i] = (struct transaction_root){
			.project = &root->project,
			.plan = &root->plan,
			.before = root->now.root_path ? &root->now : NULL,
			.layer = root->layer,
		};
	}
	return to;
}

static int run_transaction_of(struct execution *e, const char *kind,
			      const char *run_id, struct err *err)
{
	auto_free struct transaction_root *roots = make_transaction_roots(e);
	const struct transaction what = {
		.action = kind,
		.run_id = run_id,
		.progress = show_execution_progress,
		.is_cancelled = context_signal_pending,
		.begin = e->action ? begin_action : NULL,
		.end = e->action ? end_action : NULL,
		.callback_arg = e,
	};
	int got;

	report_progress_start(kind);
	got = transaction_run(e->set->c->store, roots, e->count, &what, err);
	report_progress_end();
	return got;
}

int changeset_execute_unrecorded(struct changeset *set, const char *kind,
				 struct err *err)
{
	AUTO(execution) struct execution e = make_execution(set, NULL);

	return run_transaction_of(&e, kind, "", err);
}

int changeset_check(struct changeset *set, struct err *err)
{
	AUTO(execution) struct execution e = make_execution(set, NULL);
	auto_free struct transaction_root *roots = make_transaction_roots(&e);
	size_t i;

	for (i = 0; i < e.count; i++)
		roots[i].layer = NULL;
	return transaction_check(set->c->store, roots, e.count, err);
}

/*
 * Returns when every live run in the directory, or above or below it, has
 * stored its base. A change before that time would count as an edit of another
 * process and be a conflict for that run. A run whose record cannot be read is
 * skipped.
 */
static void wait_starting_runs(const struct context *c, const char *dir)
{
	AUTO(session_list) struct session_list list = {0};
	struct err ignored;
	size_t i, k;

	if (session_list(c->state.runs_fd, true, &list, &ignored) < 0)
		return;
	for (i = 0; i < list.count; i++) {
		struct session *s = &list.items[i];
		bool concerned = false;

		for (k = 0; k < s->root_count; k++)
			concerned |= path_below(s->roots[k].path, dir) ||
				     path_below(dir, s->roots[k].path);
		/* This process may hold the lock of a run that has ended. */
		if (s->live && concerned && resolve_run_is_running(s))
			(void)session_base(s, true, &ignored);
	}
}

void changeset_wait_starting_runs(const struct changeset *set)
{
	size_t i;

	for (i = 0; i < set->root_count; i++)
		if (!set->roots[i].excluded)
			wait_starting_runs(set->c, set->roots[i].project.path);
}

int changeset_execute(struct changeset *set, struct action *a, struct err *err)
{
	AUTO(execution) struct execution e = make_execution(set, a);
	int workspace = set->roots[0].project.workspace_fd;
	struct timestamp last;
	sigset_t signals;
	bool interrupted;
	size_t i;
	int got;

	if (changeset_times_set(set, strcmp(a->kind, "apply") == 0, &last,
				err) < 0)
		return -err->num;
	for (i = 0; i < e.count; i++) {
		const struct project *project = &e.roots[i]->project;
		const char *const *only = project->only;
		struct action_root *root = VEC_ADD(&a->roots);

		root->path = i ? mem_strdup(project->path) : NULL;
		for (; only && *only; only++)
			mem_list_add(&root->only, *only);
	}
	(void)signal(SIGPIPE, SIG_IGN);
	context_block_signals(&signals);
	got = run_transaction_of(&e, a->kind, a->run_id, err);
	/* Left behind only together with its journal. */
	if ((got < 0 || !a->roots.items[0].after) &&
	    !fd_exists(workspace, "journal"))
		action_drop_next(workspace);
	interrupted = context_restore_signals(&signals);
	if (got == 0 && interrupted)
		report_warning("interrupted too late: done");
	if (got == 0)
		changeset_times_wait(last);
	return got;
}
