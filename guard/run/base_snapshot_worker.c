#include <errno.h>
#include <fcntl.h>
#include <linux/ioprio.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/text.h"
#include "guard/state/background.h"
#include "guard/state/report.h"
#include "guard/state/storing.h"
#include "guard/state/unstored.h"
#include "guard/state/usage.h"
#include "guard/state/private_paths.h"
#include "guard/retention/retire.h"
#include "guard/retention/settings.h"
#include "guard/run/run.h"
#include "overlay/layers.h"
#include "overlay/session_base.h"
#include "restore/transaction.h"
#include "restore/workspace.h"
#include "snapshot/store/store_dir.h"
#include "snapshot/store/store_index.h"
#include "snapshot/tree/changed_paths.h"
#include "snapshot/walk/take.h"

#define NAME "groups"
#define VERSION 2
#define GID "gid"
#define FOREIGN "foreign"
#define DEV "dev"
#define INO "ino"

/* After a full snapshot of the directory. A failure is no error: the next run
 * examines the files itself. */
static void gid_cache_save(int workspace_fd, int dir_fd, bool foreign)
{
	AUTO(record) struct record r = {0};
	struct err ignored;
	struct meta m;

	if (geteuid() == 0 || meta_get(dir_fd, "", &m) < 0)
		return;
	record_set_int(&r, DEV, (int64_t)m.dev);
	record_set_int(&r, INO, (int64_t)m.ino);
	record_set_int(&r, GID, getegid());
	record_set_int(&r, FOREIGN, foreign);
	(void)record_save(workspace_fd, NAME, NAME, VERSION, &r, ATOMIC_NO_SYNC,
			  &ignored);
}

/* Whether such entries were seen in the directory; -ENOENT: it is unknown. */
static int find_recorded_foreign(int workspaces_fd,
				 const struct session_root *root)
{
	AUTO(record) struct record r = {0};
	struct err ignored;
	auto_close int fd =
		workspace_open(workspaces_fd, root->path, false, &ignored);

	if (fd < 0 || record_load(fd, NAME, NAME, VERSION, &r, &ignored) < 0 ||
	    record_get_int(&r, DEV) != (int64_t)root->dev ||
	    record_get_int(&r, INO) != (int64_t)root->dir.ino ||
	    record_get_int(&r, GID) != getegid())
		return -ENOENT;
	return record_get_int(&r, FOREIGN) != 0;
}

void gid_cache_recall(struct session *s, int workspaces_fd)
{
	size_t i;

	for (i = 0; geteuid() != 0 && i < s->root_count; i++)
		if (find_recorded_foreign(workspaces_fd, &s->roots[i]) == 0)
			record_add(&s->more, LAYERS_ONE_GROUP,
				   s->roots[i].path);
}

const char *gid_cache_find_stale(const struct session *s, int workspaces_fd)
{
	size_t i;

	for (i = 0; i < s->root_count; i++)
		if (record_has(&s->more, LAYERS_ONE_GROUP, s->roots[i].path) &&
		    find_recorded_foreign(workspaces_fd, &s->roots[i]) > 0)
			return s->roots[i].path;
	return NULL;
}

/* ---- the worker ---- */

/* The record of a snapshot's progress. */
struct progress {
	struct storing storing;
	int workspace_fd;
	time_t saved;
};

static void save_progress(void *arg, uint64_t files, uint64_t bytes)
{
	struct progress *p = arg;
	time_t now = time(NULL);
	bool large = p->storing.large || files >= STORING_LARGE;

	if (p->saved == now && large == p->storing.large)
		return;
	p->saved = now;
	p->storing.large = large;
	p->storing.files = files;
	p->storing.bytes = bytes;
	storing_save(p->workspace_fd, &p->storing);
}

static void begin_progress(struct progress *p, struct run *run,
			   int workspace_fd)
{
	*p = (struct progress){
		.storing = {.pid = getpid(),
			    .run_id = run->session.id,
			    .since = storing_clock()},
		.workspace_fd = workspace_fd,
	};
	storing_save(workspace_fd, &p->storing);
}

/* Before anything takes long: the end of a short run asks for it. */
static void note_large(struct progress *p, const char *path)
{
	struct usage first = {.most_entries = STORING_LARGE};

	usage_add(AT_FDCWD, path, &first);
	if (!usage_is_above(&first))
		return;
	p->storing.large = true;
	storing_save(p->workspace_fd, &p->storing);
}

/* ---- directories that are not stored unasked ---- */

#define RECOUNT_SECONDS (24 * 3600)

/* The snapshot of one directory. */
struct dir_snapshot {
	struct run *run;
	const struct state *state;
	const struct settings *settings;
	struct store *store;
	struct timestamp start;
	bool after; /* the run has ended */
	bool asked; /* the user wants it, whatever the size */
};

