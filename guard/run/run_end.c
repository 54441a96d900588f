#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/dirtree.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/text.h"
#include "guard/agent/agent.h"
#include "guard/agent/home_versions.h"
#include "guard/change/action.h"
#include "guard/change/changes.h"
#include "guard/change/apply_commits.h"
#include "guard/change/late_base.h"
#include "guard/change/recover.h"
#include "guard/change/results.h"
#include "guard/state/report.h"
#include "guard/state/reserve.h"
#include "guard/state/storing.h"
#include "guard/state/private_paths.h"
#include "guard/retention/retire.h"
#include "guard/run/run.h"
#include "guard/timeline/timeline.h"
#include "overlay/layers.h"
#include "overlay/session_base.h"
#include "restore/workspace.h"
#include "snapshot/tree/changed_paths.h"

/* Parts of a path below /tmp that is a mount point in a run. */
#define MOUNT_POINT_DEPTH 32

static int open_dir_at(int dirfd, const char *name, struct err *err)
{
	int fd = fd_open_dir(dirfd, name);

	return fd < 0 ? fail_errno(err, "open %s", text_quote(name)) : fd;
}

/* How long the end of a run waits for the snapshot from before it, and how long
 * nothing is said about that. */
#define WAIT_MS 5000
#define LOOK_MS 20
#define SILENT_MS 400
#define STEP_MS 5

/* A large first snapshot takes minutes: how much, and how to end it. */
static void report_finishing(const struct run *run)
{
	auto_free char *text = NULL;
	struct storing storing;
	bool found = storing_find(run->context.state.workspaces_fd,
				  run->session.roots[0].path, &storing);

	if (found && storing.total_files)
		text = storing_text(&storing);
	if (found)
		free(storing.run_id);
	report_note("finishing the snapshot of the project from before the "
		    "run%s%s%s",
		    text ? ": " : "", text ?: "",
		    found ? " (guard stop --snapshot ends it)" : "");
}

/* Whether the snapshot of a large directory goes on. */
static bool stores_large(const struct run *run)
{
	const struct session *s = &run->session;
	bool large = false;
	size_t i;

	for (i = 0; i < s->root_count; i++) {
		struct storing storing = {0};

		large |= storing_find(run->context.state.workspaces_fd,
				      s->roots[i].path, &storing) &&
			 storing.large;
		free(storing.run_id);
	}
	return large;
}

/* early: not for that of a large directory. */
static int wait_for_base(struct run *run, bool early, struct err *err)
{
	struct session *s = &run->session;
	int waited, got;

	base_snapshot_worker_hurry(run);
	for (waited = 0; (got = session_base(s, false, err)) == 0 &&
			 session_base_pending(s) && waited < WAIT_MS;
	     waited += STEP_MS) {
		if (early && waited % LOOK_MS == 0 && stores_large(run))
			break;
		if (waited == SILENT_MS)
			report_finishing(run);
		(void)poll(NULL, 0, STEP_MS);
	}
	return got;
}

/* Waits no longer for the snapshot of a large project than it must: a late base
 * of the changed paths has the same files, unless the user has changed one
 * meanwhile. */
static int find_base(struct run *run, struct store *store,
		     const struct changes *c, struct err *err)
{
	struct session *s = &run->session;
	const struct state *state = &run->context.state;
	struct err why = {0};
	int got = wait_for_base(run, true, &why);
	size_t i;

	if (got == 0 && session_base_pending(s) && stores_large(run)) {
		got = late_base_take(store, state, s, c, true, &why);
		if (got == 0)
			return 0;
		for (i = 0; i < s->root_count; i++) {
			s->roots[i].base = 0;
			s->roots[i].late = false;
		}
		got = wait_for_base(run, false, &why);
	}
	/* The changed paths alone are stored now, the others after the run. */
	if (got == 0 && session_base_pending(s))
		base_snapshot_worker_end(run);
	if (got == 0)
		got = session_base(s, true, &why);
	if (got < 0 && got != -ENODATA) {
		*err = why;
		return got;
	}
	if (late_base_take(store, state, s, c, false, err) < 0) {
		*err = got < 0 ? why : *err;
		return -err->num;
	}
	return 0;
}

/* An apply that went on at the run's end has moved the base, and changed the
 * files with which the layer was compared: both are read again. *ret_lock: the
 * project's; -1: it is held for long. */
static int lock_out_applies(struct run *run, struct changes *c, int *ret_lock,
			    struct err *err)
{
	struct session *s = &run->session;
	auto_free struct session_root *before =
		mem_dup(s->roots, (s->root_count + 1) * sizeof(*before));
	auto_close int workspace = workspace_open(
		run->context.state.workspaces_fd, s->project, true, err);
	auto_close int lock = -1;
	int waited;
	bool moved = false;
	size_t i;

