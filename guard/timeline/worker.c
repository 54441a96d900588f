#include "guard/timeline/worker.h"

#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/boot.h"
#include "base/fd.h"
#include "guard/timeline/worker_private.h"

/* The loop advances at least that often. */
#define IDLE_MS 200
/* The run ends with the guard that supervises it. */
#define DYING_MS 200
/* Directories without a watch are looked at that often. */
#define SCAN_MS 2000
#define DISK_MS 1000
/* Below this part of the disk nothing is kept. */
#define FREE_SHARE 16
/* Records that cannot be written: the worker begins anew. */
#define PENDING_MAX ((size_t)64 << 20)

/* --- watchdog --- */

#define WATCHDOG_MS 200
#define WATCHDOG_TIMES 3

static volatile uint64_t *watched;

static void watch_beats(int signal)
{
	static uint64_t last;
	static int times;

	(void)signal;
	times = *watched == last ? times + 1 : 0;
	last = *watched;
	if (times >= WATCHDOG_TIMES)
		_exit(1);
}

/* All leases end with the process. */
static void start_watchdog(volatile uint64_t *beats)
{
	const struct itimerval every = {{0, WATCHDOG_MS * 1000},
					{0, WATCHDOG_MS * 1000}};
	struct sigaction act = {.sa_handler = watch_beats,
				.sa_flags = SA_RESTART};

	watched = beats;
	(void)sigaction(SIGALRM, &act, NULL);
	(void)setitimer(ITIMER_REAL, &every, NULL);
}

/* --- the disk --- */

static void check_disk(struct worker *w, int64_t now)
{
	bool was_full = w->disk_full;
	struct statvfs fs;

	if (now < w->disk_checked + DISK_MS)
		return;
	w->disk_checked = now;
	w->disk_full = fstatvfs(w->options->run_fd, &fs) == 0 &&
		       (fs.f_bavail <= fs.f_blocks / FREE_SHARE ||
			(fs.f_files && fs.f_favail <= fs.f_files / FREE_SHARE));
	if (w->disk_full && !was_full)
		worker_hold_text(w, TIMELINE_GAP, 0, "", 0,
				 "the disk is nearly full");
}

/* --- the loop --- */

/* Everything that has happened so far. Returns when files want to be looked at
 * again, in monotonic ms. */
static int64_t work(struct worker *w, bool ended)
{
	int64_t now = timestamp_monotonic_ms(), next;

	if (w->watch_count < w->dir_count && (ended || now >= w->next_scan)) {
		worker_mirror_rescan(w, true);
		w->next_scan = now + SCAN_MS;
	}
	check_disk(w, now);
	worker_mirror_events(w);
	worker_mirror_refresh(w, ended);
	worker_hold_write(w);
	/* Contents that stand at the end are in the layer. */
	next = ended ? INT64_MAX : worker_rest_due(w);
	if (!TAILQ_EMPTY(&w->queue))
		next = 0;
	if (w->watch_count < w->dir_count && w->next_scan < next)
		next = w->next_scan;
	return next;
}

static int flush(struct worker *w, struct err *err)
{
	int got = timeline_flush(&w->out, err);

	return w->out.pending.len > PENDING_MAX ? got : 0;
}

/* False: the run has ended. */
static bool take_control(struct worker *w)
{
	char text[1024];
	ssize_t len = read(w->options->control_fd, text, sizeof(text) - 1);

	/* Killed: the processes of the run are about to end as well. */
	if (len == 0)
		(void)poll(NULL, 0, DYING_MS);
	if (len <= 1)
		return false;
	text[len] = '\0';
	worker_hold_text(w, (enum timeline_kind)text[0], 0, "", 0, text + 1);
	return true;
}

