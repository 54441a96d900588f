#include "restore/transaction.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/text.h"
#include "restore/transaction_private.h"
#include "restore/workspace.h"
#include "snapshot/walk/take.h"

/* A recovery in progress. */
struct recovery {
	struct txn_all all;
	struct project *others; /* one per root; path NULL: none */
	bool rollback_only; /* do not finish */
	bool lost; /* a root is not available now */
	bool was_orphaned; /* the journal was set aside before */
	struct buf more; /* lines for people */
};

static void recovery_free(struct recovery *r)
{
	size_t i;

	for (i = 0; r->others && i < r->all.count; i++)
		project_close(&r->others[i]);
	free(r->others);
	txn_all_free(&r->all);
	buf_free(&r->more);
}

static char *describe_recovery(const struct recovery *r, const char *how)
{
	const char *action = r->all.journal.action;
	AUTO(buf) struct buf more = {0};
	struct buf b = {0};

	buf_printf(&b, "an interrupted %s of %s was %s",
		   *action ? action : "action", text_quote(r->all.first->path),
		   how);
	txn_all_displaced(&r->all, &more);
	buf_add(&more, r->more.data, r->more.len);
	if (more.len) {
		buf_add_text(&b, "\n");
		buf_add(&b, more.data, more.len - 1);
	}
	return buf_take_text(&b);
}

/* Marks a root as lost. Without its staging directory the state of its
 * operations is unknown: the path belongs to another directory now. */
static void mark_root_lost(struct recovery *r, struct txn *t, const char *path)
{
	r->lost = true;
	t->project = NULL;
	/* The message was printed before, or the root is rolled back
	 * already. */
	if (r->was_orphaned)
		return;
	buf_printf(&r->more,
		   "%s: %s is missing: the directory was moved or replaced, or "
		   "its disk unmounted; unchanged now, rolled back when it is "
		   "present again\n",
		   text_quote(path), text_quote(t->part->staging));
}

/* Sets the journal aside with the roots that cannot be ended. */
static int set_journal_aside(struct recovery *r, char **ret_text,
			     struct err *err)
{
	int workspace = r->all.first->workspace_fd;
	size_t i;

	for (i = 0; i < r->all.count; i++) {
		struct txn *t = &r->all.roots[i];

		if (t->project && txn_finish(t, false, err) < 0)
			return -err->num;
		if (t->project && t->project != r->all.first)
			journal_join_drop(t->project->workspace_fd);
	}
	if (journal_orphan_set(workspace, err) < 0)
		return -err->num;
	*ret_text = describe_recovery(
		r, r->was_orphaned ? "rolled back: its disk had been missing"
				   : "not finished");
	return 2;
}

/* Names the displaced files: the next attempt does not find them again. */
static int fail_rollback(struct recovery *r, char **ret_text, struct err *err)
{
	AUTO(buf) struct buf displaced = {0};

	txn_all_displaced(&r->all, &displaced);
	if (displaced.len)
		*ret_text = describe_recovery(r, "not yet rolled back");
	return err_context(err, "roll back an interrupted %s",
			   r->all.journal.action);
}

static int recover_by_rollback(struct recovery *r, char **ret_text,
			       struct err *err)
{
	int workspace = r->all.first->workspace_fd;
	struct journal *j = &r->all.journal;

	if (j->state == JOURNAL_PREPARED &&
	    journal_set_state(workspace, j, JOURNAL_ROLLBACK, err) < 0)
		return -err->num;
	if (j->state == JOURNAL_ROLLBACK && txn_all_rollback(&r->all, err) < 0)
		return fail_rollback(r, ret_text, err);
	if (r->lost && j->state == JOURNAL_ROLLBACK)
		return set_journal_aside(r, ret_text, err);
	if (j->state == JOURNAL_ROLLBACK &&
	    journal_set_state(workspace, j, JOURNAL_STAGING, err) < 0)
		return fail_rollback(r, ret_text, err);
	if (txn_all_finish(&r->all, false, err) < 0)
		return -err->num;
	*ret_text =
		describe_recovery(r, "rolled back: everything is as before");
	return 2;
}

