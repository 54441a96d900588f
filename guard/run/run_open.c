#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/boot.h"
#include "base/fd.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/text.h"
#include "guard/agent/agent.h"
#include "guard/change/importer.h"
#include "guard/change/late_base.h"
#include "guard/change/moved_dirs.h"
#include "guard/change/recover.h"
#include "guard/change/resolve_run.h"
#include "guard/run/run.h"
#include "guard/state/moved_project.h"
#include "guard/state/report.h"
#include "overlay/layers.h"
#include "overlay/torn.h"
#include "restore/git/gitdir.h"

/* In the record: the version of the saved options, and each of them as it is
 * written. */
#define NOTED "options"
#define OPTION "option"
#define VERSION 1
#define HIDE "--hide="
#define NAMED_MOST 4 /* other runs of the project */

/* ---- a repository outside of the project ---- */

/*
 * Finds the repository of a project whose repository is outside of the project:
 * a linked worktree, a submodule, a work tree with a separate git directory or
 * with a link in place of .git. A run gets a layer over the repository too;
 * without the layer, `git commit` would fail in the run.
 */

/* Whether this is a repository of the user's: a text or a link could name any
 * directory. */
static bool is_repository(const char *path)
{
	auto_close int fd = fd_open_dir_path(AT_FDCWD, path);
	struct stat self, objects, refs, head;

	return fd >= 0 && fstat(fd, &self) == 0 && self.st_uid == geteuid() &&
	       fstatat(fd, "objects", &objects, AT_SYMLINK_NOFOLLOW) == 0 &&
	       (S_ISDIR(objects.st_mode) || S_ISLNK(objects.st_mode)) &&
	       fstatat(fd, "refs", &refs, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISDIR(refs.st_mode) &&
	       fstatat(fd, "HEAD", &head, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISREG(head.st_mode);
}

/*
 * The directory with a layer of its own: absolute, without symbolic links, the
 * caller's to free. That of objects and refs or, where only this is elsewhere,
 * that of the objects. NULL when no such directory exists, when it belongs to
 * another user, and when it is inside the project or holds the project.
 */
static char *find_outside(const struct gitdir *d, const char *project)
{
	const char *path = d->common;
	struct stat st;

	if (!path || !is_repository(path))
		return NULL;
	if (d->objects && path_below(path, project))
		path = d->objects;
	if (path_below(path, project) || path_below(project, path) ||
	    stat(path, &st) < 0 || !S_ISDIR(st.st_mode) ||
	    st.st_uid != geteuid())
		return NULL;
	return mem_strdup(path);
}

char *run_find_project(const struct run *run, struct err *err)
{
	const struct state *st = &run->context.state;
	auto_free char *here = NULL;

	if (run->options->exec_project)
		return mem_strdup(run->options->exec_project);
	if (!run->options->home) {
		here = state_project(st, run->options->dir, PROJECT_RUN, err);
		if (here)
			moved_project_find(st, here);
		return TAKE(here);
	}
	here = path_resolve(run->options->dir ? run->options->dir : ".", err);
	if (!here)
		return NULL;
	if (st->home && path_below(here, st->home) &&
	    strcmp(st->home, "/") != 0)
		return mem_strdup(st->home);
	(void)fail(err, EINVAL, "--home: %s is not in your home directory%s%s",
		   text_quote(here), st->home ? " " : "",
		   st->home ? text_quote(st->home) : "");
	return NULL;
}

int run_open_project(struct run *run, struct err *err)
{
	struct err ignored;

	run->project = run_find_project(run, err);
	if (!run->project)
		return -err->num;
	run->cwd = path_resolve(run->options->dir ? run->options->dir : ".",
				&ignored);
	if (run->options->exec_cwd) {
		free(run->cwd);
		run->cwd = mem_strdup(run->options->exec_cwd);
	}
	if (!run->cwd)
		run->cwd = mem_strdup(run->project);
	run->project_fd = fd_open_dir(AT_FDCWD, run->project);
	if (run->project_fd < 0)
		return fail_errno(err, "the project %s cannot be read",
				  text_quote(run->project));
	if (faccessat(run->project_fd, ".", X_OK, AT_EACCESS) < 0)
		return fail_errno(err, "the project %s cannot be entered",
				  text_quote(run->project));
	/* An interrupted apply or restore is ended first. */
	return recover_project(&run->context, run->project, err) < 0 ? -err->num
								     : 0;
}

int run_load_agent(struct run *run, struct err *err)
{
	agent_find_settings(&run->context.state);
	places_find(environ, run->context.state.home, run->project,
		    run->context.state.fd, &run->places);
	if (agent_load(run->options, &run->context.state, run->project,
		       &run->agent, err) < 0)
		return -err->num;
	run->options = &run->agent->options;
	return 0;
}

void run_restore_results(struct run *run)
{
	struct session *s = &run->session;
	size_t i;

	if (!run->results_before)
		return;
	for (i = 0; i <= s->root_count; i++)
		s->roots[i].result = run->results_before[i];
}

/* From now on a later boot has synced the layer. */
static int keep_torn(struct run *run, struct err *err)
{
	AUTO(changes) struct changes changes = CHANGES_NONE;
	struct session *s = &run->session;
	AUTO(torn) struct torn t;

	torn_load(s, &t);
	if (!torn_any(&t))
		return 0;
	if (changes_load(s, &run->context.state, &changes, err) < 0 ||
	    changes_torn_keep(s, &changes, err) < 0)
		return -err->num;
	record_set(&s->more, TORN_LIST, "1");
	/* Comes after the list, because it ends the cut. */
	return torn_save_synced(s, timestamp_now(), ATOMIC_DURABLE, err);
}

/* --continue: the named run, else the newest pending one. */
static int resume_session(struct run *run, struct err *err)
{
	size_t i;

	free(run->context.project);
	run->context.project = mem_strdup(run->project);
	if (resolve_run_text(&run->context, run->options->resume_id ?: "latest",
			     true, &run->session, err) < 0)
		return -err->num;
	if (strcmp(run->session.project, run->project) != 0)
		return fail(err, EINVAL,
			    "run %s belongs to another project, %s: change to "
			    "that directory",
			    run->session.id, text_quote(run->session.project));
	if (!run_state_pending(run->session.state))
		return fail(err, EINVAL, "run %s is %s and cannot be continued",
			    session_label(&run->session),
			    run_state_name(run->session.state));
	if (moved_dirs_any(&run->session) &&
	    (context_store(&run->context, STORE_WRITE, err) < 0 ||
	     moved_dirs_restore(&run->session, run->context.store, err) < 0))
		return -err->num;
	if (!run->options->copy_dir) {
		record_set(&run->session.more, RUN_TEST, NULL);
		if (keep_torn(run, err) < 0)
			return -err->num;
	}
	if (run->options->exec_project)
		run->read_only_exec = read_only_exec_begin(&run->session);
	if (late_base_widen(&run->context, &run->session, err) < 0)
		return -err->num;
	/* The stored results are outdated once the command runs. */
	run->results_before =
		mem_resize(NULL, run->session.root_count + 1, sizeof(uint64_t));
	for (i = 0; i <= run->session.root_count; i++) {
		run->results_before[i] = run->session.roots[i].result;
		run->session.roots[i].result = 0;
	}
	return run_check_cows(run, err);
}

static int new_session(struct run *run, const char *command, struct err *err)
{
	AUTO(gitdir) struct gitdir dir = {0};
	AUTO(githead) struct githead head = {0};
	auto_free char *git = gitdir_find(run->project, &dir)
				      ? find_outside(&dir, run->project)
				      : NULL;
	AUTO(grants) struct grants cows = {0};
	const char *home =
		run->options->strict ? NULL : run->context.state.home;
	bool made;

	if (run_find_cows(run, git, &cows, err) < 0)
		return -err->num;
	made = session_create(run->context.state.runs_fd, run->project,
			      run->project_fd, home, command, &run->session,
			      err) == 0 &&
	       run_add_cows(run, &cows, err) == 0 &&
	       run_add_mounts(run, err) == 0;
	if (!made)
		return -err->num;
	record_set(&run->session.more, LAYERS_BOOT, boot_id());
	if (git && !path_below(run->context.state.path, git))
		record_set(&run->session.more, LAYERS_GIT, git);
	if (gitdir_head(&dir, &head)) {
		auto_free char *text =
			mem_printf("%s %s", *head.id.hex ? head.id.hex : "-",
				   head.branch ?: "");

		record_set(&run->session.more, IMPORTER_HEAD, text);
	}
	return 0;
}

/* "a", "a and b", "a, b and c", "a, b and 3 more" */
static void add_names(struct buf *to, const struct names *names)
{
	size_t i, shown = names->count > NAMED_MOST ? NAMED_MOST - 1
						    : names->count;

	for (i = 0; i < shown; i++)
		buf_printf(to, "%s%s",
			   !i			  ? ""
			   : i + 1 < names->count ? ", "
						  : " and ",
			   names->items[i]);
	if (shown < names->count)
		buf_printf(to, " and %zu more", names->count - shown);
}

/* Runs of the project whose changes a new run does not see. */
static void report_others(const struct names *runs, bool running)
{
	AUTO(buf) struct buf all = {0};
	bool one = runs->count == 1;

	if (!runs->count)
		return;
	add_names(&all, runs);
	report_note("%s %s %s here (%s): %s changes are not in this one; "
		    "guard %s %s -- CMD %s %s",
		    text_count(runs->count, "run"), one ? "is" : "are",
		    running ? "running" : "pending", buf_text(&all),
		    one ? "its" : "their", running ? "exec" : "run --continue",
		    one ? runs->items[0] : "RUN",
		    running ? "joins" : "goes on in", one ? "it" : "one");
}

static int check_others(const struct run *run, struct err *err)
{
	const char *wanted = run->options->name;
	const bool named = !run->options->quiet && !run->options->resume;
	AUTO(session_list) struct session_list list = {0};
	AUTO(names) struct names pending = {0}, running = {0};
	size_t i;

	if (!wanted && !named)
		return 0;
	if (session_list_pending(run->context.state.runs_fd, run->project,
				 &list, err) < 0)
		return -err->num;
	for (i = 0; i < list.count; i++) {
		const struct session *s = &list.items[i];

		if (!run_state_pending(s->state) ||
		    strcmp(s->project, run->project) != 0)
			continue;
		if (wanted && strcmp(session_label(s), wanted) == 0)
			return fail(err, EEXIST,
				    "a pending run of this project, %s, is "
				    "already called %s: choose another --name",
				    s->id, text_quote(wanted));
		names_add(resolve_run_is_running(s) ? &running : &pending,
			  session_label(s));
	}
	if (named) {
		report_others(&pending, false);
		report_others(&running, true);
	}
	return 0;
}

/* A continued run has the options of its own call: a path that an earlier
 * command could not read is readable again without --hide. */
static void report_dropped_masks(const struct run *run)
{
	const char *option;
	size_t i;

	for (i = 0; (option = record_get_nth(&run->session.more, OPTION, i));
	     i++)
		if (strncmp(option, HIDE, strlen(HIDE)) == 0 &&
		    !mem_list_has(run->options->saved_options, option))
			report_note("%s was hidden from run %s before and is "
				    "not now: --hide hides it again",
				    text_quote(option + strlen(HIDE)),
				    session_label(&run->session));
}

/* The options are noted in the run's record, so that a later command gets the
 * same policy. */
static void save_options(struct session *s, char *const *saved_options)
{
	record_set_int(&s->more, NOTED, VERSION);
	record_set(&s->more, OPTION, NULL);
	for (; saved_options && *saved_options; saved_options++)
		record_add(&s->more, OPTION, *saved_options);
}

static int open_session(struct run *run, struct err *err)
{
	char *const *argv = run->options->argv;
	AUTO(buf) struct buf command = {0};

	for (; *argv; argv++)
		buf_printf(&command, "%s%s", command.len ? " " : "", *argv);
	if (layers_check_state(run->context.state.runs_fd, err) < 0 ||
	    check_others(run, err) < 0)
		return -err->num;
	if ((run->options->resume
		     ? resume_session(run, err)
		     : new_session(run, buf_text(&command), err)) < 0)
		return -err->num;
	record_set(&run->session.more, TORN_KNOWN, "1");
	if (run->options->exec_project)
		return 0;
	if (run->options->name)
		session_set_name(&run->session, run->options->name);
	report_dropped_masks(run);
	save_options(&run->session, run->options->saved_options);
	free(run->session.command);
	run->session.command = buf_take_text(&command);
	return 0;
}

int run_open_session(struct run *run, struct err *err)
{
	int naming = -1, got;

	if (!run->options->name || run->options->resume)
		return open_session(run, err);
	naming =
		lock_take(run->context.state.fd, "names.lock", true, true, err);
	if (naming < 0)
		return naming;
	/* The next one sees the name in the record. */
	got = open_session(run, err);
	if (got == 0)
		got = session_set_state(&run->session, RUN_NEW, err);
	lock_release(&naming);
	return got;
}

/* ---- saved options ---- */

bool run_saved_options_has(const struct session *s, const char *wanted)
{
	return record_has(&s->more, OPTION, wanted);
}

int run_saved_options_load(const struct session *s, char ***ret,
			   struct err *err)
{
	char **list = NULL;
	const char *option;
	size_t i;

	if (record_get_int(&s->more, NOTED) != VERSION)
		return fail(err, ENODATA,
			    "run %s was started by another version of guard, "
			    "which did not record its options: use `guard run "
			    "--continue=%s ... -- COMMAND`",
			    s->id, s->id);
	for (i = 0; (option = record_get_nth(&s->more, OPTION, i)); i++)
		mem_list_add(&list, option);
	*ret = list;
	return 0;
}
