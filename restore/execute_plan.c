#include "restore/transaction.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/parallel_for.h"
#include "base/fd.h"
#include "base/text.h"
#include "restore/move_from_upper.h"
#include "restore/transaction_private.h"
#include "restore/workspace.h"
#include "snapshot/walk/take.h"
#include "snapshot/store/ring.h"

static bool has_journal(int workspace_fd)
{
	return fd_exists(workspace_fd, JOURNAL_NAME);
}

bool transaction_pending(int workspaces_fd, const char *project_path)
{
	struct err ignored;
	auto_close int fd =
		workspace_open(workspaces_fd, project_path, false, &ignored);

	/* Without descriptors the journal may exist: recovery reports the
	 * reason. */
	if (fd < 0)
		return err_is_exhaustion(-fd);
	return has_journal(fd) || journal_orphan_is_available(fd, project_path);
}

char *transaction_title(int workspaces_fd, const char *project_path,
			enum transaction_stage *ret)
{
	AUTO(journal) struct journal j = {0};
	struct err ignored;
	auto_close int fd =
		workspace_open(workspaces_fd, project_path, false, &ignored);

	if (fd < 0 || (journal_load(fd, &j, &ignored) < 0 &&
		       journal_load_from(fd, JOURNAL_ORPHAN, &j, &ignored) < 0))
		return NULL;
	*ret = j.state == JOURNAL_ROLLBACK ? TRANSACTION_ROLLBACK
	       : j.state == JOURNAL_DONE   ? TRANSACTION_DONE
					   : TRANSACTION_INTERRUPTED;
	return *j.run_id ? mem_printf("%s of run %s", j.action, j.run_id)
			 : mem_strdup(j.action);
}

char *transaction_first(int workspaces_fd, const char *project_path)
{
	struct err ignored;
	auto_close int fd =
		workspace_open(workspaces_fd, project_path, false, &ignored);
	auto_free char *first = fd < 0 ? NULL : journal_join_first(fd);
	auto_close int at = -1;

	if (!first)
		return NULL;
	if (transaction_pending(workspaces_fd, first))
		return TAKE(first);
	at = workspace_open(workspaces_fd, first, false, &ignored);
	if (at < 0 || !journal_orphan_exists(at))
		journal_join_drop(fd);
	return NULL;
}

/* Ends a transaction in which no root has changed: removes the staging
 * directories. */
static int abandon_staging(struct txn_all *all, struct err *err)
{
	struct err more;

	if (txn_all_finish(all, false, &more) < 0)
		return err_context(err,
				   "nothing was changed; the next guard "
				   "command cleans up (%s)",
				   more.text);
	return -err->num;
}

/* Rolls all roots back. The journal announces it first, in case guard is
 * killed. */
static int rollback_all_roots(struct txn_all *all, struct err *err)
{
	int workspace = all->first->workspace_fd;
	AUTO(buf) struct buf displaced = {0};
	struct err more;

	/* A failure here does not prevent the rollback: recovery would try to
	 * go forward once more and then roll back as well. */
	(void)journal_set_state(workspace, &all->journal, JOURNAL_ROLLBACK,
				&more);
	if (txn_all_rollback(all, &more) < 0 ||
	    journal_set_state(workspace, &all->journal, JOURNAL_STAGING,
			      &more) < 0)
		(void)err_context(err,
				  "the rollback failed (%s): the next guard "
				  "command finishes it",
				  more.text);
	else
		(void)abandon_staging(all, err);
	txn_all_displaced(all, &displaced);
	if (displaced.len)
		return err_context(err, "%s", buf_text(&displaced));
	return -err->num;
}

/* State shared by the two parts of the end, which run in parallel. */
struct end_state {
	struct txn_all *all;
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	bool seen; /* the callback has inspected the projects */
	bool recorded; /* the callback has recorded their new state */
	int cleared; /* 0, or the result of txn_all_remove_staging() */
};

static void set_seen(void *arg)
{
	struct end_state *e = arg;

	(void)pthread_mutex_lock(&e->mutex);
	e->seen = true;
	(void)pthread_cond_signal(&e->changed);
	(void)pthread_mutex_unlock(&e->mutex);
}

/* With one thread the parts run in this order: the second waits for the
 * first. */
enum { PART_REPORT, PART_CLEAR, PART_COUNT };