static bool may_store_any_size(const struct dir_snapshot *d, const char *path)
{
	auto_free char *git = mem_printf("%s/.git", path);

	return d->asked ||
	       (d->state->home && path_below(path, d->state->home)) ||
	       faccessat(AT_FDCWD, git, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Counts a directory before its first snapshot, the only one that reads
 * everything. False: it is too large to be stored unasked. */
static bool count_before_first(const struct dir_snapshot *d, int workspace,
			       const char *path, struct usage *usage)
{
	struct unstored u = {0};

	if (!may_store_any_size(d, path)) {
		usage->most_bytes = d->settings->ask_bytes;
		usage->most_entries = d->settings->ask_files;
		/* A short run does not wait for the same count again. */
		if (unstored_load(workspace, &u) &&
		    timestamp_now().sec - u.time < RECOUNT_SECONDS) {
			usage->bytes = u.bytes;
			usage->entries = u.files;
			if (usage_is_above(usage))
				return false;
			usage->bytes = usage->entries = 0;
		}
	}
	usage_add(AT_FDCWD, path, usage);
	if (!usage_is_above(usage))
		return true;
	u.files = usage->entries;
	u.bytes = usage->bytes;
	u.at_least = true;
	unstored_save(workspace, &u);
	return false;
}

/* No process waits for the size of what was not stored. */
static void count_unstored(const struct state *state, const struct session *s)
{
	struct err ignored;
	size_t i;

	for (i = 0; i < s->root_count; i++) {
		auto_close int workspace =
			workspace_open(state->workspaces_fd, s->roots[i].path,
				       false, &ignored);
		struct usage usage = {0};
		struct unstored u;

		if (s->roots[i].base || workspace < 0 ||
		    !unstored_load(workspace, &u) || !u.at_least)
			continue;
		usage_add(AT_FDCWD, s->roots[i].path, &usage);
		/* The user may have answered meanwhile. */
		if (!unstored_load(workspace, &u))
			continue;
		u.files = usage.entries;
		u.bytes = usage.bytes;
		u.at_least = false;
		unstored_save(workspace, &u);
	}
}

/* *ret_seq: 0 when the directory is too large to be stored unasked. */
static int take_dir_snapshot(const struct dir_snapshot *d, const char *path,
			     uint64_t *ret_seq, struct err *err)
{
	struct run *run = d->run;
	AUTO(mem_list) char **skip = private_paths_list(d->state, NULL);
	AUTO(snapshot) struct snapshot snapshot = {0};
	atomic_bool foreign = false;
	auto_free char *cache = NULL;
	auto_close int workspace =
		workspace_open(d->state->workspaces_fd, path, true, err);
	auto_close int lock = -1, dir_fd = -1;
	struct progress progress;
	struct usage usage = {0};
	int got;

	*ret_seq = 0;

	if (workspace < 0)
		return workspace;
	/* One at a time: the second finds all that the first has kept. */
	lock = lock_take(workspace, STORING_LOCK, true, true, err);
	if (lock < 0 || store_refresh(d->store, err) < 0)
		return -err->num;
	cache = workspace_cache_path(workspace);
	begin_progress(&progress, run, workspace);
	if (access(cache, F_OK) < 0) {
		note_large(&progress, path);
		if (!count_before_first(d, workspace, path, &usage)) {
			storing_end(workspace);
			return 0;
		}
	}
	progress.storing.total_files = usage.entries;
	progress.storing.total_bytes = usage.bytes;
	storing_save(workspace, &progress.storing);
	dir_fd = fd_open_dir(AT_FDCWD, path);
	got = take_snapshot(
		d->store,
		&(struct take_options){
			.root_path = path,
			.root_fd = dir_fd,
			.cache_path = cache,
			.reason = d->after ? "manual" : "pre-run",
			.run_id = d->after ? NULL : run->session.id,
			.command = d->after ? NULL : run->session.command,
			.moved_since = d->start,
			.skip = (const char *const *)skip,
			.skip_prefix = TRANSACTION_STAGING_PREFIX,
			.foreign = &foreign,
			.progress = save_progress,
			.progress_arg = &progress,
		},
		&snapshot, err);
	storing_end(workspace);
	if (got == 0) {
		*ret_seq = snapshot.seq;
		unstored_forget(workspace);
		gid_cache_save(workspace, dir_fd, foreign);
	}
	return got;
}

/* Opens what a snapshot needs; the caller frees all of it, after an error,
 * too. */
static int open_store(struct state *state, struct settings *settings,
		      struct store **store, struct err *err)
{
	if (state_open(state, err) < 0)
		return -err->num;
	/* A broken config is for other commands to tell. */
	if (settings_load(state, settings, err) < 0)
		settings_init(settings);
	if (store_open(store, state->store_path, STORE_WRITE, err) < 0)
		return -err->num;
	settings_limit(settings, *store);
	return 0;
}

static int take_base_snapshots(struct run *run, struct timestamp start,
			       const struct state *state,
			       const struct settings *settings,
			       struct store *store, struct session *s,
			       struct err *err)
{
	const struct dir_snapshot d = {
		.run = run,
		.state = state,
		.settings = settings,
		.store = store,
		.start = start,
	};
	size_t i;
	int got = 0;

	for (i = 0; got == 0 && i < s->root_count; i++)
		got = take_dir_snapshot(&d, s->roots[i].path, &s->roots[i].base,
					err);
	return got;
}

static void run_base_worker(struct run *run, struct timestamp start,
			    int base_lock)
{
	struct session session = run->session;
	struct store *store = NULL;
	struct settings settings = {0};
	struct state state;
	struct err err;
	int got;

	if (background_enter("guard-keeper",
			     (int *const[]){&session.fd, &base_lock}, 2) < 0)
		_exit(1);
	session.lock_fd = -1;
	got = open_store(&state, &settings, &store, &err);
	if (got == 0)
		got = take_base_snapshots(run, start, &state, &settings, store,
					  &session, &err);
	/* A late base stays: the run's result was made with it. */
	(void)session_write_base(&session, got < 0 ? 0 : session.roots[0].base,
				 got < 0 ? err.text : NULL, true, &err);
	/* No process waits for the work below. */
	(void)close(base_lock);
	if (got == 0) {
		count_unstored(&state, &session);
		changed_paths_update(store, 1);
		store_index_tidy(store_get_dir(store));
	}
	store_free(&store);
	/* Trash that cannot be removed now stays until the next run. */
	if (state_open(&state, &err) == 0)
		(void)retire_trash(&state, &err);
	_exit(0);
}

/* path NULL: only the index of the store is brought up to date. */
static void run_later_worker(struct run *run, const char *path, bool asked)
{
	struct store *store = NULL;
	struct settings settings = {0};
	struct state state;
	struct err err;
	uint64_t seq;

	if (background_enter("guard-keeper", NULL, 0) < 0 ||
	    open_store(&state, &settings, &store, &err) < 0)
		_exit(1);
	if (path)
		(void)take_dir_snapshot(
			&(const struct dir_snapshot){
				.run = run,
				.state = &state,
				.settings = &settings,
				.store = store,
				.after = true,
				.asked = asked,
			},
			path, &seq, &err);
	else
		store_index_tidy(store_get_dir(store));
	_exit(0);
}

static void start_later_worker(struct run *run, const char *path, bool asked)
{
	sigset_t before;

	/* The terminal may be closed right after the run. */
	context_block_signals(&before);
	if (fork() == 0)
		run_later_worker(run, path, asked);
	(void)context_restore_signals(&before);
}

static void store_in_background(struct run *run, const char *path, bool asked)
{
	start_later_worker(run, path, asked);
	report_note("storing %s in the background (guard stop --snapshot ends "
		    "it)",
		    text_quote(path));
}

void base_snapshot_worker_index(struct run *run)
{
	start_later_worker(run, NULL, false);
}

/* Whether to store what was not stored; after the run's end. */
static void ask_for_root(struct run *run, const char *path)
{
	struct err err;
	auto_close int workspace = workspace_open(
		run->context.state.workspaces_fd, path, false, &err);
	struct unstored u;

	if (workspace < 0 || !unstored_load(workspace, &u))
		return;
	switch (run->ui->ask_store(path, &u)) {
	case 0:
		u.declined = true;
		unstored_save(workspace, &u);
		break;
	case 1:
		store_in_background(run, path, true);
		break;
	default:
		break;
	}
}

void base_snapshot_worker_after(struct run *run)
{
	const struct session *s = &run->session;
	size_t i;

	for (i = 0; i < s->root_count; i++) {
		if (run->base_ended && (s->roots[i].late || !s->roots[i].base))
			store_in_background(run, s->roots[i].path, false);
		else
			ask_for_root(run, s->roots[i].path);
	}
}

int base_snapshot_worker_start(struct run *run, struct timestamp start,
			       struct err *err)
{
	/* Locked before the fork: from here on, a process that asks for the
	 * base waits for the holder of the lock. */
	auto_close int base_lock = session_lock_base(&run->session, err);
	pid_t pid;

	if (base_lock < 0)
		return base_lock;
	pid = fork();
	if (pid < 0)
		return fail_errno(err, "start the snapshot's process");
	if (pid == 0)
		run_base_worker(run, start, base_lock);
	run->base_worker_pid = pid;
	return 0;
}

void base_snapshot_worker_end(struct run *run)
{
	if (!run->base_worker_pid)
		return;
	(void)kill(run->base_worker_pid, SIGKILL);
	run->base_ended = true;
}

void base_snapshot_worker_hurry(const struct run *run)
{
	struct sched_param none = {0};

	if (!run->base_worker_pid)
		return;
	(void)sched_setscheduler(run->base_worker_pid, SCHED_OTHER, &none);
	(void)syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, run->base_worker_pid,
		      IOPRIO_PRIO_VALUE(IOPRIO_CLASS_BE, 4));
}
