#include "guard/run.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/text.h"
#include "base/walk.h"
#include "guard/live.h"
#include "guard/output.h"
#include "guard/pick.h"
#include "overlay/freeze.h"
#include "overlay/gitdir.h"
#include "overlay/layers.h"
#include "restore/transaction.h"
#include "snapshot/take.h"

static void run_free(struct run *run)
{
	sandbox_free(&run->sandbox);
	session_free(&run->session);
	context_free(&run->context);
	if (run->project_fd >= 0)
		(void)close(run->project_fd);
	free(run->project);
	free(run->cwd);
}

static char *join_command(char *const *argv)
{
	struct buf b = {0};

	for (; *argv; argv++) {
		if (b.len)
			buf_add_char(&b, ' ');
		buf_add_text(&b, *argv);
	}
	return buf_take_text(&b);
}

char *run_find_project(const struct run *run, struct err *err)
{
	const struct state *st = &run->context.state;
	auto_free char *here = NULL;

	if (!run->options->home)
		return state_project(st, run->options->dir, true, err);
	here = path_resolve(run->options->dir ? run->options->dir : ".", err);
	if (!here)
		return NULL;
	if (st->home && path_below(here, st->home) &&
	    strcmp(st->home, "/") != 0)
		return mem_strdup(st->home);
	(void)fail(err, EINVAL, "--home: %s is not in your home folder%s%s",
		   text_quote(here), st->home ? " " : "",
		   st->home ? text_quote(st->home) : "");
	return NULL;
}