static int run_end_part(void *arg, size_t part, struct err *err)
{
	struct end_state *e = arg;
	const struct transaction *what = e->all->roots[0].what;
	struct err ignored;
	size_t i;

	(void)err;
	if (part == PART_REPORT) {
		if (what->end)
			e->recorded =
				what->end(what->callback_arg, set_seen, e);
		set_seen(e);
		return 0;
	}
	for (i = 0; i < e->all->count; i++)
		txn_empty_staging(&e->all->roots[i]);
	(void)pthread_mutex_lock(&e->mutex);
	while (!e->seen)
		(void)pthread_cond_wait(&e->changed, &e->mutex);
	(void)pthread_mutex_unlock(&e->mutex);
	e->cleared = txn_all_remove_staging(e->all, true, &ignored);
	return 0;
}

/* The end callback of struct transaction inspects the projects while displaced
 * files are removed. Removing the staging directory changes the root's mtime,
 * so it waits for the end of the inspection. */
static void end_transaction(struct txn_all *all)
{
	struct end_state e = {.all = all, .recorded = true};
	size_t count = 0, i;
	bool any_unreadable = false;
	struct err ignored;

	for (i = 0; i < all->count; i++) {
		struct txn *t = &all->roots[i];

		txn_add_ingest_hints(t);
		(void)txn_set_root_time(t, true, &ignored);
		t->project->staging = true;
		count += t->part->ops.count;
		any_unreadable |= t->project->unreadable_dirs != NULL;
		txn_drop_ops(t);
	}
	(void)pthread_mutex_init(&e.mutex, NULL);
	(void)pthread_cond_init(&e.changed, NULL);
	/* A single thread when directories are made readable for a moment:
	 * their record is one file. */
	(void)parallel_for(PART_COUNT,
			   any_unreadable || count < TXN_THREADS_MIN,
			   run_end_part, &e, &ignored);
	(void)pthread_cond_destroy(&e.changed);
	(void)pthread_mutex_destroy(&e.mutex);
	for (i = 0; i < all->count; i++)
		all->roots[i].project->staging = false;
	/* Leftovers are removed by the next command. When the outcome is not
	 * recorded, only the journal tells the changes of the action from later
	 * changes of the user. */
	if (e.cleared == 0 && e.recorded)
		(void)txn_all_close(all, &ignored);
}

/* Writes the join records of the other workspaces before the journal exists. */
static int write_join_records(struct txn_all *all, struct err *err)
{
	size_t i;

	for (i = 0; i < all->count; i++) {
		const struct project *p = all->roots[i].project;

		if (p != all->first &&
		    journal_join_write(p->workspace_fd, all->first->path, err) <
			    0)
			return err_context(err, "%s", text_quote(p->path));
	}
	return 0;
}

static int add_journal_to_set(void *journal, struct atomic_set *set,
			      struct err *err)
{
	struct txn_all *all = journal;
	size_t i;

	for (i = 0; i < all->count; i++)
		if (all->roots[i].before)
			all->roots[i].part->before = all->roots[i].before->seq;
	return journal_add_to_set(all->first->workspace_fd, &all->journal, set,
				  err);
}

static int write_journal(struct txn_all *all, struct err *err)
{
	const struct transaction *what = all->roots[0].what;
	AUTO(atomic_set) struct atomic_set set = {0};

	all->journal.state = JOURNAL_STAGING;
	if (what->begin)
		return what->begin(what->callback_arg, add_journal_to_set, all,
				   err);
	if (add_journal_to_set(all, &set, err) < 0 ||
	    atomic_set_publish(&set, ring_sync_files, err) < 0)
		return err_context(err, "journal");
	return 0;
}

/* Writes the inode numbers of the staged files into the journal, which is
 * synced together with the last of these files. */
static int write_staged_table(struct txn_all *all, struct syncs *to,
			      struct err *err)
{
	const struct txn *t = &all->roots[all->count - 1];
	int workspace = all->first->workspace_fd;
	struct stat a, b;

	if (journal_write_table(workspace, &all->journal, err) < 0)
		return -err->num;
	if (fstat(workspace, &a) < 0 || fstat(t->staging_fd, &b) < 0 ||
	    a.st_dev != b.st_dev)
		return journal_sync(workspace, err);
	syncs_add(to, workspace, JOURNAL_NAME);
	return 0;
}

