#include "guard/timeline/worker.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/boot.h"
#include "base/fd.h"
#include "guard/timeline/worker_private.h"

/* The loop advances at least that often. */
#define IDLE_MS 200
/* A process of the run waits for its turn no longer than that. */
#define BREAK_MS 400
/* Directories without a watch are looked at that often. */
#define SCAN_MS 2000
#define DISK_MS 1000
/* Below this part of the disk nothing is kept. */
#define FREE_SHARE 16
/* Up to so many watches nothing is counted. */
#define WATCHES_FEW 1024
#define WATCHES_SHARE 4
/* Descriptors of the worker that are no files of the layer. */
#define OTHER_FDS 24
/* Records that cannot be written: the worker begins anew. */
#define PENDING_MAX ((size_t)64 << 20)

/* --- watchdog --- */

#define WATCHDOG_MS 200
#define WATCHDOG_TIMES 3

static volatile uint64_t *watched;

static void watch_heartbeat(int signal)
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
static void start_watchdog(volatile uint64_t *heartbeat)
{
	const struct itimerval every = {{0, WATCHDOG_MS * 1000},
					{0, WATCHDOG_MS * 1000}};
	struct sigaction act = {.sa_handler = watch_heartbeat,
				.sa_flags = SA_RESTART};

	watched = heartbeat;
	(void)sigaction(SIGALRM, &act, NULL);
	(void)setitimer(ITIMER_REAL, &every, NULL);
}

/* --- records --- */

static void add_text(struct worker *w, enum timeline_kind kind, size_t root,
		     const char *path, uint64_t content, const char *text)
{
	struct timeline_record r = {.kind = kind,
				    .root = root,
				    .path = path,
				    .content = content,
				    .text = text};

	(void)timeline_add(&w->out, &r);
}

void worker_note(struct worker *w, enum timeline_kind kind,
		 const struct worker_file *f, const char *text)
{
	const struct worker_name *n = LIST_FIRST(&f->names);
	auto_free char *path = n ? worker_path(n) : NULL;

	add_text(w, kind, n ? n->root : 0, path, f->content, text);
}

bool worker_gap_below(struct worker *w, const struct worker_name *n,
		      const char *text)
{
	auto_free char *path = worker_path(n);

	add_text(w, TIMELINE_GAP, n->root, path, 0, text);
	return true;
}

/* --- limits --- */

static void count_watches_of(int proc_fd, const char *pid, uint64_t *ret)
{
	auto_free char *path = mem_printf("%s/fdinfo", pid);
	auto_close int fds = fd_open_dir(proc_fd, path);
	int again = fds < 0 ? -1 : dup(fds);
	DIR *dir = again < 0 ? NULL : fdopendir(again);
	const struct dirent *e;

	while (dir && (e = readdir(dir))) {
		AUTO(buf) struct buf text = {0};
		struct err ignored;
		const char *at;

		if (*e->d_name == '.' ||
		    fd_slurp_at(fds, e->d_name, 64 << 20, &text, &ignored) < 0)
			continue;
		for (at = buf_text(&text); (at = strstr(at, "inotify wd:"));
		     at++)
			(*ret)++;
	}
	if (dir)
		(void)closedir(dir);
}

/* The watches of this user's processes; of another user's nothing is shown. */
static uint64_t count_watches(void)
{
	DIR *dir = opendir("/proc");
	const struct dirent *e;
	uint64_t count = 0;

	while (dir && (e = readdir(dir)))
		if (*e->d_name >= '1' && *e->d_name <= '9')
			count_watches_of(dirfd(dir), e->d_name, &count);
	if (dir)
		(void)closedir(dir);
	return count;
}

void worker_limit_watches(struct worker *w)
{
	AUTO(buf) struct buf text = {0};
	struct err ignored;
	uint64_t most = 0, used;

	if (w->watch_count < w->watch_max || w->watches_counted)
		return;
	w->watches_counted = true;
	if (fd_slurp_at(AT_FDCWD, "/proc/sys/fs/inotify/max_user_watches", 64,
			&text, &ignored) == 0)
		most = strtoull(buf_text(&text), NULL, 10);
	used = count_watches();
	most = used < most ? (most - used) / WATCHES_SHARE : 0;
	if (most > w->watch_max)
		w->watch_max = most;
}