static int open_project(struct run *run, struct err *err)
{
	struct err ignored;

	run->project = run_find_project(run, err);
	if (!run->project)
		return -err->num;
	run->cwd = path_resolve(run->options->dir ? run->options->dir : ".",
				&ignored);
	if (!run->cwd)
		run->cwd = mem_strdup(run->project);
	run->project_fd = open(run->project,
			       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (run->project_fd < 0)
		return fail_errno(err, "the project %s cannot be read",
				  text_quote(run->project));
	if (faccessat(run->project_fd, ".", X_OK, AT_EACCESS) < 0)
		return fail_errno(err, "the project %s cannot be entered",
				  text_quote(run->project));
	/* What an earlier apply or restore left half done is ended first. */
	return context_recover(&run->context, run->project, err) < 0 ? -err->num
								     : 0;
}

/* --continue: the named run, else the newest one that waits. */
static int resume_session(struct run *run, struct err *err)
{
	AUTO(pick) struct pick newest = PICK_NONE;
	int runs_fd = run->context.state.runs_fd;

	if (run->options->resume_id) {
		if (session_open(runs_fd, run->options->resume_id, true,
				 &run->session, err) < 0)
			return -err->num;
	} else {
		run->context.project = mem_strdup(run->project);
		if (pick_run(&run->context, 0, NULL, 0, true, &newest, err) < 0)
			return -err->num;
		run->session = newest.session;
		newest.session = (struct session){.fd = -1, .lock_fd = -1};
	}
	if (strcmp(run->session.project, run->project) != 0)
		return fail(err, EINVAL,
			    "run %s belongs to another project, %s: go there",
			    run->session.id, text_quote(run->session.project));
	if (!run_state_pending(run->session.state))
		return fail(err, EINVAL, "run %s is %s and cannot go on",
			    run->session.id,
			    run_state_name(run->session.state));
	run->session.result = 0;
	return 0;
}

static int new_session(struct run *run, const char *command, struct err *err)
{
	auto_free char *git = gitdir_outside(run->project_fd, run->project);

	if (session_create(
		    run->context.state.runs_fd, run->project, run->project_fd,
		    run->options->strict ? NULL : run->context.state.home,
		    command, &run->session, err) < 0)
		return -err->num;
	if (git && !path_below(run->context.state.path, git))
		record_set(&run->session.more, LAYERS_GIT, git);
	return 0;
}

static int open_session(struct run *run, struct err *err)
{
	auto_free char *command = join_command(run->options->argv);

	if (layers_check_state(run->context.state.runs_fd, err) < 0)
		return -err->num;
	if (!run->options->resume)
		return new_session(run, command, err);
	if (resume_session(run, err) < 0)
		return -err->num;
	free(run->session.command);
	run->session.command = TAKE(command);
	return 0;
}

char **run_hidden_paths(const struct run *run)
{
	char **paths = sandbox_credential_paths(run->context.state.home);
	const char *const *more;
	size_t count = 0, extra = 0;

	while (paths[count])
		count++;
	for (more = run->options->hide; *more; more++)
		extra++;
	paths = mem_resize(paths, count + extra + 2, sizeof(*paths));
	for (more = run->options->hide; *more; more++) {
		struct err ignored;
		char *path = path_resolve(*more, &ignored);

		paths[count++] = path ? path : mem_strdup(*more);
	}
	paths[count++] = mem_strdup(run->context.state.path);
	paths[count] = NULL;
	return paths;
}

static int open_layers(void *arg, struct err *err)
{
	return layers_open(arg, err);
}

static int mount_layers(void *arg, int root_fd, struct err *err)
{
	return layers_mount(arg, root_fd, err);
}

/* An argument that names something real which the run cannot see. */
static void warn_of_hidden_arguments(const struct run *run)
{
	static const char *const private[] = {"/tmp", "/var/tmp", "/run",
					      "/dev/shm", NULL};
	char *const *arg;
	size_t i;

	for (arg = run->options->argv; *arg; arg++) {
		struct err ignored;
		auto_free char *path = NULL;

		if ((*arg)[0] != '/' || access(*arg, F_OK) < 0)
			continue;
		path = path_resolve(*arg, &ignored);
		if (!path || path_below(path, run->project))
			continue;
		for (i = 0; private[i]; i++)
			if (path_below(path, private[i]))
				output_say("%s is not seen inside: %s is "
					   "private there; --ro %s lets it in",
					   text_quote(*arg), private[i],
					   text_quote(*arg));
	}
}

static void tell_header(const struct run *run, struct buf *notes,
			struct buf *dropped)
{
	const struct run_options *o = run->options;

	output_say("run %s in %s (network: %s)%s", run->session.id,
		   text_quote(run->project),
		   o->net == SANDBOX_NET_NONE ? "none" : "host",
		   o->resume ? ", going on with its layer" : "");
	if (dropped->len)
		output_say("not passed on: %s (--env NAME lets one in)",
			   buf_text(dropped));
	if (notes->len && notes->data[notes->len - 1] == '\n')
		notes->len--;
	if (notes->len)
		output_say("%s", buf_text(notes));
	warn_of_hidden_arguments(run);
}

/*
 * A grant wins over a mask and lies on top of the layers: nobody may let a run
 * at the state itself, nor at a folder that holds the project, whose layer it
 * would cover. What lies above the state may be granted, the mask stays on it.
 */
static int check_grants(const struct run *run, const char *const *paths,
			struct err *err)
{
	const char *home = run->context.state.home;

	for (; *paths; paths++) {
		auto_free char *path = path_resolve(*paths, err);

		if (!path)
			return -err->num;
		if (path_below(run->project, path))
			return fail(err, EPERM,
				    "%s holds the project: letting it in would "
				    "put the real files in place of the run's "
				    "layer; name a folder beside the project",
				    text_quote(*paths));
		if (home && path_below(home, path))
			return fail(err, EPERM,
				    "%s holds your home folder: letting it in "
				    "would put the real one in place of the "
				    "run's layer; name a folder in it",
				    text_quote(*paths));
		if (path_below(path, run->context.state.path))
			return fail(err, EPERM,
				    "%s is guard's own state: no run may see "
				    "it",
				    text_quote(*paths));
	}
	return 0;
}

int run_check_grants(const struct run *run, struct err *err)
{
	int got = check_grants(run, run->options->read_only, err);

	if (got == 0)
		got = check_grants(run, run->options->read_write, err);
	return got;
}

/* What the user himself wants hidden shows nothing at all. */
static void hide_cuts(const struct run *run, struct sandbox_cuts *cuts)
{
	const char *const *hide;
	struct err ignored;
	size_t i;

	for (hide = run->options->hide; *hide; hide++) {
		auto_free char *path = path_resolve(*hide, &ignored);

		for (i = 0; path && i < cuts->count; i++) {
			if (!path_below(cuts->items[i].path, path))
				continue;
			buf_clear(&cuts->items[i].text);
			cuts->items[i].any = false;
		}
	}
}

static void tell_cuts(const struct sandbox_cuts *cuts)
{
	AUTO(buf) struct buf names = {0};
	size_t i;

	for (i = 0; i < cuts->count; i++)
		if (cuts->items[i].any)
			buf_printf(&names, "%s%s", names.len ? ", " : "",
				   text_quote(cuts->items[i].path));
	if (names.len)
		output_say("without the secrets in them: %s (--ro PATH lets "
			   "one in as it is)",
			   buf_text(&names));
}

static void tell_limits(const struct run *run)
{
	AUTO(buf) struct buf text = {0};

	sandbox_tell_limits(run->sandbox, &text);
	if (text.len)
		output_say("%s", buf_text(&text));
}

/* Everything up to the moment before the command: policy and fence. */
static int start(struct run *run, struct layers **layers, struct err *err)
{
	const struct run_options *o = run->options;
	AUTO(buf) struct buf dropped = {0};
	AUTO(buf) struct buf notes = {0};
	auto_close int tmp = -1;
	auto_close int var_tmp = -1;
	struct sandbox_cuts cuts = {0};
	char **hide, **envp;
	int got;

	if (run_check_grants(run, err) < 0 ||
	    budget_begin(&run->budget, run->session.fd, o->layer_bytes,
			 o->layer_files, o->resume, err) < 0)
		return -err->num;
	if (o->frozen && o->home)
		return fail(err, EINVAL,
			    "--frozen would copy all of your home folder, "
			    "guard's own state too: leave out one of --frozen "
			    "and --home");
	if (o->frozen && o->resume)
		return fail(err, EINVAL,
			    "--frozen is for a new run: one that goes on keeps "
			    "what it began with");
	if (o->frozen &&
	    freeze_make(&run->session, run->project_fd, &notes, err) < 0)
		return -err->num;
	if (layers_plan(&run->session,
			o->strict ? NULL : run->context.state.home, layers,
			&notes, err) < 0)
		return -err->num;
	tmp = openat(run->session.fd, "tmp",
		     O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	var_tmp = openat(run->session.fd, "var-tmp",
			 O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (tmp < 0 || var_tmp < 0)
		return fail_errno(err, "open the run's /tmp");
	hide = run_hidden_paths(run);
	sandbox_cuts_find(run->context.state.home, &cuts);
	hide_cuts(run, &cuts);
	envp = sandbox_environ(o->env, run->context.state.home, run->session.id,
			       &dropped);
	tell_header(run, &notes, &dropped);
	tell_cuts(&cuts);
	got = sandbox_start(
		&(struct sandbox_policy){
			.argv = o->argv,
			.envp = envp,
			.cwd = run->cwd,
			.home = run->context.state.home,
			.tmp_fd = tmp,
			.var_tmp_fd = var_tmp,
			.hide = (const char *const *)hide,
			.cuts = &cuts,
			.never = run->context.state.path,
			.read_only = o->read_only,
			.read_write = o->read_write,
			.net = o->net,
			.nested = o->nested,
			.strict = o->strict,
			.allow_perf = o->allow_perf,
			.allow_io_uring = o->allow_io_uring,
			.allow_userfaultfd = o->allow_userfaultfd,
			.allow_32bit = o->allow_32bit,
			.timeout_ms = o->timeout_ms,
			.pids_limit = o->pids_limit,
			.memory = o->memory,
			.cpus_milli = o->cpus_milli,
			.tmp_size = o->tmp_size,
			.has_user = o->has_user,
			.user = o->user,
			.group = o->group,
			.open_layers = open_layers,
			.mount_layers = mount_layers,
			.layers_arg = *layers,
		},
		&run->sandbox, err);
	mem_list_free(&hide);
	sandbox_cuts_free(&cuts);
	sandbox_environ_free(envp);
	if (got == 0)
		tell_limits(run);
	return got;
}

/* A run that never began leaves nothing behind. */
static void forget(struct run *run)
{
	struct err err;

	if (run->options->resume)
		(void)session_set_state(&run->session, RUN_ENDED, &err);
	else if (session_trash(&run->session, run->context.state.runs_fd,
			       run->context.state.trash_fd, "failed", &err) < 0)
		output_error(&err);
}

static int status_of(const struct sandbox_result *result)
{
	switch (result->end) {
	case SANDBOX_SIGNALED:
		return 128 + result->code;
	case SANDBOX_STOPPED:
		return RUN_STATUS_STOPPED;
	case SANDBOX_EXITED:
	default:
		return result->code;
	}
}

/*
 * From the release on a signal of guard belongs to the command: it waits
 * until sandbox_wait() takes it, and cannot end guard in between.
 */
static void hold_signals(sigset_t *ret_before)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGHUP);
	(void)sigaddset(&set, SIGQUIT);
	(void)sigprocmask(SIG_BLOCK, &set, ret_before);
}

static enum sandbox_wish watch(void *arg, int *ret_next_ms)
{
	struct run *run = arg;

	run->over_budget =
		run->over_budget || budget_tick(&run->budget, ret_next_ms);
	return run->over_budget ? SANDBOX_KILL : SANDBOX_GO_ON;
}

static void tell_stop(const struct run *run, enum sandbox_limit limit)
{
	const struct run_options *o = run->options;
	auto_free char *why =
		run->over_budget ? budget_explain(&run->budget) : NULL;

	if (limit == SANDBOX_LIMIT_PIDS)
		why = mem_printf("it had as many processes as it may%s%s",
				 o->pids_limit ? "" : ", 1024",
				 o->pids_limit ? ": --pids-limit"
					       : " without --pids-limit");
	else if (limit == SANDBOX_LIMIT_MEMORY)
		why = mem_printf("it took more memory than the %llu MiB of "
				 "--memory",
				 (unsigned long long)(o->memory >> 20));
	if (why)
		output_warn("the run was ended: %s", why);
	else
		output_say("ended by --timeout after %.3g s",
			   (double)o->timeout_ms / 1000);
}

static void tell_kills(const struct run *run, uint64_t killed)
{
	if (killed)
		output_warn("out of memory: at the %llu MiB of --memory the "
			    "kernel killed %llu of the run's processes",
			    (unsigned long long)(run->options->memory >> 20),
			    (unsigned long long)killed);
}

static int let_go(struct run *run, struct moment start,
		  struct sandbox_result *ret, int *ret_status, struct err *err)
{
	int got = sandbox_release(run->sandbox, err);

	if (got < 0) {
		*ret_status = got == -ENOENT ? RUN_STATUS_NOT_FOUND
					     : RUN_STATUS_NO_EXEC;
		return got;
	}
	/* A layer that goes on keeps its base: a later one would take the
	 * user's edits in between for what the run began with. */
	if (!run->options->resume && keeper_start(run, start, err) < 0)
		return -err->num;
	got = sandbox_wait(run->sandbox, watch, run, ret, err);
	budget_end(&run->budget);
	return got;
}

/*
 * Lets the command go and waits for its end. The pre-run snapshot begins
 * after the start time was taken: what changes from then on is not in it, or
 * is marked.
 */
static int release(struct run *run, int *ret_status, struct err *err)
{
	struct sandbox_result result;
	struct moment start_time = take_start_time(run->begun);
	sigset_t before;
	int got;

	run->session.started = start_time;
	if (!run->session.times)
		run->session.began = start_time;
	live_note(&run->session, sandbox_init(run->sandbox));
	run->session.times++;
	if (session_set_state(&run->session, RUN_RUNNING, err) < 0)
		return -err->num;
	hold_signals(&before);
	got = let_go(run, start_time, &result, ret_status, err);
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	if (got < 0)
		return got;
	*ret_status = status_of(&result);
	if (result.end == SANDBOX_STOPPED)
		tell_stop(run, result.limit);
	tell_kills(run, result.killed);
	return 0;
}

static int run_in_session(struct run *run, int *ret_status, struct err *err)
{
	struct layers *layers = NULL;
	int got;

	got = start(run, &layers, err);
	if (got == 0) {
		state_log(&run->context.state, "run", "run", run->session.id,
			  "project", run->project, "command",
			  run->session.command, NULL);
		got = run_keep_granted(run, "pre-rw", err);
	}
	if (got == 0)
		got = release(run, ret_status, err);
	if (got < 0)
		sandbox_free(&run->sandbox);
	layers_free(&layers);
	return got;
}

int run_command(const struct run_options *options)
{
	struct run run = {
		.options = options, .project_fd = -1, .begun = moment_now()};
	int status = RUN_STATUS_GUARD;
	struct err err;

	run.session.fd = run.session.lock_fd = -1;
	if (context_open(&run.context, false, &err) < 0) {
		output_error(&err);
		return RUN_STATUS_GUARD;
	}
	if (open_project(&run, &err) < 0 || open_session(&run, &err) < 0) {
		output_error(&err);
		if (err.num == ENOSPC || err.num == EDQUOT)
			output_say("`guard discard` and `guard prune` make "
				   "room, GUARD_HOME=/some/path puts guard's "
				   "state elsewhere");
	} else if (run_in_session(&run, &status, &err) < 0) {
		output_error(&err);
		if (run.keeper == 0)
			forget(&run);
	} else if (run_end(&run, status, &err) < 0) {
		(void)err_context(&err, "run %s has ended, its layer is kept",
				  run.session.id);
		output_error(&err);
	}
	run_free(&run);
	return status;
}
