#include "guard/run/run.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/text.h"
#include "guard/agent/agent.h"
#include "guard/sandbox/freezer.h"
#include "guard/state/report.h"
#include "overlay/layers.h"
#include "guard/run/wait_timestamp_tick.h"
#include "snapshot/walk/take.h"

/* Part of a layer's limit that its versions may take until they are stored. */
#define SPOOL_SHARE 10

/* A run that never began leaves nothing behind. */
static void discard_unstarted_run(struct run *run)
{
	struct err err;

	if (run->options->copy_dir)
		return;
	if (run->options->resume) {
		run_restore_results(run);
		(void)session_set_state(&run->session, RUN_ENDED, &err);
	} else if (session_trash(&run->session, run->context.state.runs_fd,
				 run->context.state.trash_fd, "failed",
				 &err) < 0) {
		report_error(&err);
	}
}

int run_status_of(const struct sandbox_result *result)
{
	switch (result->end) {
	case SANDBOX_LOST:
	case SANDBOX_SIGNALED:
		return 128 + result->code;
	case SANDBOX_STOPPED:
		return RUN_STATUS_STOPPED;
	case SANDBOX_EXITED:
	default:
		return result->code;
	}
}

/* The moment before a time, as guard rewind takes it, to free. */
static char *moment_before(const struct run *run, struct timestamp t)
{
	const int ms = (int)(t.nsec / 1000000) - 1;

	/* The timeline begins soon after the run. */
	if (t.sec <= run->session.started.sec + 1)
		return mem_strdup("start");
	t.sec -= ms < 0;
	return mem_printf("%s.%03d", text_time(t), ms < 0 ? 999 : ms);
}

static void give_alarm(struct run *run, const char *text,
		       struct timestamp began)
{
	const pid_t init = sandbox_pid1(run->sandbox);
	auto_free char *moment = moment_before(run, began);
	auto_free char *line = NULL;
	struct err err;

	report_warning("alarm: %s: guard rewind %s --to %s restores it", text,
		       session_label(&run->session), text_shell(moment));
	line = mem_printf("alarm: %s", text);
	(void)run_versions_record(&run->run_versions, TIMELINE_ALARM, line);
	if (!run->options->pause_on_alarm)
		return;
	if (freezer_pause(run->session.fd, init, freezer_start_time(init),
			  &err) < 0) {
		report_error(&err);
		return;
	}
	sandbox_hold_terminal(run->sandbox, true);
	run->ui->ask_alarm(&run->session, init, moment);
	sandbox_hold_terminal(run->sandbox, false);
}

static void record_unasked(struct run *run)
{
	const char *why = sandbox_unasked(run->sandbox);

	if (why && !run->recorded_unasked)
		run->recorded_unasked = run_versions_record(
			&run->run_versions, TIMELINE_SAMPLED, why);
}

static enum sandbox_tick_action watch_run(void *arg, int *ret_next_ms)
{
	struct run *run = arg;
	bool child = run->self != getpid();
	auto_free char *alarm = NULL;
	struct timestamp began;

	if (child && !run->in_child) {
		run->in_child = true;
		run_syncs_begin(&run->run_syncs, &run->session);
		run->run_import.session = NULL;
		run->alarms.session = NULL;
		budget_in_child(&run->budget);
		run->copy_up_watch.next = INT64_MAX;
	}
	freezer_resume_abandoned(run->session.fd);
	alarm = alarms_tick(&run->alarms, timestamp_monotonic_ms(), &began);
	if (alarm)
		give_alarm(run, alarm, began);
	if (!run->options->copy_dir)
		run_syncs_tick(&run->run_syncs,
			       run_versions_marks(&run->run_versions));
	run_import_tick(&run->run_import);
	copy_up_watch_tick(&run->copy_up_watch, &run->session, run->sandbox);
	run->over_budget =
		run->over_budget || budget_tick(&run->budget, ret_next_ms);
	if (!child) {
		record_unasked(run);
		run_versions_tick(&run->run_versions, ret_next_ms);
	}
	return run->over_budget ? SANDBOX_KILL : SANDBOX_CONTINUE;
}

