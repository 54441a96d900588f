#include <errno.h>
#include <fcntl.h>
#include <linux/ioprio.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/lock.h"
#include "base/mem.h"
#include "guard/state/background.h"
#include "guard/state/storing.h"
#include "guard/state/usage.h"
#include "guard/retention/retire.h"
#include "guard/retention/settings.h"
#include "guard/run/run.h"
#include "overlay/layers.h"
#include "overlay/pre_copy_up.h"
#include "restore/transaction.h"
#include "restore/workspace.h"
#include "snapshot/walk/take.h"

#define NAME "groups"
#define VERSION 1
#define GID "gid"
#define MORE "more"
#define DEV "dev"
#define INO "ino"

/* After a full snapshot of the directory. A failure is no error: the next run
 * examines the files itself. */
static void gid_cache_save(int workspace_fd, int dir_fd,
			   const struct gid_summary *g)
{
	AUTO(record) struct record r = {0};
	struct err ignored;
	struct meta m;
	size_t i;

	if (geteuid() == 0 || meta_get(dir_fd, "", &m) < 0)
		return;
	record_set_int(&r, DEV, (int64_t)m.dev);
	record_set_int(&r, INO, (int64_t)m.ino);
	for (i = 0; i < g->count; i++) {
		auto_free char *gid = mem_printf("%u", g->gids[i]);

		record_add(&r, GID, gid);
	}
	if (g->more)
		record_set_int(&r, MORE, 1);
	(void)record_save(workspace_fd, NAME, NAME, VERSION, &r, ATOMIC_NO_SYNC,
			  &ignored);
}

/* 1: no file of the other groups was seen in it, 0: one was seen, -ENOENT: the
 * directory is unknown. */
static int find_recorded_gids(int workspaces_fd, const char *path, uint64_t dev,
			      uint64_t ino, const gid_t *groups, int count)
{
	AUTO(record) struct record r = {0};
	struct err ignored;
	auto_close int fd =
		workspace_open(workspaces_fd, path, false, &ignored);
	const char *text;
	size_t i;
	int k;

	if (fd < 0 || record_load(fd, NAME, NAME, VERSION, &r, &ignored) < 0 ||
	    record_get_int(&r, DEV) != (int64_t)dev ||
	    record_get_int(&r, INO) != (int64_t)ino)
		return -ENOENT;
	for (i = 0; (text = record_get_nth(&r, GID, i)); i++) {
		gid_t gid = (gid_t)strtoul(text, NULL, 10);

		for (k = 0; k < count; k++)
			if (groups[k] == gid && gid != getegid())
				return 0;
	}
	return !record_get_int(&r, MORE);
}

void gid_cache_recall(struct session *s, int workspaces_fd)
{
	auto_free gid_t *groups = NULL;
	int count = 0;
	size_t i;

	if (!pre_copy_up_list_groups(&groups, &count))
		return;
	for (i = 0; i < s->root_count; i++)
		if (find_recorded_gids(workspaces_fd, s->roots[i].path,
				       s->roots[i].dev, s->roots[i].ino, groups,
				       count) > 0)
			record_add(&s->more, LAYERS_ONE_GROUP,
				   s->roots[i].path);
}

const char *gid_cache_find_stale(const struct session *s, int workspaces_fd)
{
	auto_free gid_t *groups = NULL;
	const char *path;
	int count = 0;
	size_t i, k;

	if (!record_get(&s->more, LAYERS_ONE_GROUP) ||
	    !pre_copy_up_list_groups(&groups, &count))
		return NULL;
	for (i = 0; (path = record_get_nth(&s->more, LAYERS_ONE_GROUP, i));
	     i++) {
		uint64_t dev = s->roots[0].dev, ino = s->roots[0].ino;

		for (k = 1; k < s->root_count; k++) {
			if (strcmp(s->roots[k].path, path) != 0)
				continue;
			dev = s->roots[k].dev;
			ino = s->roots[k].ino;
		}
		if (find_recorded_gids(workspaces_fd, path, dev, ino, groups,
				       count) == 0)
			return path;
	}
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

	if (p->saved == now)
		return;
	p->saved = now;
	p->storing.files = files;
	p->storing.bytes = bytes;
	storing_save(p->workspace_fd, &p->storing);
}

