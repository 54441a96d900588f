#include "restore/transaction.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/text.h"
#include "restore/txn.h"
#include "restore/workspace.h"

static bool has_journal(int workspace_fd)
{
	return faccessat(workspace_fd, JOURNAL_NAME, F_OK, 0) == 0;
}

bool transaction_pending(int workspaces_fd, const char *project_path)
{
	struct err ignored;
	auto_close int fd =
		workspace_open(workspaces_fd, project_path, false, &ignored);

	return fd >= 0 && has_journal(fd);
}

static struct moment begun(struct store *store, uint64_t before)
{
	AUTO(snapshot) struct snapshot s = {0};
	struct err ignored;

	if (!before || catalog_load(store, before, &s, &ignored) < 0)
		return (struct moment){0};
	return s.time;
}

/* Nothing of the project has changed yet: only the staging folder goes. */
static int give_up(struct txn *t, struct err *err)
{
	struct err more;

	if (txn_finish(t, false, &more) < 0)
		return err_context(err,
				   "nothing was done, and the next command of "
				   "guard cleans up (%s)",
				   more.text);
	return -err->num;
}

/* Back to how it was; the journal says so first, should we be ended. */
static int undo(struct txn *t, struct err *err)
{
	int workspace = t->project->workspace_fd;
	struct err more;

	/* That it cannot be said is no reason not to do it: recovery would
	 * try once more to go forward, and then come here as well. */
	(void)journal_set_state(workspace, &t->journal, JOURNAL_BACK, &more);
	if (txn_back(t, &more) < 0 ||
	    journal_set_state(workspace, &t->journal, JOURNAL_STAGING, &more) <
		    0)
		return err_context(err,
				   "it could not be taken back (%s): the next "
				   "command of guard finishes it",
				   more.text);
	(void)give_up(t, err);
	if (t->kept.len)
		return err_context(err, "%s", buf_text(&t->kept));
	return -err->num;
}

/*
 * All is in its place and synced. From the moment that this may be on disk
 * there is no way back unless the disk says so again.
 */
static int conclude(struct txn *t, struct err *err)
{
	int workspace = t->project->workspace_fd;
	struct err ignored;

	if (journal_set_state(workspace, &t->journal, JOURNAL_DONE, err) < 0) {
		if (journal_set_state(workspace, &t->journal, JOURNAL_BACK,
				      &ignored) == 0)
			return undo(t, err);
		return err_context(err, "it is done, but cannot be noted: the "
					"next command of guard finishes it");
	}
	/* What is left over is removed by the next command. */
	(void)txn_finish(t, true, &ignored);
	return 0;
}

static int carry_out(struct txn *t, const struct plan *plan, struct err *err)
{
	int workspace = t->project->workspace_fd;
	struct err ignored;

	if (txn_survey(t, plan, err) < 0)
		return -err->num;
	t->journal.state = JOURNAL_STAGING;
	if (journal_write(workspace, &t->journal, err) < 0 ||
	    txn_stage(t, err) < 0)
		return give_up(t, err);
	t->journal.state = JOURNAL_PREPARED;
	if (journal_write(workspace, &t->journal, err) < 0) {
		/* It may be there all the same. */
		(void)journal_set_state(workspace, &t->journal, JOURNAL_STAGING,
					&ignored);
		return give_up(t, err);
	}
	if (txn_put(t, err) < 0)
		return undo(t, err);
	return conclude(t, err);
}

int transaction_run(struct store *store, struct project *p,
		    const struct plan *plan, const struct transaction *what,
		    struct err *err)
{
	AUTO(txn)
	struct txn t = {
		.store = store,
		.project = p,
		.staging_fd = -1,
		.since = begun(store, what->before),
		.journal = {.action = mem_strdup(what->action),
			    .run_id = mem_strdup(what->run_id),
			    .before = what->before},
	};

