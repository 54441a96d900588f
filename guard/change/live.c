#include "guard/change/live.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/timestamp.h"
#include "guard/change/resolve_run.h"

/* = number " " start */
#define INIT "init"
#define SUPERVISOR "supervisor"
/* The supervisor knows edits_ask(): another one would pass SIGURG on. */
#define SHOWS_EDITS "shows-edits"
/* The supervisor calls freezer_resume_abandoned(). */
#define RESUMES "resumes"

static void record_process(struct session *s, const char *key, pid_t pid)
{
	auto_free char *value =
		mem_printf("%d %" PRIu64, pid, freezer_start_time(pid));

	record_set(&s->more, key, value);
}

void live_record_init(struct session *s, pid_t init)
{
	record_process(s, INIT, init);
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