static void begin_progress(struct progress *p, struct run *run,
			   int workspace_fd, const char *path,
			   const char *cache_path)
{
	struct usage usage = {0};

	*p = (struct progress){
		.storing = {.pid = getpid(),
			    .run_id = run->session.id,
			    .since = storing_clock()},
		.workspace_fd = workspace_fd,
	};
	storing_save(workspace_fd, &p->storing);
	/* Only the first snapshot reads everything. */
	if (access(cache_path, F_OK) == 0)
		return;
	usage_add(AT_FDCWD, path, &usage);
	p->storing.total_files = usage.entries;
	p->storing.total_bytes = usage.bytes;
	storing_save(workspace_fd, &p->storing);
}

/* One of the run's roots. */
static int take_dir_snapshot(struct run *run, const struct state *state,
			     struct store *store, const char *path,
			     struct timestamp start, uint64_t *ret_seq,
			     struct err *err)
{
	const char *skip[] = {run->context.state.path, NULL};
	AUTO(snapshot) struct snapshot snapshot = {0};
	struct gid_summary gid_summary = {0};
	auto_free char *cache = NULL;
	auto_close int workspace =
		workspace_open(state->workspaces_fd, path, true, err);
	auto_close int lock = -1, dir_fd = -1;
	struct progress progress;
	int got;

	if (workspace < 0)
		return workspace;
	/* One at a time: the second finds all that the first has kept. */
	lock = lock_take(workspace, STORING_LOCK, true, true, err);
	if (lock < 0 || store_refresh(store, err) < 0)
		return -err->num;
	cache = workspace_cache_path(workspace);
	begin_progress(&progress, run, workspace, path, cache);
	dir_fd = fd_open_dir(AT_FDCWD, path);
	got = take_snapshot(store,
			    &(struct take_options){
				    .root_path = path,
				    .root_fd = dir_fd,
				    .cache_path = cache,
				    .reason = "pre-run",
				    .run_id = run->session.id,
				    .command = run->session.command,
				    .moved_since = start,
				    .skip = skip,
				    .skip_prefix = TRANSACTION_STAGING_PREFIX,
				    .gid_summary = &gid_summary,
				    .progress = save_progress,
				    .progress_arg = &progress,
			    },
			    &snapshot, err);
	storing_end(workspace);
	if (got == 0) {
		*ret_seq = snapshot.seq;
		gid_cache_save(workspace, dir_fd, &gid_summary);
	}
	return got;
}

static int take_base_snapshots(struct run *run, struct timestamp start,
			       struct session *s, struct err *err)
{
	struct store *store = NULL;
	struct settings settings;
	struct state state;
	size_t i;
	int got;

	if (state_open(&state, err) < 0)
		return -err->num;
	got = store_open(&store, state.store_path, STORE_WRITE, err);
	if (got == 0) {
		/* A broken config is for other commands to tell. */
		if (settings_load(&state, &settings, err) < 0)
			settings_init(&settings);
		settings_limit(&settings, store);
		settings_free(&settings);
	}
	for (i = 0; got == 0 && i < s->root_count; i++)
		got = take_dir_snapshot(run, &state, store, s->roots[i].path,
					start, &s->roots[i].base, err);
	store_free(&store);
	state_close(&state);
	return got;
}

static void run_base_worker(struct run *run, struct timestamp start,
			    int base_lock)
{
	struct session session = run->session;
	struct state state;
	struct err err;

	if (background_enter("guard-keeper",
			     (int *const[]){&session.fd, &base_lock}, 2) < 0)
		_exit(1);
	session.lock_fd = -1;
	if (take_base_snapshots(run, start, &session, &err) < 0)
		(void)session_write_base(&session, 0, err.text, &err);
	else
		(void)session_write_base(&session, session.roots[0].base, NULL,
					 &err);
	/* No process waits for the work below. */
	(void)close(base_lock);
	/* `guard status` reports trash that cannot be removed now. */
	if (state_open(&state, &err) == 0)
		(void)retire_trash(&state, &err);
	_exit(0);
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

void base_snapshot_worker_hurry(const struct run *run)
{
	struct sched_param none = {0};

	if (!run->base_worker_pid)
		return;
	(void)sched_setscheduler(run->base_worker_pid, SCHED_OTHER, &none);
	(void)syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, run->base_worker_pid,
		      IOPRIO_PRIO_VALUE(IOPRIO_CLASS_BE, 4));
}