	if (plan->conflict_count)
		return fail(err, EINVAL, "a plan with conflicts");
	if (has_journal(p->workspace_fd))
		return fail(err, EBUSY,
			    "an interrupted action on %s must be finished "
			    "first",
			    text_quote(p->path));
	if (!plan->step_count)
		return 0;
	return carry_out(&t, plan, err);
}

/* --- after an end in the middle --- */

static char *told(const struct txn *t, const char *how)
{
	struct buf b = {0};

	buf_printf(&b, "an interrupted %s of %s was %s",
		   *t->journal.action ? t->journal.action : "action",
		   text_quote(t->project->path), how);
	if (t->kept.len) {
		buf_add_text(&b, "\n");
		buf_add(&b, t->kept.data, t->kept.len - 1);
	}
	return buf_take_text(&b);
}

/*
 * What is to be finished lies in the staging folder. Without it there is
 * nothing to go by: the project's folder is another one now.
 */
static int orphaned(struct txn *t, char **ret_text, struct err *err)
{
	int workspace = t->project->workspace_fd;

	if (renameat(workspace, JOURNAL_NAME, workspace,
		     JOURNAL_NAME ".orphan") < 0)
		return fail_errno(err, "set the journal aside");
	*ret_text = mem_printf(
		"an interrupted %s of %s cannot be finished: %s is gone, the "
		"folder was moved or replaced; it was left as it is",
		t->journal.action, text_quote(t->project->path),
		text_quote(t->journal.staging));
	return 2;
}

static int recover_back(struct txn *t, char **ret_text, struct err *err)
{
	int workspace = t->project->workspace_fd;

	if (t->journal.state == JOURNAL_PREPARED &&
	    journal_set_state(workspace, &t->journal, JOURNAL_BACK, err) < 0)
		return -err->num;
	if (t->journal.state == JOURNAL_BACK &&
	    (txn_back(t, err) < 0 ||
	     journal_set_state(workspace, &t->journal, JOURNAL_STAGING, err) <
		     0))
		return err_context(err, "take back an interrupted %s",
				   t->journal.action);
	if (txn_finish(t, false, err) < 0)
		return -err->num;
	*ret_text = told(t, "taken back: everything is as before");
	return 2;
}

static int recover_done(struct txn *t, char **ret_text, struct err *err)
{
	struct err more;

	if (txn_finish(t, true, &more) < 0) {
		/* It shall not stand in the way for ever. */
		if (journal_remove(t->project->workspace_fd, err) < 0)
			return -err->num;
		buf_printf(&t->kept, "%s\n", more.text);
	}
	*ret_text = told(t, "finished");
	return 1;
}

static int recover_forward(struct txn *t, char **ret_text, struct err *err)
{
	struct err why;

	if (txn_put(t, &why) < 0) {
		buf_printf(&t->kept, "%s\n", why.text);
		return recover_back(t, ret_text, err);
	}
	if (journal_set_state(t->project->workspace_fd, &t->journal,
			      JOURNAL_DONE, err) < 0)
		return -err->num;
	return recover_done(t, ret_text, err);
}

int transaction_recover(struct store *store, struct project *p, char **ret_text,
			struct err *err)
{
	AUTO(txn)
	struct txn t = {.store = store, .project = p, .staging_fd = -1};
	int got = journal_load(p->workspace_fd, &t.journal, err);

	*ret_text = NULL;
	if (got == -ENOENT)
		return 0;
	if (got < 0)
		return err_context(err, "finish what was interrupted in %s",
				   text_quote(p->path));
	t.since = begun(store, t.journal.before);
	if (t.journal.state == JOURNAL_DONE)
		return recover_done(&t, ret_text, err);
	if (t.journal.state == JOURNAL_STAGING)
		return recover_back(&t, ret_text, err);
	got = txn_open_staging(&t, err);
	if (got == -ENOENT)
		return orphaned(&t, ret_text, err);
	if (got < 0)
		return got;
	return t.journal.state == JOURNAL_BACK
		       ? recover_back(&t, ret_text, err)
		       : recover_forward(&t, ret_text, err);
}
