/* A systemd scope, requested on a socket of this test: the requests, and the
 * effect of each reply. tests/vm uses the real systemd. */
#include "guard/sandbox/cgroup.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

/* cmocka has a fail() too. */
#undef fail
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "guard/sandbox/sandbox.h"

/* How the other side behaves. */
enum manner {
	GOOD,
	CLOSED_DOOR, /* accepts no connection */
	REFUSING, /* replies with an error instead of a job */
	FAILING, /* the job fails */
	DYING, /* closes the connection in the middle of a message */
	STAYING_OUT /* refuses the second call */
};

static const struct sandbox_policy all = {
	.memory = 512 << 20,
	.cpus_milli = 1500,
	.pids_limit = 77,
};

static pid_t server;
static int heard; /* pipe with the received requests */

static void socket_path(char path[108], bool make)
{
	char dir[96];

	if (geteuid() == 0)
		(void)snprintf(dir, sizeof(dir), "/run/systemd");
	else
		(void)snprintf(dir, sizeof(dir), "/run/user/%u/systemd",
			       geteuid());
	if (make)
		(void)mkdir(dir, 0755);
	(void)snprintf(path, 108, "%s/private", dir);
}

/* Sends a message: header, fields with one text, body with two. */
static void answer(int fd, char type, const char *field, const char *unit,
		   const char *result)
{
	unsigned char m[512] = {'l', (unsigned char)type, 0, 1};
	uint32_t fields = (uint32_t)strlen(field) + 1, body;
	size_t at = 16 + (fields + 7) / 8 * 8;

	memcpy(m + 16, field, fields);
	memcpy(m + at, unit, strlen(unit) + 1);
	memcpy(m + at + strlen(unit) + 1, result, strlen(result) + 1);
	body = (uint32_t)(strlen(unit) + strlen(result) + 2);
	memcpy(m + 4, &body, sizeof(body));
	memcpy(m + 12, &fields, sizeof(fields));
	(void)fd_write(fd, m, at + body);
}

/* Reads one complete call and passes it on. */
static void hear(int fd, int to, char unit[64])
{
	char m[2048];
	uint32_t body, fields;
	size_t len;
	const char *at;

	if (fd_read(fd, m, 16) != 16)
		_exit(0);
	memcpy(&body, m + 4, sizeof(body));
	memcpy(&fields, m + 12, sizeof(fields));
	len = (fields + 7) / 8 * 8 + body;
	if (len > sizeof(m) - 16 || fd_read(fd, m + 16, len) != (ssize_t)len)
		_exit(1);
	(void)fd_write(to, m, 16 + len);
	at = memmem(m, 16 + len, "guard-", 6);
	(void)snprintf(unit, 64, "%s", at ? at : "");
}

static void hear_line(int fd, int to)
{
	char c = 0;

	while (c != '\n' && fd_read(fd, &c, 1) == 1)
		(void)fd_write(to, &c, 1);
}

static void __attribute__((noreturn))
serve(int door, int to, enum manner manner)
{
	int fd = accept(door, NULL, NULL);
	char unit[64];

	hear_line(fd, to);
	if (manner == CLOSED_DOOR) {
		(void)fd_write(fd, "REJECTED EXTERNAL\r\n", 19);
		_exit(0);
	}
	(void)fd_write(fd, "OK 0123456789abcdef\r\n", 21);
	hear_line(fd, to);
	hear(fd, to, unit);
	/* A signal about another unit. */
	answer(fd, 4, "JobRemoved", "other.scope", "failed");
	if (manner == DYING) {
		(void)fd_write(fd, "l\4", 2);
		_exit(0);
	}
	if (manner == REFUSING) {
		answer(fd, 3, "no", "", "");
		_exit(0);
	}
	answer(fd, 2, "", "", "/job/1");
	answer(fd, 4, "JobRemoved", unit,
	       manner == FAILING ? "failed" : "done");
	hear(fd, to, unit);
	answer(fd, 4, "UnitNew", "other.scope", "");
	answer(fd, manner == STAYING_OUT ? 3 : 2, "", "", "");
	_exit(0);
}

static void begin(enum manner manner)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int door = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), ends[2];

	socket_path(at.sun_path, true);
	(void)unlink(at.sun_path);
	assert_int_equal(bind(door, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(door, 1), 0);
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	server = fork();
	assert_true(server >= 0);
	if (server == 0) {
		(void)signal(SIGPIPE, SIG_IGN);
		serve(door, ends[1], manner);
	}
	(void)close(ends[1]);
	(void)close(door);
	heard = ends[0];
}

