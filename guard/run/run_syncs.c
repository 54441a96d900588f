#include "guard/run/run_syncs.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/dirtree.h"
#include "base/fd.h"
#include "guard/state/background.h"
#include "guard/state/usage.h"
#include "overlay/torn.h"

#define INTERVAL_MS 10000
#define SOON_MS 1000
/* The search for a change takes this part of one processor at most. */
#define SHARE 20
/* A call of write(2) sets ctime when it begins, and may dirty pages that the
 * sync has passed by. */
#define WRITE_SECONDS 2

static int64_t clock_ahead_ms(void)
{
	struct timestamp now = timestamp_now();

	return now.sec * 1000 + now.nsec / 1000000 - timestamp_monotonic_ms();
}

void run_syncs_begin(struct run_syncs *d, const struct session *s)
{
	*d = (struct run_syncs){
		.session = s,
		.synced = s->started,
		.next = timestamp_monotonic_ms() + INTERVAL_MS,
		.ahead_ms = clock_ahead_ms(),
		.result_fd = -1,
	};
}

/* --- the worker --- */

/* Whether an entry has changed since the last sync; an unreadable directory
 * may have. */
static bool layer_has_changed(const struct run_syncs *d)
{
	AUTO(dirlist) struct dirlist list = {0};
	auto_close int fd = fd_open_dir(d->session->fd, ".");
	struct usage u = {.since = &d->synced};
	struct err ignored;
	size_t i;

	if (fd < 0 || dirlist_read(fd, &list, &ignored) < 0)
		return true;
	for (i = 0; i < list.count && !u.changed; i++)
		if (strstr(list.items[i].name, "upper"))
			usage_add(fd, list.items[i].name, &u);
	return u.changed || u.unread;
}

/* The times of all files reach the disk before their bytes: a cut in the middle
 * must not leave new bytes in a file with an old ctime. */
static int sync_layer(const struct session *s, struct timestamp time,
		      enum atomic_durability how, struct err *err)
{
	auto_close int fd = fd_open_dir(s->fd, ".");

	if (fd < 0 || futimens(fd, NULL) < 0 || fsync(fd) < 0 || syncfs(fd) < 0)
		return fail_errno(err, "sync the run's layer");
	return torn_save_synced(s, time, how, err);
}

static void __attribute__((noreturn))
sync_in_child(const struct run_syncs *d, int fd)
{
	struct session session = *d->session;
	struct run_syncs own = *d;
	struct timestamp before = timestamp_now();
	struct err ignored;

	own.session = &session;
	before.sec -= WRITE_SECONDS;
	if (background_enter("guard-sync", (int *const[]){&session.fd, &fd},
			     2) < 0)
		_exit(1);
	if (!layer_has_changed(&own))
		before = d->synced;
	else if (sync_layer(&session, before, ATOMIC_DURABLE, &ignored) < 0)
		_exit(1);
	_exit(fd_write(fd, &before, sizeof(before)) < 0);
}

/* --- now and then --- */

static void reap_worker(struct run_syncs *d, int options)
{
	struct timestamp synced;
	struct rusage u = {0};
	int64_t pause;
	pid_t pid;

	while ((pid = wait4(d->worker_pid, NULL, options, &u)) < 0 &&
	       errno == EINTR)
		;
	if (pid == 0)
		return;
	if (read(d->result_fd, &synced, sizeof(synced)) == sizeof(synced))
		d->synced = synced;
	fd_close(&d->result_fd);
	d->worker_pid = 0;
	pause = SHARE * (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000 +
		SHARE * (u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1000;
	d->next = timestamp_monotonic_ms() +
		  (pause > INTERVAL_MS ? pause : INTERVAL_MS);
}

void run_syncs_tick(struct run_syncs *d, uint64_t marks)
{
	int64_t ahead = clock_ahead_ms(), now = timestamp_monotonic_ms();
	/* Later files would look older than the last sync. */
	bool set_back = ahead < d->ahead_ms - WRITE_SECONDS * 1000 / 2;

	d->soon |= set_back || marks != d->marks;
	d->marks = marks;
	if (d->worker_pid)
		reap_worker(d, WNOHANG);
	if (d->worker_pid ||
	    now < d->next - (d->soon ? INTERVAL_MS - SOON_MS : 0))
		return;
	if (set_back)
		d->synced = (struct timestamp){0};
	d->soon = false;
	d->ahead_ms = ahead;
	d->worker_pid = background_fork("guard-sync", &d->result_fd);
	if (d->worker_pid == 0)
		sync_in_child(d, d->result_fd);
	if (d->worker_pid < 0)
		d->worker_pid = 0;
}

void run_syncs_end(struct run_syncs *d)
{
	if (!d->worker_pid)
		return;
	(void)kill(d->worker_pid, SIGKILL);
	reap_worker(d, 0);
}

int run_syncs_final(const struct session *s, struct err *err)
{
	/* The end's record is synced next, in the same directory. Where a cut
	 * loses this one, the time before it holds. */
	return sync_layer(s, timestamp_now(), ATOMIC_NO_SYNC, err);
}
