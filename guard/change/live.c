#include "guard/change/live.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/timestamp.h"
#include "guard/change/resolve_run.h"
#include "guard/sandbox/mount.h"
#include "overlay/session_list.h"

/* = number " " start */
#define INIT "init"
#define SUPERVISOR "supervisor"
/* The supervisor knows edits_ask(): another one would pass SIGURG on. */
#define SHOWS_EDITS "shows-edits"
/* = user " " mount: descriptors of the supervisor */
#define NAMESPACES "namespaces"
/* The supervisor calls freezer_resume_abandoned(). */
#define RESUMES "resumes"

static void record_process(struct session *s, const char *key, pid_t pid)
{
	auto_free char *value =
		mem_printf("%d %" PRIu64, pid, freezer_start_time(pid));

	record_set(&s->more, key, value);
}

void live_record_init(struct session *s, const struct sandbox *sb)
{
	const struct edits *e = sandbox_edits(sb);
	auto_free char *fds = mem_printf("%d %d", e->user_fd, e->mount_fd);

	record_process(s, INIT, sandbox_pid1(sb));
	record_set(&s->more, NAMESPACES, fds);
	record_process(s, SUPERVISOR, getpid());
	record_set_int(&s->more, SHOWS_EDITS, 1);
	record_set_int(&s->more, RESUMES, 1);
}

/* A descriptor of the recorded process; -ESRCH: it has ended. */
static int open_process(const struct session *s, const char *key,
			struct err *err)
{
	const char *value = record_get(&s->more, key);
	auto_close int fd = -1;
	uint64_t start;
	int pid;

	if (!value || sscanf(value, "%d %" SCNu64, &pid, &start) != 2)
		return fail(err, ENODATA,
			    "run %s was started by an older guard: end its "
			    "command in its own terminal",
			    session_label(s));
	fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (fd < 0 && errno != ESRCH)
		return fail_errno(err, "run %s", session_label(s));
	/* The pid may belong to another process now. */
	if (fd < 0 || freezer_start_time(pid) != start)
		return fail(err, ESRCH, "run %s has ended", session_label(s));
	return TAKE_FD(fd);
}

/* 1: the process has ended; 0: not within the time (-1: no limit). */
static int wait_for_process(int pidfd, int ms)
{
	struct pollfd wait = {.fd = pidfd, .events = POLLIN};
	int64_t until = timestamp_monotonic_ms() + ms;
	int got;

	do
		got = poll(&wait, 1, ms);
	while (got < 0 && errno == EINTR &&
	       (ms < 0 || timestamp_monotonic_ms() < until));
	return got > 0;
}

static int send_signal(int pidfd, int signal)
{
	return (int)syscall(SYS_pidfd_send_signal, pidfd, signal, NULL, 0);
}

/* pid 1 has closed its /proc, the supervisor has not. */
static int open_namespace(pid_t supervisor, int number)
{
	auto_free char *path =
		mem_printf("/proc/%d/fd/%d", (int)supervisor, number);

	return open(path, O_RDONLY | O_CLOEXEC);
}

int live_open_dir(const struct session *s, const char *path, struct err *err)
{
	auto_close int supervisor = open_process(s, SUPERVISOR, err);
	const char *value = record_get(&s->more, NAMESPACES);
	struct edits e = EDITS_NONE;
	int pid, user, mount, got;

	if (supervisor < 0)
		return supervisor;
	if (!value || sscanf(value, "%d %d", &user, &mount) != 2 ||
	    sscanf(record_get(&s->more, SUPERVISOR), "%d", &pid) != 1)
		return fail(err, ENODATA,
			    "run %s was started by an older guard: wait for "
			    "its end",
			    session_label(s));
	e.user_fd = open_namespace(pid, user);
	e.mount_fd = open_namespace(pid, mount);
	got = e.user_fd < 0 || e.mount_fd < 0
		      ? fail_errno(err, "enter run %s", session_label(s))
		      : edits_open_dir(&e, path, err);
	edits_close(&e);
	return got;
}

void live_show_edits(const struct session *s)
{
	struct err ignored;
	auto_close int supervisor = open_process(s, SUPERVISOR, &ignored);

	if (supervisor >= 0 && record_get_int(&s->more, SHOWS_EDITS))
		(void)edits_ask(supervisor);
}

int live_stop(const struct session *s, int grace_ms, struct err *err)
{
	auto_close int supervisor = open_process(s, SUPERVISOR, err);
	auto_close int init = supervisor < 0 ? -1 : open_process(s, INIT, err);

	if (supervisor < 0)
		return err->num == ESRCH ? 0 : supervisor;
	/* Without pid 1 the supervisor is storing the result. */
	if (init < 0 && init != -ESRCH)
		return init;
	/* The supervisor passes the signal to the command. */
	if (init >= 0 && send_signal(supervisor, SIGTERM) < 0 && errno != ESRCH)
		return fail_errno(err, "stop run %s", session_label(s));
	if (init >= 0 && !wait_for_process(init, grace_ms))
		(void)send_signal(init, SIGKILL);
	(void)wait_for_process(supervisor, -1);
	return 1;
}

static bool has_disk(const struct mountinfo *m, const char *dev)
{
	size_t i;

	for (i = 0; i < m->count; i++)
		if (strcmp(m->items[i].dev, dev) == 0)
			return true;
	return false;
}

void live_each_disk(int runs_fd,
		    void (*each)(void *arg, const struct session *s,
				 const char *point, bool mounted),
		    void *arg)
{
	/* btrfs has no number of a block device. */
	static const char none[] = "0:";
	AUTO(session_list) struct session_list list = {0};
	AUTO(mountinfo) struct mountinfo own = {0};
	struct err ignored;
	size_t i, k;

	if (session_list(runs_fd, true, &list, &ignored) < 0 ||
	    mountinfo_load(0, &own, &ignored) < 0)
		return;
	for (i = 0; i < list.count; i++) {
		const struct session *s = &list.items[i];
		const char *init = record_get(&s->more, INIT);
		AUTO(mountinfo) struct mountinfo m = {0};

		if (!init || mountinfo_load((pid_t)strtol(init, NULL, 10), &m,
					    &ignored) < 0)
			continue;
		for (k = 0; k < m.count; k++) {
			const struct mountinfo_item *item = &m.items[k];

			if (strcmp(item->point, "/") != 0 &&
			    (strncmp(item->dev, none, strlen(none)) != 0 ||
			     strcmp(item->type, "btrfs") == 0))
				each(arg, s, item->point,
				     has_disk(&own, item->dev));
		}
	}
}

int live_suspend(const struct session *s, struct freezer **ret, struct err *err)
{
	const char *value = record_get(&s->more, INIT);
	uint64_t start;
	int init, got;

	*ret = NULL;
	if (!resolve_run_is_running(s))
		return 0;
	if (!value || !record_get_int(&s->more, RESUMES) ||
	    sscanf(value, "%d %" SCNu64, &init, &start) != 2)
		return fail(err, ENODATA,
			    "run %s was started by an older guard that cannot "
			    "freeze it: wait for its end",
			    session_label(s));
	got = freezer_begin(s->fd, init, start, ret, err);
	return got == -ESRCH ? 0 : got;
}