	if (workspace < 0)
		return workspace;
	/* An apply that waits for an answer of the user has changed nothing. */
	for (waited = 0; waited < WAIT_MS; waited += LOOK_MS) {
		lock = workspace_lock(workspace, false, "", err);
		if (lock != -EBUSY)
			break;
		(void)poll(NULL, 0, LOOK_MS);
	}
	if ((lock < 0 && lock != -EBUSY) || session_base(s, false, err) < 0)
		return -err->num;
	for (i = 0; i < s->root_count; i++)
		moved |= before[i].applied != s->roots[i].applied;
	if (moved) {
		changes_free(c);
		if (changes_load(s, &run->context.state, c, err) < 0)
			return -err->num;
	}
	*ret_lock = TAKE_FD(lock);
	return 0;
}

static int store_roots(struct run *run, const struct changes *changes,
		       bool *kept, struct err *err)
{
	const uint64_t *before = run->results_before;
	struct session *s = &run->session;
	size_t i;

	for (i = 0; i < s->root_count; i++)
		if (results_store_root(run->context.store, s, i,
				       &changes->roots[i],
				       before ? before[i] : 0, kept, err) < 0)
			return -err->num;
	return 0;
}

/* *kept: set if a change is left that only the results before have. With a late
 * base where there is no other. Changes that were applied during the run are no
 * longer in the list and belong to the result. */
static int store_results(struct run *run, struct changes *changes, bool *kept,
			 struct err *err)
{
	struct session *s = &run->session;
	struct context *c = &run->context;
	struct changes_root *home = changes_home(changes);
	const uint64_t *before = run->results_before;
	bool project =
		changes_total(changes) || session_has_applied(s) || before;
	auto_close int lock = -1;
	struct err why;
	int got = 0;

	if (!project && !home->list.count)
		return 0;
	if (context_store(c, STORE_WRITE, err) < 0)
		return -err->num;
	if (project)
		got = find_base(run, c->store, changes, err);
	if (got == 0)
		got = lock_out_applies(run, changes, &lock, err);
	if (got == 0)
		got = store_refresh(c->store, err);
	if (got == 0 && project)
		got = store_roots(run, changes, kept, err);
	if (got == 0) {
		home = changes_home(changes);
		record_set(&s->more, SESSION_STORED,
			   changes_complete(changes) ? "1" : NULL);
		record_set(&s->more, CHANGES_HOME, NULL);
		if (results_store_home(c, s, home,
				       before ? before[s->root_count] : 0, kept,
				       &why) < 0)
			report_warning("%s", why.text);
		changed_paths_update(c->store, 1);
	}
	store_free(&c->store);
	/* The child must not hold it. */
	fd_close(&lock);
	if (got == 0)
		base_snapshot_worker_index(run);
	return got;
}

/* Whether there is an entry other than a directory below name in dirfd: the
 * mount points that guard makes in a private directory are directories. */
static bool holds_files(int dirfd, const char *name, unsigned int depth)
{
	AUTO(dirlist) struct dirlist list = {0};
	struct err ignored;
	auto_close int fd = open_dir_at(dirfd, name, &ignored);
	size_t i;

	if (fd < 0 || depth > MOUNT_POINT_DEPTH ||
	    dirlist_read(fd, &list, &ignored) < 0)
		return true;
	for (i = 0; i < list.count; i++)
		if (list.items[i].type != DT_DIR ||
		    holds_files(fd, list.items[i].name, depth + 1))
			return true;
	return false;
}

/* Reports entries that have changed to another group or user since the snapshot
 * before. */
static void report_stale_gids(const struct run *run)
{
	const char *path = gid_cache_find_stale(
		&run->session, run->context.state.workspaces_fd);

	if (path)
		report_note("%s now has files of another group or user: this "
			    "run could not write to them (\"Value too large "
			    "for defined data type\"), the next one can",
			    text_quote(path));
}

/* The snapshot that goes on in the background when the run has ended. */
static void report_storing(const struct run *run)
{
	const struct session *s = &run->session;
	struct storing storing;
	size_t i;

	for (i = 0; i < s->root_count; i++) {
		auto_free char *text = NULL;

		if (storing_find(run->context.state.workspaces_fd,
				 s->roots[i].path, &storing) &&
		    storing_is_long(&storing)) {
			text = storing_text(&storing);
			report_note("storing %s in the background: %s (guard "
				    "stop --snapshot ends it)",
				    text_quote(s->roots[i].path), text);
		}
		free(storing.run_id);
	}
}

