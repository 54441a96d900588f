#include "guard/run/run_versions.h"

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/boot.h"
#include "base/child.h"
#include "base/fd.h"
#include "guard/state/background.h"
#include "guard/state/report.h"
#include "guard/state/usage.h"
#include "guard/timeline/marks.h"
#include "guard/timeline/worker.h"

/* A run that ends earlier and changes nothing does without a worker. */
#define START_MS 50
/* From one start to the next, at least. */
#define RESTART_MS 1000
/* The worker is done with the last changes by then: the run may have deleted
 * all of its files, whose contents are copied now. One that hangs ends itself.
 */
#define END_MS 60000

static void __attribute__((noreturn))
run_worker(const struct run_versions *d, int control_fd)
{
	struct worker_options options = {
		.run_fd = d->session->fd,
		.control_fd = control_fd,
		.root_count = d->session->root_count,
		.rest_ms = d->rest_ms,
		.spool_max = d->spool_max,
		.marks = d->marks,
	};

	if (background_detach(
		    "guard-live",
		    (int *const[]){&options.run_fd, &options.control_fd},
		    2) < 0)
		_exit(1);
	_exit(worker_run(&options));
}

static void start_worker(struct run_versions *d)
{
	int ends[2];
	pid_t pid;

	d->next_start = timestamp_monotonic_ms() + RESTART_MS;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK,
		       0, ends) < 0)
		return;
	pid = child_fork("guard-live");
	if (pid == 0)
		run_worker(d, ends[1]);
	(void)close(ends[1]);
	d->control_fd = ends[0];
	if (pid < 0)
		fd_close(&d->control_fd);
	d->worker_pid = pid < 0 ? 0 : pid;
}

/* Before the worker begins, or in a run that is continued without versions. */
static void add_record(const struct session *s, enum timeline_kind kind,
		       const char *text)
{
	struct timeline_record record = {
		.kind = kind,
		.path = "",
		.text = text,
	};
	struct timeline_writer w;
	struct err ignored;

	if (timeline_open(&w, s->fd, &ignored) < 0)
		return;
	(void)timeline_add(&w, &record);
	(void)timeline_flush(&w, &ignored);
	timeline_close(&w);
}

void run_versions_begin(struct run_versions *d, const struct session *s,
			int64_t rest_ms, uint64_t spool_max)
{
	void *shared = mmap(NULL, sizeof(*d->marks), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	*d = (struct run_versions){
		.session = s,
		.rest_ms = shared == MAP_FAILED ? 0 : rest_ms,
		.marks = shared,
		.spool_max = spool_max,
		.control_fd = -1,
		.marks_fd = -1,
		.next_start = timestamp_monotonic_ms() + START_MS,
	};
	if (d->rest_ms) {
		d->marks_fd = marks_open(s->fd);
		add_record(s, TIMELINE_BEGIN, boot_id());
	} else if (faccessat(s->fd, TIMELINE_DIR "/records", F_OK, 0) == 0) {
		add_record(s, TIMELINE_GAP, "continued with --versions 0");
	}
}

/* Takes the worker's last words. */
static bool take_end(struct run_versions *d)
{
	char why[sizeof(((struct err *)0)->text)];
	ssize_t len = read(d->control_fd, why, sizeof(why));

	fd_close(&d->control_fd);
	if (len > 1)
		report_warning("versions during the run cannot be stored: "
			       "%.*s",
			       (int)len, why);
	return len > 0;
}

void run_versions_tick(struct run_versions *d, int *ret_next_ms)
{
	int64_t wait = d->next_start - timestamp_monotonic_ms();
	int status;

	if (!d->rest_ms)
		return;
	if (!d->worker_pid) {
		if (wait <= 0)
			start_worker(d);
		else if (wait < *ret_next_ms)
			*ret_next_ms = (int)wait;
	} else if (waitpid(d->worker_pid, &status, WNOHANG | WUNTRACED) > 0) {
		if (WIFSTOPPED(status)) {
			(void)kill(d->worker_pid, SIGCONT);
			return;
		}
		d->worker_pid = 0;
		(void)take_end(d);
	}
}

bool run_versions_record(struct run_versions *d, enum timeline_kind kind,
			 const char *text)
{
	auto_free char *packet = mem_printf("%c%.1000s", (char)kind, text);

	if (d->rest_ms && !d->worker_pid)
		start_worker(d);
	return send(d->control_fd, packet, strlen(packet), MSG_NOSIGNAL) > 0;
}

uint64_t run_versions_marks(const struct run_versions *d)
{
	return d->rest_ms ? *d->marks : 0;
}

static bool has_changes(const struct session *s)
{
	bool any = false;
	size_t i;

	for (i = 0; i < s->root_count && !any; i++) {
		auto_free char *name = session_root_dir(i, "upper");
		struct usage u = {.most_entries = 1}; /* the layer itself */

		usage_add(s->fd, name, &u);
		any = usage_is_above(&u);
	}
	return any;
}

void run_versions_end(struct run_versions *d)
{
	struct pollfd fd = {.fd = d->marks_fd, .events = POLLIN};

	/* A short run may have marks, and its timeline has its changes. */
	if (d->rest_ms && !d->worker_pid &&
	    (poll(&fd, 1, 0) > 0 || has_changes(d->session)))
		start_worker(d);
	fd_close(&d->marks_fd);
	if (!d->worker_pid)
		return;
	fd.fd = d->control_fd;
	(void)send(d->control_fd, "", 1, MSG_NOSIGNAL);
	(void)kill(d->worker_pid, SIGCONT);
	while (poll(&fd, 1, END_MS) < 0)
		;
	/* A worker that has ended in order is left to end with guard. */
	if (take_end(d))
		return;
	child_end(&d->worker_pid);
	add_record(d->session, TIMELINE_GAP,
		   "the version worker did not end: contents of files that "
		   "were deleted last may be missing");
}