static int loop(struct worker *w, struct err *err)
{
	int64_t tick = 0, next = 0, marks = 0, now, until;
	struct pollfd fds[] = {
		{.fd = w->signal_fd, .events = POLLIN},
		{.fd = w->options->control_fd, .events = POLLIN},
		{.events = POLLIN},
		{.events = POLLIN},
	};
	bool ended = false;

	while (!ended) {
		now = timestamp_monotonic_ms();
		until = now + IDLE_MS;
		if (tick && tick < until)
			until = tick;
		if (next < until)
			until = next;
		/* A run that floods the FIFO is read once a tick. */
		fds[2].fd = now < marks ? -1 : w->marks_fd;
		if (now < marks && marks < until)
			until = marks;
		/* Events are gathered until the tick. */
		fds[3].fd = tick ? -1 : w->inotify_fd;
		if (poll(fds, 4, until > now ? (int)(until - now) : 0) < 0)
			fds[1].revents = fds[2].revents = fds[3].revents = 0;
		worker_hold_breathe(w);
		now = timestamp_monotonic_ms();
		ended = fds[1].revents && !take_control(w);
		if (!tick && (fds[3].revents || w->broken))
			tick = now + WORKER_TICK_MS;
		w->broken = false;
		if (!ended && !fds[2].revents && !(tick && now >= tick) &&
		    now < next)
			continue;
		tick = 0;
		next = work(w, ended);
		while (ended && !TAILQ_EMPTY(&w->queue))
			worker_mirror_refresh(w, true);
		/* The changes before a mark come before it. */
		if (fds[2].revents || ended) {
			worker_rest_record(w);
			marks_take(w->marks_fd, &w->marks, &w->out);
			marks = now + WORKER_TICK_MS;
		}
		if (flush(w, err) < 0)
			return -err->num;
		*w->options->marks += fds[2].revents != 0;
	}
	marks_end(&w->marks, &w->out);
	worker_hold_text(w, TIMELINE_END, 0, "", 0, "");
	return timeline_flush(&w->out, err);
}

static int open_worker(struct worker *w, struct err *err)
{
	sigset_t signals;
	int i, dir; /* open, and locked, until the process ends */

	(void)sigemptyset(&signals);
	for (i = 0; i < WORKER_TABLES; i++)
		(void)sigaddset(&signals, WORKER_SIGNAL + i);
	(void)sigaddset(&signals, SIGIO);
	(void)sigprocmask(SIG_SETMASK, &signals, NULL);
	w->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	/* Without one every directory is looked at again and again. */
	w->inotify_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	w->watch_max = w->inotify_fd < 0 ? 0 : WORKER_WATCHES_FEW;
	w->watches_counted = w->inotify_fd < 0;
	w->marks_fd = marks_open(w->options->run_fd);
	for (i = 0; i < FILE_STATES; i++)
		TAILQ_INIT(&w->lists[i]);
	TAILQ_INIT(&w->dirs);
	TAILQ_INIT(&w->queue);
	if (w->signal_fd < 0)
		return fail_errno(err, "open signals");
	worker_table_start(w);
	/* The worker of a guard that was killed may still work. */
	dir = fd_open_dir(w->options->run_fd, TIMELINE_DIR);
	if (dir < 0 || flock(dir, LOCK_EX) < 0)
		return fail_errno(err, "lock '%s'", TIMELINE_DIR);
	if (worker_mirror_load(w, err) < 0 ||
	    timeline_open(&w->out, w->options->run_fd, err) < 0)
		return -err->num;
	w->spool_fd = fd_open_dir(w->options->run_fd, TIMELINE_SPOOL);
	if (w->spool_fd < 0)
		return fail_errno(err, "open '%s'", TIMELINE_SPOOL);
	worker_hold_count(w, UINT64_MAX);
	worker_hold_text(w, TIMELINE_BEGIN, 0, "", 0, boot_id());
	return 0;
}

int worker_run(const struct worker_options *options)
{
	struct worker *w = mem_zalloc(sizeof(*w));
	struct err err;

	w->options = options;
	start_watchdog(&w->beats);
	/* A killed guard leaves the last changes to its worker, which then
	 * finds the end of control_fd. */
	(void)prctl(PR_SET_PDEATHSIG, 0);
	/* The end of the process waits for inotify, 10 ms: an empty text comes
	 * before it. */
	if (open_worker(w, &err) == 0 && loop(w, &err) == 0)
		err.text[0] = '\0';
	(void)send(options->control_fd, err.text, strlen(err.text) + 1,
		   MSG_NOSIGNAL);
	return 0;
}