/* Whether the timeline has files that are gone again. */
static bool had_files(const struct session *s)
{
	struct timeline t = {0};
	struct err ignored;
	bool found = false;
	size_t i;

	(void)timeline_load(&t, s->fd, &ignored);
	for (i = 0; i < t.count; i++)
		found |= t.items[i].kind == TIMELINE_ENTRY &&
			 S_ISREG(t.items[i].mode) && t.items[i].size &&
			 !path_has_part(t.items[i].path, ".git");
	timeline_free(&t);
	return found;
}

static void drop_unchanged_run(struct run *run, const struct changes *changes)
{
	const struct change_list *home = &changes_home(changes)->list;
	struct err err;
	bool caches = false, kept;
	size_t i;

	for (i = 0; i < home->count; i++)
		caches |= changes_is_cache(home->items[i].path);

	report_note("run %s changed nothing%s%s", session_label(&run->session),
		    run->agent->code_changed ? " else" : "",
		    caches ? " but caches and histories in your home directory"
			   : "");
	if (had_files(&run->session))
		report_note("files that it had meanwhile are kept: guard log "
			    "%s",
			    run->session.id);
	report_storing(run);
	run_import_rest(&run->session, true);
	/* Files in its private /tmp are a result too, of a kind. */
	kept = home->count || holds_files(run->session.fd, "tmp", 0) ||
	       holds_files(run->session.fd, "var-tmp", 0) ||
	       import_is_due(run->session.fd, 0);
	/* The snapshot worker may still be about to write in it: the directory
	 * itself is removed later. */
	if (session_trash(&run->session, run->context.state.runs_fd,
			  run->context.state.trash_fd,
			  kept ? "unchanged" : SESSION_TRASH_EMPTY, &err) < 0)
		report_error(&err);
}

static int load_run_changes(struct run *run, struct changes *changes,
			    struct change_list *git, struct err *err)
{
	struct session *s = &run->session;
	const char *repository = record_get(&s->more, LAYERS_GIT);
	auto_close int upper = -1;
	auto_close int lower = -1;

	if (run_store_granted(run, true, err) < 0 ||
	    layers_finalize(s, err) < 0 ||
	    changes_load(s, &run->context.state, changes, err) < 0)
		return -err->num;
	if (!repository || faccessat(s->fd, "git-upper", F_OK, 0) < 0)
		return 0;
	upper = open_dir_at(s->fd, "git-upper", err);
	if (upper < 0)
		return upper;
	lower = open_dir_at(AT_FDCWD, repository, err);
	return lower < 0 ? lower : scan_layer(upper, lower, NULL, git, err);
}

/* Whether undo or redo may need the run: its changes were applied, or paths of
 * it discarded, before it ended. *ret_in_effect: not all of that is undone. */
static bool has_actions(const struct run *run, bool *ret_in_effect)
{
	const struct session *s = &run->session;
	struct err ignored;
	auto_close int fd = workspace_open(run->context.state.workspaces_fd,
					   s->project, false, &ignored);

	*ret_in_effect = fd < 0 || action_names_run(fd, s->id, false);
	return session_has_applied(s) ||
	       (fd >= 0 && action_names_run(fd, s->id, true));
}

struct read_only_exec {
	struct timestamp ended; /* before */
	/* Content of the home's layer. Caches get a mount point there while a
	 * command runs, so the mtime of that directory proves nothing. */
	struct dirlist home;
};

static int list_home(const struct session *s, struct dirlist *ret)
{
	struct err ignored;
	auto_close int fd = fd_open_dir(s->fd, "home-upper");

	return fd < 0 ? 0 : dirlist_read(fd, ret, &ignored);
}

struct read_only_exec *read_only_exec_begin(const struct session *s)
{
	struct read_only_exec *l;

	if (s->state != RUN_ENDED || !s->ended.sec)
		return NULL;
	l = mem_zalloc(sizeof(*l));
	l->ended = s->ended;
	if (list_home(s, &l->home) < 0) {
		read_only_exec_free(l);
		return NULL;
	}
	return l;
}

void read_only_exec_free(struct read_only_exec *l)
{
	if (l)
		dirlist_free(&l->home);
	free(l);
}

/*
 * Nothing in the layer is newer than the end before, since when all of it is on
 * disk and in the store; s says when the command began and ended. By a clock
 * that was set back nothing can be told: false, as of NULL.
 */
