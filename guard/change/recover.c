#include "guard/change/recover.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/text.h"
#include "guard/change/action.h"
#include "guard/change/applied_base.h"
#include "guard/change/changes.h"
#include "guard/change/partial_discard.h"
#include "guard/change/moved_dirs.h"
#include "guard/state/report.h"
#include "overlay/session_base.h"
#include "restore/unreadable_dirs.h"
#include "restore/transaction.h"
#include "restore/workspace.h"

int recover_set_run_state(struct context *c, struct session *s, bool complete,
			  struct err *err)
{
	AUTO(changes) struct changes changes = CHANGES_NONE;
	struct change_counts counts;
	struct err ignored;

	/* Its own process writes the record, and it may change more. */
	if (s->live)
		return 0;
	if (!complete) {
		/* The action has just moved the base. */
		(void)session_base(s, false, &ignored);
		if (changes_load_own(c, s, &changes, err) < 0)
			return -err->num;
		changes_count_all(&changes, &counts);
		complete = counts.total == counts.git &&
			   !changes_count_home(&changes);
	}
	return session_set_state(s, complete ? RUN_APPLIED : RUN_ENDED, err);
}

/* When the disk is too full for the complete layer, the next apply restores
 * it. */
static int restore_run_upper(struct context *c, struct session *s)
{
	struct err err;
	int got = moved_dirs_restore(s, c->store, &err);

	if (got < 0)
		report_warning("%s", err.text);
	return got;
}

int recover_set_undone_state(struct context *c, struct session *s,
			     const struct action *a, bool complete,
			     struct err *err)
{
	struct err ignored;

	if (!a->undone)
		return recover_set_run_state(c, s, complete, err);
	/* Without stored results the layer alone has the changes. */
	(void)session_base(s, false, &ignored);
	if (!session_is_stored(s))
		(void)restore_run_upper(c, s);
	return session_set_state(s, RUN_ENDED, err);
}

/* Sets the state of the interrupted action's run: applied or pending. Returns
 * false when the state could not be saved. A live run sets its own state. */
static bool finalize_run_state(struct context *c, const struct action *a,
			       bool done)
{
	struct session s = SESSION_NONE;
	AUTO(snapshot) struct snapshot before = {0};
	struct err err, ignored;
	bool complete;
	int got;

	if (!a->run_id[0])
		return true;
	got = session_open(c->state.runs_fd, a->run_id, true, &s, &err);
	if (got == -ENOENT || got == -EBUSY)
		return true;
	/* Later changes of a run that was continued after the action are no
	 * part of the action. */
	complete = a->complete && got == 0 &&
		   (catalog_load(c->store, action_before(a), &before,
				 &ignored) < 0 ||
		    timestamp_compare(s.ended, before.time) <= 0);
	if (got == 0 && strcmp(a->kind, "apply") == 0)
		got = !done && restore_run_upper(c, &s) < 0
			      ? session_set_state(&s, RUN_ENDED, &err)
			      : recover_set_run_state(c, &s, done && complete,
						      &err);
	else if (got == 0 && done && strcmp(a->kind, "undo") == 0)
		got = recover_set_undone_state(c, &s, a, complete, &err);
	if (got < 0)
		report_warning("%s", err.text);
	session_free(&s);
	return got == 0;
}

/* Lists directories and files that are unreadable now and were read before the
 * action: the directories are opened by a temporary chmod, the files are found
 * by their hints. Returns the number of new ones. */
static int list_unread(struct context *c, struct project *p,
		       const struct snapshot *old, const struct snapshot *now,
		       char ***seen, struct err *err)
{
	int count = 0;
	size_t i;

	for (i = 0; i < now->note_count; i++) {
		const char *path = now->notes[i].path;
		AUTO(entry) struct entry is = {0};
		AUTO(entry) struct entry was = {0};

		if (!mem_list_add_once(seen, path))
			continue;
		if (tree_lookup(c->store, &now->root, path, &is, err) < 0 ||
		    tree_lookup(c->store, &old->root, path, &was, err) < 0)
			return -err->num;
		if (was.flags & ENTRY_INCOMPLETE)
			continue;
		count++;
		if (unreadable_dirs_match(is.mode))
			mem_list_add(&p->unreadable_dirs, path);
		else if (S_ISREG(was.mode) &&
			 project_add_hint(p, path, &was, (struct timestamp){0},
					  err) < 0)
			return -err->num;
	}
	ingest_hint_sort(p->hints.items, p->hints.count);
	return count;
}

/* Takes a snapshot of the current directory. The loop repeats, because an
 * opened directory may contain further unreadable ones. */