static void report_stop(const struct run *run,
			const struct sandbox_result *result)
{
	const struct run_options *o = run->options;
	auto_free char *why =
		run->over_budget ? budget_explain(&run->budget) : NULL;

	if (result->limit == SANDBOX_LIMIT_PIDS)
		why = mem_printf("it reached its limit of processes%s%s",
				 o->pids_limit ? "" : ", 1024",
				 o->pids_limit ? ": --pids-limit"
					       : " without --pids-limit");
	else if (result->limit == SANDBOX_LIMIT_QUOTA)
		why = mem_strdup(result->why);
	else if (result->limit == SANDBOX_LIMIT_MEMORY)
		why = mem_printf(
			"it used more memory than the %llu MiB of --memory",
			(unsigned long long)(o->memory >> 20));
	if (why)
		report_warning("the run was ended: %s", why);
	else
		report_note("ended by --timeout after %.3g s",
			    (double)o->timeout_ms / 1000);
}

/* A resumed run keeps its base: with a later one, the user's edits in between
 * would count as the state before the run. */
static int release(struct run *run, struct timestamp start, int *ret_status,
		   struct err *err)
{
	int got = sandbox_release(run->sandbox, err);

	if (got < 0) {
		*ret_status = got == -ENOENT ? RUN_STATUS_NOT_FOUND
					     : RUN_STATUS_NO_EXEC;
		return got;
	}
	return run->options->resume
		       ? 0
		       : base_snapshot_worker_start(run, start, err);
}

static int release_and_wait(struct run *run, struct timestamp start,
			    struct sandbox_result *ret, int *ret_status,
			    struct err *err)
{
	const struct run_options *o = run->options;
	int got;

	/* Before the first record. Without versions nothing could be restored.
	 */
	alarms_begin(&run->alarms,
		     o->copy_dir || !o->versions_ms ? NULL : &run->session);
	got = o->instead ? 0 : release(run, start, ret_status, err);
	if (got < 0)
		return got;
	run_versions_begin(&run->run_versions, &run->session,
			   o->copy_dir ? 0 : o->versions_ms,
			   run->budget.bytes / SPOOL_SHARE);
	run_syncs_begin(&run->run_syncs, &run->session);
	run_import_begin(&run->run_import, o->copy_dir ? NULL : &run->session);
	if (o->instead) {
		/* The worker records present writes. */
		run->run_versions.next_start = 0;
		run_versions_tick(&run->run_versions, &(int){0});
		o->instead(o->instead_arg, &run->session);
		sandbox_kill(run->sandbox);
		*ret = (struct sandbox_result){.end = SANDBOX_EXITED};
	} else {
		got = sandbox_wait(run->sandbox, watch_run, run, ret, err);
	}
	alarms_free(&run->alarms);
	run_syncs_end(&run->run_syncs);
	record_unasked(run);
	run_versions_end(&run->run_versions);
	if (o->instead) {
		sandbox_unmount(run->sandbox);
		o->instead(o->instead_arg, NULL);
	}
	mem_list_free(&run->copy_up_watch.told);
	budget_end(&run->budget);
	return got;
}

/*
 * Lets the command go and waits for its end. The pre-run snapshot begins
 * after the start time was taken: what changes from then on is not in it, or
 * is marked.
 */
static int supervise_command(struct run *run, int *ret_status, struct err *err)
{
	struct sandbox_result result;
	struct timestamp start_time = take_start_time(run->begun);
	int got;

	run_set_start_time(run, start_time);
	if (run->options->resume && !run->options->copy_dir &&
	    run_record_running(run, run->sandbox, err) < 0)
		return -err->num;
	/* A signal of guard belongs to the command from the release on: it
	 * waits until sandbox_wait() takes it, and cannot end guard in
	 * between. */
	context_block_signals(&run->signals_before);
	run->signals_blocked = true;
	got = release_and_wait(run, start_time, &result, ret_status, err);
	if (got < 0)
		return got;
	*ret_status = run_status_of(&result);
	if (!run->options->copy_dir && !run->options->instead)
		run->ui->count_begin(&run->session, *ret_status);
	if (result.end == SANDBOX_STOPPED)
		report_stop(run, &result);
	if (result.killed)
		report_warning(
			"out of memory: at the limit of %llu MiB (--memory) "
			"the kernel killed %llu of the run's processes",
			(unsigned long long)(run->options->memory >> 20),
			(unsigned long long)result.killed);
	run_notices_print_refused(&result);
	if (result.network_lost)
		report_warning("the run lost its private network before it "
			       "ended: pasta ended");
	return 0;
}