static bool is_layer_unchanged(const struct read_only_exec *l,
			       const struct session *s, const struct changes *c,
			       const struct change_list *git)
{
	const struct change_list *home = &changes_home(c)->list;
	AUTO(dirlist) struct dirlist now = {0};
	size_t i;

	if (!l || timestamp_compare(l->ended, s->started) >= 0 ||
	    timestamp_compare(s->started, s->ended) > 0 ||
	    timestamp_compare(git->newest, l->ended) >= 0)
		return false;
	for (i = 0; i < s->root_count; i++)
		if (timestamp_compare(c->roots[i].list.newest, l->ended) >= 0)
			return false;
	if (timestamp_compare(home->newest_below, l->ended) >= 0 ||
	    list_home(s, &now) < 0 || l->home.count != now.count)
		return false;
	for (i = 0; i < now.count; i++)
		if (strcmp(l->home.items[i].name, now.items[i].name) != 0)
			return false;
	return true;
}

/* Records the end of the command; the state of an ended run in which a command
 * was executed only later, when its changes are known. */
static int record_end(struct run *run, int status, struct err *err)
{
	const bool visit = run->options->exec_project;
	struct session *s = &run->session;
	auto_free char *code = mem_printf("%d", status);
	int got = 0;

	s->ended = timestamp_now();
	if (!visit)
		s->status = status;
	agent_end(run->agent, s);
	state_log(&run->context.state, "end", "run", s->id, "status", code,
		  NULL);
	if (!visit)
		got = session_set_state(s, RUN_ENDED, err);
	if (got == -EDQUOT || got == -ENOSPC) {
		/* A quota can be full long before the disk, and only the disk
		 * is watched. */
		reserve_release(run->context.state.fd);
		got = session_set_state(s, RUN_ENDED, err);
	}
	return got;
}

/* An empty layer: no change of the run is left. */
static void end_unchanged(struct run *run, const struct changes *changes,
			  bool obeyed)
{
	run->ui->summary_begin();
	/* The next session of the agent executes or obeys a change. */
	if (obeyed)
		run->ui->agent_changes(&run->session);
	report_stale_gids(run);
	drop_unchanged_run(run, changes);
	retire_runs(&run->context, false);
}

static void report_git(const struct session *s, const struct change_list *git)
{
	if (!git->count)
		return;
	report_note("%s in the repository %s", text_count(git->count, "change"),
		    text_quote(record_get(&s->more, LAYERS_GIT)));
	if (!apply_commits_seen(s, git, ""))
		return;
	report_hint("guard apply --commits %s  apply its commits and files",
		    session_label(s));
	report_hint("guard import %s  import its commits, to merge them",
		    session_label(s));
	apply_commits_report_push(s, git, "");
}

int run_end(struct run *run, int status, struct err *err)
{
	AUTO(changes) struct changes changes = CHANGES_NONE, own = CHANGES_NONE;
	AUTO(change_list) struct change_list git = {0};
	struct changes *shown = &changes;
	struct session *s = &run->session;
	const bool visit = run->options->exec_project;
	struct err ignored, why;
	bool any, acted, in_effect, obeyed, kept = false;
	int got;

	/* The caller removes the copy. */
	if (run->options->copy_dir) {
		sandbox_unmount(run->sandbox);
		return 0;
	}
	if (record_end(run, status, err) < 0)
		return -err->num;
	/* Changes may have been applied while the run was live. */
	(void)session_base(s, false, &ignored);
	got = load_run_changes(run, &changes, &git, err);
	obeyed = agent_code_commands(run->agent, &changes, s) ||
		 run->agent->code_changed;
	if (obeyed && !visit && got == 0)
		got = session_save(s, err);
	any = changes_total(&changes) || changes_count_home(&changes);
	if (got == 0 && visit && !obeyed && (any || git.count) &&
	    is_layer_unchanged(run->read_only_exec, s, &changes, &git)) {
		session_open_work(s);
		return session_forget_resumed(s, err);
	}
	if (visit &&
	    session_set_state(s, RUN_ENDED, got < 0 ? &ignored : err) < 0)
		return -err->num;
	if (got < 0)
		return got;
	/* An empty layer is removed: it is never mounted again, and a power cut
	 * can lose nothing of value in it. Any other layer is on disk from here
	 * on. */
	acted = has_actions(run, &in_effect);
	if (!any && run->results_before &&
	    store_results(run, &changes, &kept, err) < 0)
		return -err->num;
	if (!any && !git.count && !acted && !kept) {
		end_unchanged(run, &changes, obeyed);
		return 0;
	}
	sandbox_unmount(run->sandbox);
	if (run_syncs_final(s, &why) < 0)
		report_warning("%s", why.text);
	session_open_work(s);
	reserve_release(run->context.state.fd);
	if (((any || !run->results_before) &&
	     store_results(run, &changes, &kept, err) < 0) ||
	    session_save(s, err) < 0)
		got = -err->num;
	if (session_base_pending(s))
		report_storing(run);
	report_stale_gids(run);
	/* Paths that were applied during the run, and edited since, are no
	 * changes of the run. */
	if (run->options->instead || session_has_applied(s)) {
		if (changes_load_own(&run->context, s, &own, &ignored) == 0)
			shown = &own;
		if (got == 0 && in_effect && session_has_applied(s))
			got = recover_set_run_state(&run->context, s, false,
						    err);
	}
	if (any)
		changes_find_moves(shown);
	if (obeyed)
		run->ui->agent_changes(s);
	if (any || acted || kept)
		run->ui->changes(s, shown);
	else
		run->ui->summary_begin();
	report_git(s, &git);
	run_import_rest(s, false);
	retire_runs(&run->context, false);
	return got;
}

