#include "restore/transaction.h"

#include <errno.h>
#include <fcntl.h>
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

struct moment txn_begun(struct store *store, uint64_t before)
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
		.since = txn_begun(store, what->before),
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
