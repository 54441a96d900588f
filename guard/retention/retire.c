#include "guard/retention/retire.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/parse.h"
#include "base/text.h"
#include "guard/change/action.h"
#include "guard/change/recover.h"
#include "guard/state/clock.h"
#include "guard/state/report.h"
#include "guard/timeline/import.h"
#include "overlay/session_list.h"
#include "restore/workspace.h"

#define DAY ((int64_t)24 * 3600)
#define TRASH_DAYS 7
#define PENDING_DAYS 30
#define PENDING_DAYS_MAX 36500
#define WARNED "warned"
#define STAMP "last-retired"
#define WARN_STAMP "last-warned"
#define HOUR ((int64_t)3600)

/* The run's versions stay, in the store. */
static int trash_run(struct context *c, struct session *s, const char *reason,
		     struct err *err)
{
	struct err why;
	int got = import_now(s, true, false, &why);

	/* One at work completes it: with idle priority, so that a wait could
	 * take long. If it is killed, the next one does. */
	if (got == -EWOULDBLOCK)
		(void)import_start(s, true);
	else if (got < 0)
		report_warning("versions during run %s could not be stored, "
			       "and go in %d days: %s",
			       session_label(s), TRASH_DAYS, why.text);
	return session_trash(s, c->state.runs_fd, c->state.trash_fd, reason,
			     err);
}

int retire_discard(struct context *c, struct session *s, struct err *err)
{
	auto_close int workspace =
		workspace_open(c->state.workspaces_fd, s->project, true, err);
	auto_close int lock = -1;

	if (workspace < 0)
		return workspace;
	lock = action_announce_discard(workspace, s->id, session_name(s), err);
	if (lock < 0)
		return lock;
	if (trash_run(c, s, "discard", err) < 0) {
		action_drop_next(workspace);
		return -err->num;
	}
	if (action_finalize_discard(workspace, c->state.runs_fd, err) < 0)
		return err_context(err,
				   "run %s is discarded, but the record for "
				   "undo could not be written",
				   session_label(s));
	state_log(&c->state, "discard", "run", s->id, "project", s->project,
		  NULL);
	return 0;
}

static int64_t run_end_time(const struct session *s)
{
	return s->ended.sec > s->started.sec ? s->ended.sec : s->started.sec;
}

/* When it was warned of last, 0: not since it ended. */
static int64_t last_warning_time(const struct session *s)
{
	int64_t when = record_get_int(&s->more, WARNED);

	return when > run_end_time(s) ? when : 0;
}

static bool is_run_due(const struct session *s, int64_t now)
{
	const char *text = getenv("GUARD_PENDING_DAYS");
	unsigned long days; /* 0: they wait for ever */

	if (!text || parse_number(text, PENDING_DAYS_MAX, &days) < 0)
		days = PENDING_DAYS;
	if (s->live)
		return false;
	if (s->state == RUN_APPLIED)
		return s->ended.sec <= now - TRASH_DAYS * DAY;
	if (!days || s->state == RUN_APPLYING || !run_state_pending(s->state) ||
	    !run_end_time(s) || run_end_time(s) > now - (int64_t)days * DAY)
		return false;
	return !last_warning_time(s) ||
	       last_warning_time(s) <= now - TRASH_DAYS * DAY;
}

/* Whether the due run is pending and its owner does not know yet. */
static bool is_warning_due(const struct session *s)
{
	return s->state != RUN_APPLIED && !last_warning_time(s);
}

static int retire_run(struct context *c, const char *id, bool warn_only,
		      int64_t now, struct err *err)
{
	AUTO(session) struct session s = SESSION_NONE;

	/* In use, or gone: another time. */
	if (session_open(c->state.runs_fd, id, true, &s, err) < 0 ||
	    !is_run_due(&s, now) || (warn_only && !is_warning_due(&s)))
		return 0;
	if (s.state == RUN_APPLIED)
		return trash_run(c, &s, "applied", err);
	if (!last_warning_time(&s)) {
		record_set_int(&s.more, WARNED, now);
		if (session_save(&s, err) < 0)
			return -err->num;
		report_warning(
			"run %s in %s has been pending for %s: "
			"apply it or discard it (guard diff %s); in %d "
			"days it goes to guard's trash",
			session_label(&s), text_quote(s.project),
			text_count((uint64_t)(now - run_end_time(&s)) / DAY,
				   "day"),
			session_label(&s), TRASH_DAYS);
		return 0;
	}
	/* Fails while another guard process uses the project. */
	if (recover_project(c, s.project, err) < 0 ||
	    retire_discard(c, &s, err) < 0)
		return -err->num;
	report_warning("run %s in %s was pending too long and is in guard's "
		       "trash for %d days: guard undo there restores it",
		       session_label(&s), text_quote(s.project), TRASH_DAYS);
	return 0;
}

void retire_runs(struct context *c, bool warn_only)
{
	AUTO(session_list) struct session_list list = {0};
	int64_t now = timestamp_now().sec;
	struct err err;
	size_t i;

	/* Once an hour: each check reads the records of all runs. */
	if (!clock_believed(c->state.fd) ||
	    !state_is_due(&c->state, warn_only ? WARN_STAMP : STAMP, HOUR) ||
	    session_list(c->state.runs_fd, false, &list, &err) < 0)
		return;
	for (i = 0; i < list.count; i++)
		if (is_run_due(&list.items[i], now) &&
		    retire_run(c, list.items[i].id, warn_only, now, &err) < 0)
			report_warning("%s", err.text);
}

int retire_trash(const struct state *state, struct err *err)
{
	return clock_believed(state->fd)
		       ? session_empty_trash(state->trash_fd, TRASH_DAYS * DAY,
					     err)
		       : 0;
}