static int snapshot_after_action(struct context *c, struct project *p,
				 const struct action *a,
				 const struct snapshot *old,
				 struct snapshot *ret, struct err *err)
{
	auto_free char *reason = mem_printf("post-%s", a->kind);
	AUTO(snapshot) struct snapshot now = {0};
	AUTO(mem_list) char **seen = NULL;
	int more;

	do {
		snapshot_free(&now);
		if (project_inspect(c->store, p, reason, a->run_id, &now, err) <
		    0)
			return -err->num;
		more = list_unread(c, p, old, &now, &seen, err);
	} while (more > 0);
	if (more < 0)
		return more;
	*ret = TAKE(now);
	return 0;
}

/* Returns 1 when the last action is this one and its snapshots exist. *ret_last
 * ignores the snapshots. */
static int is_recorded_action(struct context *c, struct project *p,
			      const struct action *a, bool *ret_last,
			      struct err *err)
{
	AUTO(action) struct action last = {0};
	size_t i;
	int got = a->undone ? action_load_undone(p->workspace_fd, 0, &last, err)
			    : action_load_effective(p->workspace_fd, 0, &last,
						    err);

	*ret_last = got == 0 && action_same(&last, a);
	if (got < 0 && got != -ENOENT)
		return got;
	got = *ret_last;
	for (i = 0; got > 0 && i < last.roots.count; i++) {
		const struct action_root *root = &last.roots.items[i];
		AUTO(snapshot) struct snapshot s = {0};

		got = catalog_load(c->store, root->after, &s, err);
		/* Record and snapshot become durable together: after a power
		 * cut one of them may be missing, and another snapshot may have
		 * the number. */
		if (got == -ENOENT || got == -EBADMSG)
			return 0;
		if (got == 0)
			got = strcmp(s.root_path, i ? root->path : p->path) ==
				      0 &&
			      strcmp(s.run_id, a->run_id) == 0;
	}
	return got;
}

/* Takes the snapshots of the roots after the action, without changes of other
 * processes. A root that no longer exists gets none; undo reports that. */
static int finalize_roots(struct context *c, struct project *first,
			  struct action *a, struct err *err)
{
	size_t i, k;

	for (i = 0; i < a->roots.count; i++) {
		struct project p = PROJECT_NONE;
		struct action_root *root = &a->roots.items[i];
		AUTO(snapshot) struct snapshot old = {0}, now = {0};
		const struct applied_ops *did = NULL;
		struct project *at = i ? &p : first;
		const char *path = i ? root->path : first->path;
		int got =
			i ? project_open_beside(first, path,
						c->state.workspaces_fd, &p, err)
			  : 0;

		if (got == -ENOENT || got == -ENOTDIR)
			continue;
		/* Without operations the journal no longer existed. */
		for (k = 0; k < first->recovered.count && !did; k++)
			if (strcmp(first->recovered.items[k].root_path, path) ==
			    0)
				did = &first->recovered.items[k];
		at->only = (const char *const *)root->only;
		if (got == 0 &&
		    (catalog_load(c->store, root->before, &old, err) < 0 ||
		     snapshot_after_action(c, at, a, &old, &now, err) < 0 ||
		     (did && applied_ops_isolate(did, c->store, &old.root, &now,
						 err) < 0) ||
		     catalog_add(c->store, &now, err) < 0))
			got = -err->num;
		if (got == 0)
			root->after = now.seq;
		project_close(&p);
		if (got < 0)
			return got;
	}
	return 0;
}

/*
 * Ends the transaction, then finalizes the announced action. The action is
 * done when the journal says so, or when it is already the last action,
 * because the record outlives the journal. Any other action never began or
 * was rolled back; differences of the files are then edits of the user. The
 * announcement stays when the state of the run could not be saved.
 */
