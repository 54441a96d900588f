#include "restore/transaction.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/text.h"
#include "restore/txn.h"

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
	t.since = txn_begun(store, t.journal.before);
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