static int stage_all_roots(struct txn_all *all, struct err *err)
{
	size_t i;

	for (i = 0; i < all->count; i++) {
		AUTO(syncs) struct syncs syncs = SYNCS_NONE;
		struct txn *t = &all->roots[i];

		if (txn_stage(t, &syncs, err) < 0 ||
		    (i + 1 == all->count &&
		     write_staged_table(all, &syncs, err) < 0))
			return -err->num;
		if (syncs_run(&syncs, t->staging_fd, err) < 0)
			return err_context(err, "remove staged files");
	}
	return 0;
}

static int execute_steps(struct txn_all *all, struct err *err)
{
	int workspace = all->first->workspace_fd;
	struct err ignored;
	size_t i;

	if (write_join_records(all, err) < 0 || write_journal(all, err) < 0 ||
	    stage_all_roots(all, err) < 0)
		return abandon_staging(all, err);
	if (journal_set_state(workspace, &all->journal, JOURNAL_PREPARED, err) <
	    0) {
		/* The state may be on disk all the same. */
		(void)journal_set_state(workspace, &all->journal,
					JOURNAL_STAGING, &ignored);
		return abandon_staging(all, err);
	}
	for (i = 0; i < all->count; i++)
		if (txn_forward(&all->roots[i], err) < 0)
			return rollback_all_roots(all, err);
	/* All steps are done and durable. Once "done" may be on disk, a
	 * rollback is possible only after the journal says "back" again. */
	if (journal_set_state(workspace, &all->journal, JOURNAL_DONE, err) <
	    0) {
		if (journal_set_state(workspace, &all->journal,
				      JOURNAL_ROLLBACK, &ignored) == 0)
			return rollback_all_roots(all, err);
		return err_context(err,
				   "done, but the record could not be written: "
				   "the next guard command finishes it");
	}
	end_transaction(all);
	return 0;
}

/* Creates a struct txn for each root with a non-empty plan. */
static int preflight_all_roots(struct txn_all *all,
			       const struct transaction_root *roots,
			       size_t count, struct err *err)
{
	size_t i, n = 0;

	for (i = 0; i < count; i++) {
		int workspace = roots[i].project->workspace_fd;
		auto_free char *joined = journal_join_first(workspace);

		if (roots[i].plan->conflicts.count)
			return fail(err, EINVAL, "the plan has conflicts");
		if (has_journal(workspace) || joined)
			return fail(
				err, EBUSY,
				"an interrupted action on %s must be finished "
				"first: run guard apply --continue or --abort",
				text_quote(roots[i].project->path));
	}
	for (i = 0; i < count; i++)
		if (roots[i].plan->steps.count)
			(void)journal_add_root(&all->journal,
					       roots[i].project->path);
	txn_all_make_roots(all);
	for (i = 0; i < count; i++) {
		struct txn *t = &all->roots[n];

		if (!roots[i].plan->steps.count)
			continue;
		t->project = roots[i].project;
		t->before = roots[i].before;
		if (t->before)
			t->unmodified_since = take_unmodified_before(
				t->project->fd, t->before->time);
		t->from = roots[i].layer;
		if (txn_preflight(t, roots[i].plan, err) < 0 ||
		    txn_check_permissions(t, err) < 0)
			return -err->num;
		move_from_upper_match(t);
		n++;
	}
	return 0;
}

int transaction_check(struct store *store, const struct transaction_root *roots,
		      size_t count, struct err *err)
{
	AUTO(txn_all)
	struct txn_all all = {.store = store, .first = roots[0].project};
	size_t i;

	if (preflight_all_roots(&all, roots, count, err) < 0)
		return -err->num;
	for (i = 0; i < all.count; i++)
		if (txn_check_writers(&all.roots[i], err) < 0)
			return -err->num;
	return 0;
}

int transaction_run(struct store *store, const struct transaction_root *roots,
		    size_t count, const struct transaction *what,
		    struct err *err)
{
	AUTO(txn_all)
	struct txn_all all = {
		.store = store,
		.first = roots[0].project,
		.journal = {.action = mem_strdup(what->action),
			    .run_id = mem_strdup(what->run_id)},
	};
	size_t i;

	if (preflight_all_roots(&all, roots, count, err) < 0)
		return -err->num;
	for (i = 0; i < all.count; i++)
		all.roots[i].what = what;
	if (all.count)
		return execute_steps(&all, err);
	if (what->begin && what->begin(what->callback_arg, NULL, NULL, err) < 0)
		return -err->num;
	if (what->end)
		(void)what->end(what->callback_arg, NULL, NULL);
	return 0;
}