static int recover_locked(struct context *c, struct project *p, struct err *err)
{
	AUTO(session) struct session run = SESSION_NONE;
	AUTO(action) struct action a = {0};
	auto_free char *text = NULL;
	int recovered, got, recorded, finalized = 0;
	bool last, done, put;

	recovered = transaction_recover(c->store, p, c->state.workspaces_fd,
					c->roll_back, &text, err);
	if (text || recovered > 0)
		report_warning("%s", text ? text : "an interrupted action");
	if (recovered < 0)
		return err_context(err, "finish the interrupted action in %s",
				   text_quote(p->path));
	got = action_load_next(p->workspace_fd, &a, err);
	if (got < 0 && got != -ENOENT)
		return got;
	if (got == 0) {
		recorded = is_recorded_action(c, p, &a, &last, err);
		if (recorded < 0)
			return recorded;
		done = last || recovered == 1;
		if (done && !recorded && finalize_roots(c, p, &a, err) < 0)
			return -err->num;
		put = !done ||
		      applied_base_put(&c->state, &a, &run, NULL, err) == 0;
		if (!put)
			report_warning("run %s: %s", a.run_id, err->text);
		session_free(&run);
		finalized = finalize_run_state(c, &a, done) && put;
		if (done && !recorded) {
			state_log(&c->state, a.kind, "run", a.run_id, "project",
				  p->path, "note", "finished after a crash",
				  NULL);
			if (action_record(p->workspace_fd, &a, NULL, err) < 0)
				return -err->num;
		}
	}
	if (recovered == 1 &&
	    transaction_close(p, c->state.workspaces_fd, err) < 0)
		return -err->num;
	if (finalized)
		action_drop_next(p->workspace_fd);
	return recovered;
}

char *recover_unfinished(const struct context *c, const char *project,
			 bool *ret_back)
{
	int workspaces_fd = c->state.workspaces_fd;
	auto_free char *first = transaction_first(workspaces_fd, project);
	const char *path = first ? first : project;
	auto_free char *title = NULL;
	enum transaction_stage stage = TRANSACTION_INTERRUPTED;
	struct err ignored;
	auto_close int fd =
		workspace_open(workspaces_fd, path, false, &ignored);
	auto_close int lock = -1;

	*ret_back = false;
	if (fd < 0 || !transaction_pending(workspaces_fd, path))
		return NULL;
	lock = workspace_lock(fd, false, "", &ignored);
	if (lock < 0)
		return NULL;
	title = transaction_title(workspaces_fd, path, &stage);
	if (stage == TRANSACTION_DONE)
		return NULL;
	*ret_back = stage == TRANSACTION_ROLLBACK;
	return title ? TAKE(title) : mem_strdup("change");
}

/* Returns 1 when next-action was a discard, which is finalized now; else 0. */
static int recover_discard(struct context *c, int workspace_fd, struct err *err)
{
	AUTO(action) struct action a = {0};
	auto_close int lock = -1;
	int got = action_load_next(workspace_fd, &a, err);

	if (got == -ENOENT ||
	    (got == 0 && strcmp(a.kind, "discard") != 0 && !a.parts.count))
		return 0;
	if (got < 0)
		return got;
	lock = workspace_lock(workspace_fd, true, "", err);
	if (lock < 0)
		return lock;
	got = a.parts.count
		      ? partial_discard_finalize(c, workspace_fd, NULL, err)
		      : action_finalize_discard(workspace_fd, c->state.runs_fd,
						err);
	/* A path that is in the way does not stop the current command. */
	if (got == -EEXIST && a.parts.count) {
		report_warning("%s", err->text);
		return 1;
	}
	/* -ENOENT: the process that held the lock has finalized the discard. */
	return got < 0 && got != -ENOENT ? got : 1;
}

int recover_project(struct context *c, const char *project, struct err *err)
{
	auto_close int workspace_fd =
		workspace_open(c->state.workspaces_fd, project, false, err);
	auto_close int lock = -1;
	auto_free char *first = NULL;
	struct project p = PROJECT_NONE;
	struct err ignored;
	int ended = 0, got;

	if (workspace_fd == -ENOENT)
		return 0;
	if (workspace_fd < 0)
		return workspace_fd;
	/* Directories that another guard process has opened are not touched:
	 * the lock shows that it is still running. */
	if (unreadable_dirs_noted(workspace_fd))
		lock = workspace_lock(workspace_fd, false, "", &ignored);
	if (lock >= 0 && unreadable_dirs_recover(workspace_fd, err) < 0)
		return -err->num;
	fd_close(&lock);
	/* The directory was changed along with another project, which has the
	 * journal. A record that names this directory itself needs no such
	 * step. */
	first = transaction_first(c->state.workspaces_fd, project);
	if (first && strcmp(first, project) != 0)
		ended = recover_project(c, first, err);
	if (ended < 0)
		return ended;
	if (!fd_exists(workspace_fd, "next-action") &&
	    !transaction_pending(c->state.workspaces_fd, project))
		return ended;
	got = recover_discard(c, workspace_fd, err);
	if (got)
		return got < 0 ? got : 3;
	if (context_store(c, STORE_WRITE, err) < 0 ||
	    context_project(c, project, false, &p, err) < 0)
		return -err->num;
	got = recover_locked(c, &p, err);
	project_close(&p);
	return got ? got : ended;
}