static void name_doctor(struct err *err)
{
	size_t len = strlen(err->text);

	if (!strstr(err->text, "guard doctor"))
		(void)snprintf(err->text + len, sizeof(err->text) - len,
			       " (guard doctor checks all that a run needs)");
}

static int run_in_session(struct run *run, int *ret_status, struct err *err)
{
	struct layers *layers = NULL;
	int got;

	got = run_start(run, &layers, err);
	if (got < 0)
		name_doctor(err);
	if (got == 0 && !run->options->copy_dir) {
		state_log(&run->context.state, "run", "run", run->session.id,
			  "project", run->project, "command",
			  run->session.command, NULL);
		got = run_store_granted(run, false, err);
	}
	if (got == 0)
		got = supervise_command(run, ret_status, err);
	if (got < 0)
		sandbox_free(&run->sandbox);
	layers_free(&layers);
	exec_socket_remove(run->session.fd);
	return got;
}

/* Up to the session's own lock; everything that may be refused. */
static int prepare_session(struct run *run, struct err *err)
{
	const char *const *path;

	if (run_open_project(run, err) < 0 || run_load_agent(run, err) < 0)
		return -err->num;
	/* While nothing of the run is there yet that an impatient user would
	 * leave. A layer that goes on has its base. */
	if (!run->options->resume)
		wait_timestamp_tick(run->project_fd);
	path = run->options->resume ? NULL : run->options->cow;
	for (; path && *path; path++) {
		auto_close int fd =
			open(*path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		if (fd >= 0)
			wait_timestamp_tick(fd);
	}
	return run_open_session(run, err);
}

int run_command(const struct run_options *options, const struct run_ui *ui)
{
	struct run run = {.options = options,
			  .ui = ui,
			  .project_fd = -1,
			  .mark_fd = -1,
			  .begun = timestamp_now(),
			  .self = getpid()};
	int status = RUN_STATUS_GUARD;
	struct err err;

	/* The reader of stderr may be gone: without SIGPIPE the run ends in
	 * order. */
	(void)signal(SIGPIPE, SIG_IGN);
	run.session.fd = run.session.lock_fd = -1;
	if (sandbox_check_proc(&err) < 0) {
		name_doctor(&err);
		report_error(&err);
		return RUN_STATUS_GUARD;
	}
	if ((!options->home && !options->exec_project &&
	     state_check_project(options->dir, PROJECT_RUN, &err) < 0) ||
	    context_open(&run.context, false, &err) < 0) {
		report_error(&err);
		return RUN_STATUS_GUARD;
	}
	if (prepare_session(&run, &err) < 0) {
		report_error(&err);
		if (!options->resume && run.session.fd >= 0)
			discard_unstarted_run(&run);
	} else if (run_in_session(&run, &status, &err) < 0) {
		report_error(&err);
		if (run.base_worker_pid == 0)
			discard_unstarted_run(&run);
	} else if (run_end(&run, status, &err) < 0) {
		(void)err_context(&err, "run %s has ended, its layer is kept",
				  session_label(&run.session));
		report_error(&err);
	}
	ui->count_end();
	if (run.signals_blocked)
		(void)context_restore_signals(&run.signals_before);
	if (run.base_worker_pid)
		base_snapshot_worker_after(&run);
	sandbox_free(&run.sandbox);
	session_free(&run.session);
	agent_free(&run.agent);
	places_free(&run.places);
	context_free(&run.context);
	fd_close(&run.project_fd);
	fd_close(&run.mark_fd);
	read_only_exec_free(run.read_only_exec);
	free(run.results_before);
	free(run.project);
	free(run.cwd);
	return status;
}
