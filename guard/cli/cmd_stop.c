#include "guard/change/live.h"
#include "guard/cli/choose_run.h"
#include "guard/cli/commands.h"
#include "guard/sandbox/freezer.h"
#include "guard/state/storing.h"

static int stop(struct context *c, const struct options *o, struct err *err)
{
	AUTO(session) struct session s = SESSION_NONE, ended = SESSION_NONE;
	struct err ignored;
	int got = choose_run_live(c, o->operands[0], o->operands, &s, err);

	if (got)
		return got;
	if (o->resume) {
		if (!freezer_is_paused(s.fd))
			return fail(err, EINVAL, "run %s is not paused",
				    session_label(&s));
		freezer_continue(s.fd);
		output_print("run %s continues", session_label(&s));
		return STATUS_OK;
	}
	got = resolve_run_is_running(&s) ? live_stop(&s, (int)o->time, err) : 0;
	if (got < 0)
		return got;
	if (got && session_open(c->state.runs_fd, s.id, false, &ended,
				&ignored) == -ENOENT)
		output_print("run %s stopped; it changed nothing",
			     session_label(&s));
	else if (got)
		output_print("run %s stopped; its changes are pending: guard "
			     "diff %s",
			     session_label(&s), session_label(&s));
	else
		output_print("run %s is not running any more",
			     session_label(&s));
	return STATUS_OK;
}

/* Without the snapshot, the changes of its run are compared with the files as
 * they are at the end of the run. */
static int stop_snapshot(struct context *c, struct err *err)
{
	AUTO(session) struct session s = SESSION_NONE;
	auto_free char *run_id = NULL;
	struct storing storing;
	int got;

	if (!storing_find(c->state.workspaces_fd, c->project, &storing))
		return fail(err, ENOENT, "no snapshot of %s is being taken",
			    text_quote(c->project));
	run_id = storing.run_id;
	got = session_open(c->state.runs_fd, run_id, false, &s, err);
	if (got < 0 && got != -ENOENT)
		return got;
	if (storing_stop(c->state.workspaces_fd, c->project, &storing, err) < 0)
		return -err->num;
	output_print("the snapshot of %s was stopped; guard snapshot takes "
		     "one, and reuses what is stored",
		     text_quote(c->project));
	if (got == 0 && (s.live || run_state_pending(s.state)))
		output_print(
			"run %s can be applied without it, except to files "
			"that you have changed since its start",
			session_label(&s));
	return STATUS_OK;
}

int cmd_stop(const struct options *o, struct context *c, struct err *err)
{
	return o->snapshot ? stop_snapshot(c, err) : stop(c, o, err);
}