static void compare_home(struct run *run, struct store *store,
			 const char *below, uint64_t before, uint64_t now)
{
	struct agent *a = run->agent;
	struct err err;
	const int got = agent_code_compare(a, &run->context.state, store, below,
					   before, now, &run->session, &err);

	if (got < 0)
		report_warning("the home of %s cannot be compared with the "
			       "one before the run: %s",
			       a->name, err.text);
	a->code_changed |= got > 0;
}

static int store_agent_home(struct run *run, struct store *store, bool after,
			    struct err *err)
{
	struct agent *a = run->agent;
	const struct state *state = &run->context.state;
	struct record *record = &run->session.more;
	AUTO(home_versions) struct home_versions h = {0};
	uint64_t seq = 0;

	if (home_versions_open(state, a->name, &a->profile, &h, err) < 0)
		return err->num == ENOENT ? 0 : -err->num;
	home_versions_keep_logins(&h, state);
	if (home_versions_store_dir(state, &run->session, store, h.path,
				    (const char *const *)h.logins,
				    after ? AGENT_REASON_AFTER
					  : AGENT_REASON_BEFORE,
				    &seq, err) < 0)
		return -err->num;
	/* A run that goes on began with its first command. */
	if (after || !record_get(record, AGENT_BEFORE))
		record_set_int(record, after ? AGENT_AFTER : AGENT_BEFORE,
			       (int64_t)seq);
	if (!after) {
		a->home_before = seq;
		return 0;
	}
	home_versions_report_losses(
		&h, state, &a->profile, store, a->had_login,
		(uint64_t)record_get_int(record, AGENT_BEFORE), seq);
	compare_home(run, store, "", a->home_before, seq);
	return 0;
}

/* The user's real directory of the agent: --share-login. */
static struct agent_place *find_shared(struct agent *a, const char *path)
{
	size_t i;

	for (i = 0; a->shared && i < a->places.count; i++)
		if (a->places.items[i].item->word == PROFILE_HOME &&
		    strcmp(a->places.items[i].path, path) == 0)
			return &a->places.items[i];
	return NULL;
}

static int store_writable(struct run *run, struct store *store,
			  const char *path, bool after, struct err *err)
{
	struct agent_place *home = find_shared(run->agent, path);
	AUTO(mem_list)
	char **skip = private_paths_list(&run->context.state, NULL);
	const char *reason = after  ? home ? AGENT_REASON_AFTER : "post-rw"
			     : home ? AGENT_REASON_BEFORE
				    : "pre-rw";
	uint64_t seq;

	if (home_versions_store_dir(&run->context.state, &run->session, store,
				    path, (const char *const *)skip, reason,
				    &seq, err) < 0)
		return -err->num;
	if (home && after)
		compare_home(run, store, home->item->value, home->before, seq);
	else if (home)
		home->before = seq;
	return 0;
}

int run_store_granted(struct run *run, bool after, struct err *err)
{
	const struct agent *a = run->agent;
	const struct grants *grants = &a->grants;
	bool home = a->name && !a->shared;
	struct store *store = NULL;
	size_t i, count = 0;
	int got = 0;

	for (i = 0; i < grants->count; i++)
		count += grants->items[i].kind == GRANT_READ_WRITE;
	if (!count && !home)
		return 0;
	if (store_open(&store, run->context.state.store_path, STORE_WRITE,
		       err) < 0)
		return -err->num;
	for (i = 0; i < grants->count && got == 0; i++)
		if (grants->items[i].kind == GRANT_READ_WRITE)
			got = store_writable(run, store, grants->items[i].real,
					     after, err);
	if (got == 0 && home)
		got = store_agent_home(run, store, after, err);
	store_free(&store);
	return got;
}