/* now: this recovery has finished the transaction. */
static int recover_done(struct recovery *r, bool now, char **ret_text)
{
	struct project *first = r->all.first;
	struct err more;
	size_t i, k;

	for (i = 0; i < r->all.count; i++)
		if (r->all.roots[i].project)
			txn_add_ingest_hints(&r->all.roots[i]);
	/* The caller records the operations before the journal is removed. */
	for (i = 0; i < r->all.count; i++) {
		const struct journal_root *part = r->all.roots[i].part;
		struct applied_ops *did = VEC_ADD(&first->recovered);

		did->root_path =
			mem_strdup(*part->path ? part->path : first->path);
		did->own = true;
		for (k = 0; k < part->ops.count; k++)
			applied_ops_add(did, part->ops.items[k].path,
					part->ops.items[k].to);
		applied_ops_sort(did);
	}
	/* Tried again in case a single call failed. */
	if (txn_all_remove_staging(&r->all, true, &more) < 0 &&
	    txn_all_remove_staging(&r->all, true, &more) < 0) {
		/* A staging directory that cannot be removed is left to the
		 * next command, which tries once more. The journal must not
		 * block the project forever, except on a read-only file system,
		 * where the user cannot remove the directory either. */
		r->all.first->left = now || more.num == EROFS;
		buf_printf(&r->more, "%s; it is no longer needed: %s\n",
			   more.text,
			   r->all.first->left
				   ? "the next guard command here tries again"
				   : "remove it by hand");
	}
	*ret_text = describe_recovery(r, "finished");
	return 1;
}

static int recover_forward(struct recovery *r, char **ret_text, struct err *err)
{
	struct err why;
	size_t i;

	for (i = 0; i < r->all.count; i++) {
		if (txn_forward(&r->all.roots[i], &why) == 0)
			continue;
		buf_printf(&r->more, "%s\n", why.text);
		return recover_by_rollback(r, ret_text, err);
	}
	if (journal_set_state(r->all.first->workspace_fd, &r->all.journal,
			      JOURNAL_DONE, err) < 0)
		return -err->num;
	return recover_done(r, true, ret_text);
}

/* Opens the root's directory; only a missing one is marked as lost. */
static int open_recovered_root(struct recovery *r, size_t i, int workspaces_fd,
			       struct err *err)
{
	struct txn *t = &r->all.roots[i];
	const char *path = t->part->path;
	AUTO(snapshot) struct snapshot s = {0};
	struct err ignored;
	int got;

	if (!*path || strcmp(path, r->all.first->path) == 0) {
		t->project = r->all.first;
	} else {
		got = project_open_beside(r->all.first, path, workspaces_fd,
					  &r->others[i], err);
		if (got == -ENOENT || got == -ENOTDIR || got == -ELOOP) {
			mark_root_lost(r, t, path);
			return 0;
		}
		if (got < 0)
			return got;
		t->project = &r->others[i];
	}
	if (t->part->before &&
	    catalog_load(r->all.store, t->part->before, &s, &ignored) == 0)
		t->unmodified_since =
			take_unmodified_before(t->project->fd, s.time);
	if (r->all.journal.state == JOURNAL_DONE ||
	    r->all.journal.state == JOURNAL_STAGING)
		return 0;
	got = txn_open_staging(t, err);
	if (got != -ENOENT)
		return got;
	mark_root_lost(r, t, t->project->path);
	return 0;
}

int transaction_recover(struct store *store, struct project *p,
			int workspaces_fd, bool roll_back, char **ret_text,
			struct err *err)
{
	AUTO(recovery)
	struct recovery r = {
		.all = {.store = store, .first = p},
		.rollback_only = roll_back,
	};
	int got = journal_orphan_adopt(p->workspace_fd, p->path, err);
	size_t i;

	*ret_text = NULL;
	if (got < 0)
		return got;
	r.was_orphaned = got > 0;
	got = journal_load(p->workspace_fd, &r.all.journal, err);
	if (got == -ENOENT)
		return 0;
	if (got < 0)
		return err_context(err, "finish the interrupted action in %s",
				   text_quote(p->path));
	txn_all_make_roots(&r.all);
	r.others = mem_zalloc((r.all.count + 1) * sizeof(*r.others));
	for (i = 0; i < r.all.count; i++)
		if (open_recovered_root(&r, i, workspaces_fd, err) < 0)
			return -err->num;
	if (r.all.journal.state == JOURNAL_DONE)
		return recover_done(&r, false, ret_text);
	if (r.all.journal.state == JOURNAL_PREPARED && !r.lost &&
	    !r.rollback_only)
		return recover_forward(&r, ret_text, err);
	return recover_by_rollback(&r, ret_text, err);
}

int transaction_close(struct project *p, int workspaces_fd, struct err *err)
{
	size_t i;

	if (p->left)
		return 0;
	if (journal_remove(p->workspace_fd, err) < 0)
		return -err->num;
	for (i = 0; i < p->recovered.count; i++) {
		const char *path = p->recovered.items[i].root_path;
		struct err ignored;
		auto_close int fd = -1;

		if (strcmp(path, p->path) == 0)
			continue;
		fd = workspace_open(workspaces_fd, path, false, &ignored);
		if (fd >= 0)
			journal_join_drop(fd);
	}
	return 0;
}
