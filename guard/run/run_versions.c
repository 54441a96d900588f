#include "guard/run/run_versions.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "guard/change/run_state.h"
#include "guard/state/background.h"
#include "guard/state/report.h"
#include "guard/state/state.h"
#include "overlay/session_base.h"
#include "restore/live_tree.h"
#include "snapshot/walk/take.h"
#include "snapshot/tree/catalog.h"

/* Greatest share of one processor. */
#define SHARE 20
/* Edited files are smaller; the others are stored when the run ends. */
#define FILE_MAX (16u << 20)
/* Bytes that one version reads; the others wait for the next one. */
#define READ_MAX (256u << 20)
/* Below this part of the disk nothing is kept. */
#define FREE_SHARE 16

void run_versions_begin(struct run_versions *d, const struct session *s,
			int64_t interval_ms)
{
	*d = (struct run_versions){
		.session = s,
		.interval_ms = interval_ms,
		.next = timestamp_monotonic_ms() + interval_ms,
		.result_fd = -1,
	};
	/* A resumed run continues after its last version. */
	if (s->roots[0].result) {
		d->last.seq = s->roots[0].result;
		d->last.since = s->ended;
	}
}

/* --- one time --- */

static int store_version(struct session *s, struct run_versions_result *at,
			 struct err *err)
{
	AUTO(snapshot) struct snapshot base = {0}, last = {0};
	AUTO(store) struct store *store = NULL;
	AUTO(entry) struct entry root = {0};
	auto_close int upper = -1;
	struct timestamp start = take_start_time((struct timestamp){0});
	struct state state;
	struct statvfs fs;
	struct err ignored;
	struct live_tree live_tree = {
		.base = &base.root,
		.last = &last.root,
		.file_max = FILE_MAX,
		.read_budget = READ_MAX,
	};
	int got = session_base(s, false, err);

	/* The snapshot before the run is not done yet, or never will be. */
	if (got <= 0)
		return got;
	if (state_open(&state, err) < 0)
		return -err->num;
	if (fstatvfs(state.fd, &fs) < 0 ||
	    fs.f_bavail <= fs.f_blocks / FREE_SHARE ||
	    (fs.f_files && fs.f_favail <= fs.f_files / FREE_SHARE))
		return 0;
	upper = fd_open_dir(s->fd, "upper");
	if (upper < 0)
		return fail_errno(err, "open the run's layer");
	if (store_open(&store, state.store_path, STORE_WRITE, err) < 0 ||
	    catalog_load(store, s->roots[0].base, &base, err) < 0)
		return -err->num;
	/* Pruned meanwhile, or damaged: begun anew from the base. */
	if (!at->seq || catalog_load(store, at->seq, &last, &ignored) < 0) {
		at->seq = 0;
		at->since = (struct timestamp){0};
		if (catalog_load(store, s->roots[0].base, &last, err) < 0)
			return -err->num;
	}
	live_tree.store = store;
	live_tree.upper_fd = upper;
	live_tree.since = at->since;
	if (live_tree_make(&live_tree, &root, err) < 0 ||
	    run_state_add(store, s, 0, &last, start, &root, &at->seq, err) < 0)
		return -err->num;
	/* Deferred files are inspected again next time. */
	if (!live_tree.deferred)
		at->since = start;
	state_close(&state);
	return 0;
}

static void __attribute__((noreturn))
store_version_in_child(const struct run_versions *d, int fd)
{
	struct session session = *d->session;
	struct run_versions_result result = d->last;
	struct err err;

	if (background_enter("guard-versions", (int *const[]){&session.fd, &fd},
			     2) < 0)
		_exit(1);
	session.lock_fd = -1;
	result.failed[0] = '\0';
	if (store_version(&session, &result, &err) < 0)
		(void)snprintf(result.failed, sizeof(result.failed), "%s",
			       err.text);
	_exit(fd_write(fd, &result, sizeof(result)) < 0);
}

/* --- now and then --- */

/* The processor time that it took, in ms. */
static int64_t reap_version_worker(struct run_versions *d)
{
	struct rusage u = {0};

	fd_close(&d->result_fd);
	while (wait4(d->worker_pid, NULL, 0, &u) < 0 && errno == EINTR)
		;
	d->worker_pid = 0;
	return (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000 +
	       (u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1000;
}

void run_versions_tick(struct run_versions *d)
{
	struct run_versions_result result;
	int64_t now, pause;
	ssize_t len;

	if (!d->interval_ms)
		return;
	now = timestamp_monotonic_ms();
	if (d->worker_pid) {
		len = read(d->result_fd, &result, sizeof(result));
		if (len < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		pause = SHARE * reap_version_worker(d);
		d->next =
			now + (pause > d->interval_ms ? pause : d->interval_ms);
		if (len == sizeof(result))
			d->last = result;
	} else if (now >= d->next) {
		d->worker_pid =
			background_fork("guard-versions", &d->result_fd);
		if (d->worker_pid == 0)
			store_version_in_child(d, d->result_fd);
		if (d->worker_pid < 0)
			d->worker_pid = 0;
	}
}

void run_versions_end(struct run_versions *d)
{
	if (d->worker_pid) {
		(void)kill(d->worker_pid, SIGKILL);
		(void)reap_version_worker(d);
	}
	if (d->last.failed[0])
		report_warning("the last versions during the run could not be "
			       "stored: %s",
			       d->last.failed);
}
