#include "guard/state/storing.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/record.h"
#include "base/text.h"
#include "restore/workspace.h"

#define NAME "storing"
#define KIND "guard-storing"
#define VERSION 1

/* Shorter work is not worth a line. */
#define LONG_SECONDS 1

int64_t storing_clock(void)
{
	return timestamp_boot_ns() / TIMESTAMP_NS;
}

void storing_save(int workspace_fd, const struct storing *s)
{
	AUTO(record) struct record r = {0};
	struct err ignored;

	record_set_int(&r, "pid", s->pid);
	record_set(&r, "run", s->run_id);
	record_set_int(&r, "since", s->since);
	record_set_int(&r, "files", (int64_t)s->files);
	record_set_int(&r, "bytes", (int64_t)s->bytes);
	record_set_int(&r, "total-files", (int64_t)s->total_files);
	record_set_int(&r, "large", s->large);
	record_set_int(&r, "total-bytes", (int64_t)s->total_bytes);
	(void)record_save(workspace_fd, NAME, KIND, VERSION, &r, ATOMIC_NO_SYNC,
			  &ignored);
}

void storing_end(int workspace_fd)
{
	(void)unlinkat(workspace_fd, NAME, 0);
}

bool storing_find(int workspaces_fd, const char *path, struct storing *ret)
{
	AUTO(record) struct record r = {0};
	struct err err;
	auto_close int workspace =
		workspace_open(workspaces_fd, path, false, &err);
	auto_close int lock = -1;
	const char *run;

	*ret = (struct storing){0};
	if (workspace < 0 ||
	    record_load(workspace, NAME, KIND, VERSION, &r, &err) < 0)
		return false;
	/* Its process was killed if nobody holds the lock. */
	lock = lock_take(workspace, STORING_LOCK, false, false, &err);
	run = record_get(&r, "run");
	*ret = (struct storing){
		.pid = (pid_t)record_get_int(&r, "pid"),
		.since = record_get_int(&r, "since"),
		.files = (uint64_t)record_get_int(&r, "files"),
		.bytes = (uint64_t)record_get_int(&r, "bytes"),
		.total_files = (uint64_t)record_get_int(&r, "total-files"),
		.large = record_get_int(&r, "large"),
		.total_bytes = (uint64_t)record_get_int(&r, "total-bytes"),
	};
	if (lock != -EWOULDBLOCK || ret->pid <= 1 || !run)
		return false;
	ret->run_id = mem_strdup(run);
	return true;
}

int storing_stop(int workspaces_fd, const char *path, const struct storing *s,
		 struct err *err)
{
	auto_close int process = (int)syscall(SYS_pidfd_open, s->pid, 0);
	struct pollfd ended = {.fd = process, .events = POLLIN};
	auto_close int workspace = -1, lock = -1;
	struct err ignored;

	if (process < 0 && errno == ESRCH)
		return 0;
	if (process < 0 ||
	    (syscall(SYS_pidfd_send_signal, process, SIGKILL, NULL, 0) < 0 &&
	     errno != ESRCH))
		return fail_errno(err, "stop storing %s", text_quote(path));
	while (poll(&ended, 1, -1) < 0 && errno == EINTR)
		;
	workspace = workspace_open(workspaces_fd, path, false, &ignored);
	if (workspace >= 0)
		lock = lock_take(workspace, STORING_LOCK, true, false,
				 &ignored);
	/* Otherwise the record is the next snapshot's. */
	if (lock >= 0)
		storing_end(workspace);
	return 0;
}

bool storing_is_long(const struct storing *s)
{
	return storing_clock() - s->since > LONG_SECONDS;
}

char *storing_text(const struct storing *s)
{
	const char *bytes = text_size(s->bytes);
	const char *files = text_count(s->files, "file");

	if (!s->total_files)
		return mem_printf("%s, %s", bytes, files);
	return mem_printf("%s of %s, %s of %" PRIu64, bytes,
			  text_size(s->total_bytes), files, s->total_files);
}