/* Collects all requests. */
static void end(struct buf *all_of_it)
{
	char path[108];
	struct err err;

	assert_int_equal(waitpid(server, NULL, 0), server);
	assert_true(fd_slurp(heard, 1 << 16, all_of_it, &err) >= 0);
	(void)close(heard);
	socket_path(path, false);
	(void)unlink(path);
}

static bool was_said(const struct buf *b, const void *bytes, size_t len)
{
	return b->len && memmem(b->data, b->len, bytes, len);
}

#define SAID(b, text) was_said((b), (text), strlen(text))

/* True if the request has the property with this number, in wire format. */
static bool number_was_said(const struct buf *b, const char *name,
			    uint64_t number)
{
	const unsigned char *at;
	size_t from;

	at = memmem(b->data, b->len, name, strlen(name) + 1);
	if (!at)
		return false;
	from = (size_t)(at - b->data);
	return memmem(b->data + from, strlen(name) + 24, &number,
		      sizeof(number)) != NULL;
}

static void the_limits_are_asked_for_and_the_run_is_put_in(void **state)
{
	struct scope s;
	struct buf b = {0};
	struct err err;
	char id[16], hex[64] = "";
	size_t i;

	(void)state;
	begin(GOOD);
	assert_true(scope_make(&s, &all));
	assert_true(s.holder > 0 && kill(s.holder, 0) == 0);
	assert_int_equal(scope_enter(&s, "/run", getpid(), &err), 0);
	assert_int_equal(s.holder, 0);
	assert_int_equal(s.fd, -1);
	end(&b);
	(void)snprintf(id, sizeof(id), "%u", geteuid());
	for (i = 0; id[i]; i++)
		(void)snprintf(hex + 2 * i, 3, "%02x", (unsigned char)id[i]);
	assert_true(SAID(&b, hex));
	assert_true(SAID(&b, "StartTransientUnit"));
	assert_true(number_was_said(&b, "MemoryMax", 512 << 20));
	assert_true(number_was_said(&b, "MemorySwapMax", 0));
	assert_true(number_was_said(&b, "CPUQuotaPerSecUSec", 1500000));
	assert_true(number_was_said(&b, "TasksMax", 77));
	assert_true(SAID(&b, "AttachProcessesToUnit"));
	assert_true(SAID(&b, "/run"));
	buf_free(&b);
}

static void what_was_not_wished_is_not_asked_for(void **state)
{
	struct scope s;
	struct buf b = {0};

	(void)state;
	begin(GOOD);
	assert_true(scope_make(&s, &(struct sandbox_policy){.pids_limit = 5}));
	scope_end(&s);
	scope_end(&s);
	end(&b);
	assert_true(SAID(&b, "TasksMax"));
	assert_false(SAID(&b, "MemoryMax"));
	assert_false(SAID(&b, "CPUQuotaPerSecUSec"));
	buf_free(&b);
}

/* No scope, no process and no descriptor is left, whatever the behavior. */
static void no_scope(enum manner manner)
{
	struct scope s;
	struct buf b = {0};

	begin(manner);
	assert_false(scope_make(&s, &all));
	assert_int_equal(s.fd, -1);
	assert_int_equal(s.holder, 0);
	end(&b);
	buf_free(&b);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

static void without_an_answer_that_is_good_there_is_none(void **state)
{
	(void)state;
	no_scope(CLOSED_DOOR);
	no_scope(REFUSING);
	no_scope(FAILING);
	no_scope(DYING);
}

static void without_systemd_there_is_none(void **state)
{
	struct scope s;

	(void)state;
	assert_false(scope_make(&s, &all));
	assert_int_equal(s.fd, -1);
}

static void a_run_that_is_not_let_in_is_told(void **state)
{
	struct scope s;
	struct buf b = {0};
	struct err err;

	(void)state;
	begin(STAYING_OUT);
	assert_true(scope_make(&s, &all));
	assert_int_equal(scope_enter(&s, "/run", getpid(), &err), -EIO);
	assert_non_null(strstr(err.text, s.unit));
	scope_end(&s);
	end(&b);
	buf_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_systemd_there_is_none),
		cmocka_unit_test(
			the_limits_are_asked_for_and_the_run_is_put_in),
		cmocka_unit_test(what_was_not_wished_is_not_asked_for),
		cmocka_unit_test(without_an_answer_that_is_good_there_is_none),
		cmocka_unit_test(a_run_that_is_not_let_in_is_told),
	};

	/* Runs only in the throw-away root, never beside a real systemd. */
	if (!getenv("GUARD_TEST_ROOT")) {
		(void)fprintf(stderr, "only in the root of the tests\n");
		return 99;
	}
	(void)signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