static void raise_descriptors(struct worker *w)
{
	struct rlimit limit = {0};

	(void)getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
	w->open_max = (limit.rlim_cur - OTHER_FDS) / 4 * 3;
}

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
		add_text(w, TIMELINE_GAP, 0, "", 0, "the disk is nearly full");
}

/* --- the loop --- */

void worker_breathe(struct worker *w)
{
	static struct signalfd_siginfo infos[1024];
	int64_t deadline;
	ssize_t len;
	size_t i;

	(*w->options->heartbeat)++;
	len = read(w->signal_fd, infos, sizeof(infos));
	if (len <= 0)
		return;
	deadline = timestamp_monotonic_ms() + BREAK_MS;
	for (i = 0; i < (size_t)len / sizeof(*infos); i++) {
		size_t fd = (size_t)infos[i].ssi_fd;

		if (infos[i].ssi_signo == SIGIO)
			worker_hold_check_all(w);
		else if (fd < w->by_fd.count && w->by_fd.items[fd])
			worker_hold_break(w, w->by_fd.items[fd], deadline);
	}
}

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
	worker_mirror_refresh(w);
	/* What stands at the end is in the layer. */
	next = ended ? INT64_MAX : worker_hold_due(w);
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

	if (len <= 1)
		return false;
	text[len] = '\0';
	add_text(w, (enum timeline_kind)text[0], 0, "", 0, text + 1);
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
		worker_breathe(w);
		now = timestamp_monotonic_ms();
		ended = fds[1].revents && !take_control(w);
		if (fds[3].revents)
			tick = now + WORKER_TICK_MS;
		if (!ended && !fds[2].revents && !(tick && now >= tick) &&
		    now < next)
			continue;
		tick = 0;
		next = work(w, ended);
		while (ended && !TAILQ_EMPTY(&w->queue))
			worker_mirror_refresh(w);
		/* The changes before a mark come before it. */
		if (fds[2].revents || ended)
			worker_hold_record(w);
		if (fds[2].revents || ended) {
			marks_take(w->marks_fd, &w->marks, &w->out);
			marks = now + WORKER_TICK_MS;
		}
		if (flush(w, err) < 0)
			return -err->num;
	}
	marks_end(&w->marks, &w->out);
	add_text(w, TIMELINE_END, 0, "", 0, "");
	return timeline_flush(&w->out, err);
}

static int open_worker(struct worker *w, struct err *err)
{
	sigset_t signals;
	int i;

	(void)sigemptyset(&signals);
	(void)sigaddset(&signals, WORKER_SIGNAL);
	(void)sigaddset(&signals, SIGIO);
	(void)sigprocmask(SIG_SETMASK, &signals, NULL);
	w->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	/* Without one every directory is looked at again and again. */
	w->inotify_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	w->watch_max = w->inotify_fd < 0 ? 0 : WATCHES_FEW;
	w->watches_counted = w->inotify_fd < 0;
	w->marks_fd = marks_open(w->options->run_fd);
	for (i = 0; i < FILE_STATES; i++)
		TAILQ_INIT(&w->lists[i]);
	TAILQ_INIT(&w->dirs);
	TAILQ_INIT(&w->queue);
	if (w->signal_fd < 0)
		return fail_errno(err, "open signals");
	raise_descriptors(w);
	if (worker_mirror_load(w, err) < 0 ||
	    timeline_open(&w->out, w->options->run_fd, err) < 0)
		return -err->num;
	w->spool_fd = fd_open_dir(w->options->run_fd, TIMELINE_SPOOL);
	if (w->spool_fd < 0)
		return fail_errno(err, "open '%s'", TIMELINE_SPOOL);
	worker_hold_count(w);
	add_text(w, TIMELINE_BEGIN, 0, "", 0, boot_id());
	return 0;
}

int worker_run(const struct worker_options *options)
{
	struct worker *w = mem_zalloc(sizeof(*w));
	struct err err;

	w->options = options;
	start_watchdog(options->heartbeat);
	if (open_worker(w, &err) == 0 && loop(w, &err) == 0)
		return 0;
	(void)send(options->control_fd, err.text, strlen(err.text),
		   MSG_NOSIGNAL);
	return 1;
}
