#include "restore/parse/parse.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/child.h"
#include "base/fd.h"
#include "base/text.h"
#include "restore/parse/parse_wire.h"

/* Longest time between two looks at a worker that computes. */
#define LOOK_MS 1000

static const struct parse_launcher *launcher;

/* The worker of this process. */
static struct {
	pid_t pid; /* 0: none is running */
	pid_t owner; /* the process that started it */
	int fd;
	bool git; /* libgit2 is loaded */
	uint32_t number; /* of the last request */
	clockid_t clock; /* 0: none */
	int64_t used; /* of its time, at the last look */
} worker = {.fd = -1};

/* The processor time of all workers, at the last look. */
static int64_t time_used;

void parse_use(const struct parse_launcher *l)
{
	launcher = l;
}

/* --- time --- */

static int64_t milliseconds(clockid_t clock)
{
	struct timespec now;

	return !clock || clock_gettime(clock, &now) < 0
		       ? 0
		       : now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void look_at_time(void)
{
	int64_t used = milliseconds(worker.clock);

	if (used <= worker.used)
		return;
	time_used += used - worker.used;
	worker.used = used;
}

int64_t parse_time(void)
{
	if (worker.pid)
		look_at_time();
	return time_used;
}

/* --- the worker --- */

/* Ends the worker and returns its status of waitpid(2). A worker of the parent
 * process, whose socket a fork has inherited, is only forgotten. */
static int end_worker(void)
{
	int status = 0;

	fd_close(&worker.fd);
	if (worker.pid && worker.owner == getpid()) {
		look_at_time();
		(void)kill(worker.pid, SIGKILL);
		status = child_wait(worker.pid);
	}
	worker.pid = 0;
	return status;
}

void parse_end(void)
{
	(void)end_worker();
}

static int start_worker(bool git, struct err *err)
{
	if (worker.pid && worker.owner == getpid() && (worker.git || !git))
		return 0;
	(void)end_worker();
	if (!launcher)
		return fail(err, ENOTSUP, "no parsing worker is set up");
	if (launcher->start(git, &worker.pid, &worker.fd, err) < 0) {
		worker.pid = 0;
		return -err->num;
	}
	worker.owner = getpid();
	worker.git = git;
	worker.used = 0;
	if (clock_getcpuclockid(worker.pid, &worker.clock) != 0)
		worker.clock = 0;
	return 0;
}

void parse_prepare(bool git)
{
	struct err ignored;

	(void)start_worker(git, &ignored);
}

/* Why no answer came: how the worker ended. The kernel closes the socket of a
 * process before its status is there, and guard's SIGKILL must not replace the
 * signal that ended it. */
static int fail_ended(struct err *err)
{
	auto_close int pidfd = (int)syscall(SYS_pidfd_open, worker.pid, 0);
	struct pollfd ended = {.fd = pidfd, .events = POLLIN};
	int status;

	(void)poll(&ended, 1, LOOK_MS);
	status = end_worker();
	if (!WIFSIGNALED(status))
		return fail(err, EPROTO, "worker: exit status %d",
			    WEXITSTATUS(status));
	return fail(err, EPROTO, "worker: signal %d%s", WTERMSIG(status),
		    WTERMSIG(status) == SIGSYS ? ", a forbidden system call"
					       : "");
}

static int refuse(const char *why, struct err *err)
{
	(void)end_worker();
	return fail(err, EPROTO, "worker: %s", why);
}

int parse_refuse(struct err *err)
{
	return refuse("invalid answer", err);
}

/*
 * Waits for a packet. A stopped or suspended guard does not count against the
 * worker: only looks that found no progress of its processor time do.
 */
static int wait_answer(struct err *err)
{
	struct pollfd ready = {.fd = worker.fd, .events = POLLIN};
	int64_t start = 0, last = -1, used, idle = 0;
	int got = poll(&ready, 1, LOOK_MS);

	while (got == 0 || (got < 0 && errno == EINTR)) {
		used = milliseconds(worker.clock);
		if (last < 0)
			start = used;
		idle = used > last ? 0 : idle + LOOK_MS;
		last = used;
		if (used - start > (int64_t)launcher->processor * 1000)
			return refuse("took too long", err);
		if (idle > (int64_t)launcher->silence * 1000)
			return refuse("no answer", err);
		got = poll(&ready, 1, LOOK_MS);
	}
	return got < 0 ? fail_errno(err, "wait for the worker") : 0;
}

/* --- answers --- */

/* A private copy: a later change of the memfd has no effect. */
static int read_memfd(int fd, uint64_t len, struct buf *ret)
{
	void *to;

	if (len > PARSE_ANSWER_MAX || !parse_wire_is_sealed(fd, len))
		return -1;
	to = buf_reserve(ret, len);
	if (fd_pread(fd, to, len, 0) != (ssize_t)len)
		return -1;
	ret->len += len;
	return 0;
}

static int fail_as_told(const struct parse_head *head, struct buf *text,
			struct err *err)
{
	AUTO(buf) struct buf shown = {0};

	text_escape(&shown, text->data, text->len < 1024 ? text->len : 1024,
		    false);
	return fail(err, head->status, "%s", buf_text(&shown));
}

static int read_answer(enum parse_op op, struct buf *ret, struct err *err)
{
	static unsigned char room[PARSE_INLINE_MAX];
	AUTO(buf) struct buf data = {0};
	struct parse_head head;
	auto_close int fd = -1;
	ssize_t len = parse_wire_receive(worker.fd, &head, room, &fd);

	if (len < 0)
		return errno == EPROTO ? parse_refuse(err) : fail_ended(err);
	if (head.op != (uint32_t)op || head.number != worker.number ||
	    head.status < 0 || head.status == EPROTO ||
	    (fd < 0 ? head.len[0] != (uint64_t)len : len != 0))
		return parse_refuse(err);
	if (fd < 0)
		buf_add(&data, room, (size_t)len);
	else if (read_memfd(fd, head.len[0], &data) < 0)
		return parse_refuse(err);
	if (head.status)
		return fail_as_told(&head, &data, err);
	*ret = TAKE(data);
	return 0;
}

/* 1: the worker had ended before. */
static int send_request(enum parse_op op, const struct parse_text *inputs,
			size_t count, struct err *err)
{
	struct parse_head head = {
		.op = op,
		.number = ++worker.number,
		.count = (uint32_t)count,
	};
	size_t i;

	for (i = 0; i < count; i++)
		head.len[i] = inputs[i].data ? inputs[i].len : PARSE_MISSING;
	if (parse_wire_send(worker.fd, &head, inputs, count) == 0)
		return 0;
	if (errno != EPIPE && errno != ECONNRESET)
		return fail_errno(err, "worker: send");
	return 1;
}

struct parse_text parse_text_of(const struct buf *text)
{
	if (!text)
		return (struct parse_text){0};
	return (struct parse_text){text->len ? (const void *)text->data : "",
				   text->len};
}

int parse_call(enum parse_op op, const struct parse_text *inputs, size_t count,
	       struct buf *ret, struct err *err)
{
	bool git = op <= PARSE_GIT_LAST;
	int got, tries = 0;

	do {
		if (start_worker(git, err) < 0)
			return -err->num;
		got = send_request(op, inputs, count, err);
		/* Killed between two requests: not by this one. */
		if (got == 1)
			(void)fail_ended(err);
	} while (got == 1 && tries++ == 0);
	if (got)
		return -err->num;
	return wait_answer(err) < 0 ? -err->num : read_answer(op, ret, err);
}
