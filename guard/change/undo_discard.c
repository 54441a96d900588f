#include "guard/change/undo.h"

#include <errno.h>
#include <stdio.h>

#include "base/auto.h"
#include "base/text.h"
#include "guard/state/exit_status.h"
#include "guard/change/partial_discard.h"
#include "guard/state/report.h"

static const char *step_intro(const struct undo *u)
{
	return u->step ? "before that, the last action was"
		       : "the last action here was";
}

#define NEXT_IS_BEFORE "the next guard undo reverts the action before"

/* --- a run --- */

static int restore_discarded_run(const struct undo *u, struct err *err)
{
	auto_free char *name =
		session_find_trashed(u->c->state.trash_fd, u->last.run_id, err);
	const char *run = u->last.run_id;
	const char *label = u->last.run_name ?: run;
	auto_close int fd = -1, lock = -1;

	if (!name && err->num != ENOENT)
		return -err->num;
	if (!name) {
		fd = undo_open_workspace(u, err);
		if (fd < 0 ||
		    (!u->dry && action_forget_discard(
					fd, run, u->c->state.runs_fd, err) < 0))
			return -err->num;
		return fail(
			err, ENOENT,
			"run %s is no longer in guard's trash, which keeps "
			"7 days: its discard cannot be undone; " NEXT_IS_BEFORE,
			label);
	}
	report_note("%s to discard run %s", step_intro(u), label);
	if (u->dry)
		return STATUS_OK;
	if (!report_confirm(u->yes, "guard: restore run %s?", label))
		return STATUS_REFUSED;
	fd = undo_open_workspace(u, err);
	if (fd < 0)
		return fd;
	lock = action_announce_discard(fd, run, u->last.run_name, err);
	if (lock < 0)
		return lock;
	if (renameat2(u->c->state.trash_fd, name, u->c->state.runs_fd, run,
		      RENAME_NOREPLACE) < 0) {
		(void)fail_errno(err, "restore run %s", label);
		action_drop_next(fd);
		return -err->num;
	}
	if (action_finalize_discard(fd, u->c->state.runs_fd, err) < 0)
		return err_context(err,
				   "run %s is restored, but the record for "
				   "undo could not be written",
				   label);
	state_log(&u->c->state, "undo", "undoes", "discard", "run", run,
		  "project", u->path, NULL);
	report_note("run %s is pending again", label);
	undo_hint(u);
	return STATUS_OK;
}

/* --- paths of one --- */

static int forget_discarded_paths(const struct undo *u, struct err *err)
{
	auto_close int fd = undo_open_workspace(u, err);
	auto_close int lock = -1;

	if (fd < 0)
		return fd;
	lock = action_lock(fd, err);
	return lock < 0 ? lock : action_forget(fd, &u->last, err);
}

static int fail_expired(const struct undo *u, const char *why, struct err *err)
{
	if (!u->dry && forget_discarded_paths(u, err) < 0)
		return -err->num;
	return fail(err, ENOENT,
		    "%s: the discard of paths of run %s cannot be "
		    "undone; " NEXT_IS_BEFORE,
		    why, u->last.run_id);
}

static void list_discarded_paths(const struct undo *u, const struct session *s)
{
	size_t i;

	report_note("%s to discard %s of run %s", step_intro(u),
		    text_count(u->last.parts.count, "path"), session_label(s));
	for (i = 0; i < u->last.parts.count && !(report_is_quiet() && u->yes);
	     i++) {
		auto_free char *path =
			partial_discard_text(s, &u->last.parts.items[i]);
		AUTO(buf) struct buf shown = {0};

		text_escape_name(&shown, path);
		report_line("  %s", buf_text(&shown));
	}
}

static int move_paths_back(const struct undo *u, struct session *s,
			   struct err *err)
{
	const struct action *last = &u->last;
	auto_close int fd = undo_open_workspace(u, err);
	auto_close int lock = fd < 0 ? -1 : action_lock(fd, err);
	struct action next = *last;

	next.undone = true;
	if (fd < 0 || lock < 0 || undo_check_last(u, fd, err) < 0 ||
	    action_announce(fd, &next, NULL, err) < 0 ||
	    partial_discard_finalize(u->c, fd, s, err) < 0)
		return -err->num;
	state_log(&u->c->state, "undo", "undoes", "discard", "run", s->id,
		  "project", u->path, NULL);
	report_note("%s restored in run %s, which is pending",
		    text_count(last->parts.count, "path"), session_label(s));
	undo_hint(u);
	return STATUS_OK;
}

static int restore_discarded_paths(const struct undo *u, struct err *err)
{
	AUTO(session) struct session s = SESSION_NONE;
	const char *run = u->last.run_id;
	int got = session_open(u->c->state.runs_fd, run, !u->dry, &s, err);

	if (got == -ENOENT)
		return fail_expired(u, "the run no longer exists", err);
	if (got == -EBUSY)
		return fail(
			err, EBUSY,
			"run %s is in use: wait for its end, then try again",
			run);
	if (got < 0)
		return got;
	if (!run_state_pending(s.state))
		got = fail(err, EEXIST,
			   "run %s is %s: its discarded paths cannot be "
			   "restored",
			   run, run_state_name(s.state));
	else if (u->dry && u->step)
		/* Later changes are still there in a dry run. */
		got = (int)u->last.parts.count;
	else
		got = partial_discard_check(&u->c->state, &s, &u->last, err);
	if (got == -EEXIST) {
		/* A retry would fail in the same way, so the user may skip the
		 * action. */
		report_warning("%s", err->text);
		report_hint("guard log PATH    lists the run's version of a "
			    "project's path (post-run)");
		if (u->dry ||
		    !report_confirm(u->yes,
				    "guard: skip it, so that " NEXT_IS_BEFORE
				    "?"))
			return STATUS_REFUSED;
		if (forget_discarded_paths(u, err) < 0)
			return -err->num;
		report_note("nothing restored; " NEXT_IS_BEFORE);
		return STATUS_REFUSED;
	}
	if (got < 0)
		return got;
	if (!got)
		return fail_expired(
			u,
			"it is no longer in guard's trash, which keeps "
			"7 days",
			err);
	list_discarded_paths(u, &s);
	if (u->dry)
		return STATUS_OK;
	if (!report_confirm(u->yes, "guard: restore %s in run %s?",
			    got == 1 ? "it" : "them", run))
		return STATUS_REFUSED;
	return move_paths_back(u, &s, err);
}

int undo_discard(const struct undo *u, struct err *err)
{
	return u->last.parts.count ? restore_discarded_paths(u, err)
				   : restore_discarded_run(u, err);
}
