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

/* The functions of libsystemd that only the other side needs. */
struct id128 {
	uint8_t bytes[16];
};

static struct {
	int (*set_fd)(struct sd_bus *bus, int in, int out);
	int (*set_server)(struct sd_bus *bus, int on, struct id128 id);
	int (*message_is_method_call)(struct sd_bus_message *m,
				      const char *interface,
				      const char *member);
	int (*message_enter_container)(struct sd_bus_message *m, char type,
				       const char *contents);
	int (*message_exit_container)(struct sd_bus_message *m);
	int (*reply_method_return)(struct sd_bus_message *m, const char *types,
				   ...);
	int (*reply_method_errnof)(struct sd_bus_message *m, int num,
				   const char *format, ...);
	int (*emit_signal)(struct sd_bus *bus, const char *path,
			   const char *interface, const char *member,
			   const char *types, ...);
	int (*flush)(struct sd_bus *bus);
} other;

static pid_t server;
static int heard; /* pipe with the received requests, a line each */

static bool load_other_side(void)
{
	struct err err;

	return load_libsystemd() &&
	       library_load(LIBRARY_LIBSYSTEMD, "sd_bus_",
			    "set_fd set_server message_is_method_call "
			    "message_enter_container message_exit_container "
			    "reply_method_return reply_method_errnof "
			    "emit_signal flush",
			    &other, &err) == 0;
}

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

/* Waits for a call and writes its name. */
static struct sd_bus_message *hear(struct sd_bus *b, int to, const char *method)
{
	struct sd_bus_message *m = NULL;

	while (!m) {
		int got = bus.process(b, &m);

		if (got < 0 || (got == 0 && bus.wait(b, 5000000) < 0))
			_exit(0);
		if (m &&
		    other.message_is_method_call(m, INTERFACE, method) <= 0) {
			(void)bus.message_unref(m);
			m = NULL;
		}
	}
	(void)dprintf(to, "%s\n", method);
	return m;
}

/* Writes the properties of a call of StartTransientUnit. */
static void hear_properties(struct sd_bus_message *m, int to, char unit[64])
{
	const char *name, *mode;

	if (bus.message_read(m, "ss", &name, &mode) < 0)
		_exit(1);
	(void)snprintf(unit, 64, "%s", name);
	if (other.message_enter_container(m, 'a', "(sv)") < 0)
		_exit(1);
	while (other.message_enter_container(m, 'r', "sv") > 0) {
		uint64_t number;
		const char *text;
		uint32_t pid;
		int on;

		if (bus.message_read(m, "s", &name) < 0)
			_exit(1);
		if (bus.message_read(m, "v", "t", &number) > 0)
			(void)dprintf(to, "%s=%llu\n", name,
				      (unsigned long long)number);
		else if (bus.message_read(m, "v", "s", &text) > 0)
			(void)dprintf(to, "%s=%s\n", name, text);
		else if (bus.message_read(m, "v", "b", &on) > 0)
			(void)dprintf(to, "%s=%d\n", name, on);
		else if (bus.message_read(m, "v", "au", 1, &pid) > 0)
			(void)dprintf(to, "%s=%u\n", name, pid);
		else
			_exit(1);
		if (other.message_exit_container(m) < 0)
			_exit(1);
	}
}

static void end_job(struct sd_bus *b, const char *unit, const char *result)
{
	(void)other.emit_signal(b, OBJECT, INTERFACE, "JobRemoved", "uoss", 1,
				"/job/1", unit, result);
}

static void __attribute__((noreturn))
serve(int door, int to, enum manner manner)
{
	int fd = accept(door, NULL, NULL);
	struct sd_bus_message *m;
	struct sd_bus *b;
	const char *name, *group;
	char unit[64];

	if (manner == CLOSED_DOOR) {
		(void)fd_write(fd, "REJECTED EXTERNAL\r\n", 19);
		_exit(0);
	}
	if (bus.new(&b) < 0 || other.set_fd(b, fd, fd) < 0 ||
	    other.set_server(b, 1, (struct id128){{1}}) < 0 || bus.start(b) < 0)
		_exit(1);
	m = hear(b, to, "StartTransientUnit");
	hear_properties(m, to, unit);
	/* A signal about another unit. */
	end_job(b, "other.scope", "failed");
	if (manner == REFUSING)
		(void)other.reply_method_errnof(m, EPERM, "no");
	else
		(void)other.reply_method_return(m, "o", "/job/1");
	(void)other.flush(b);
	if (manner == DYING) {
		(void)fd_write(fd, "l\4", 2);
		_exit(0);
	}
	if (manner == REFUSING)
		_exit(0);
	end_job(b, unit, manner == FAILING ? "failed" : "done");
	m = hear(b, to, "AttachProcessesToUnit");
	if (bus.message_read(m, "ss", &name, &group) > 0)
		(void)dprintf(to, "%s %s\n", name, group);
	if (manner == STAYING_OUT)
		(void)other.reply_method_errnof(m, EPERM, "no");
	else
		(void)other.reply_method_return(m, "");
	(void)other.flush(b);
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

#define SAID(b, text) buf_has((b), (text))

static void the_limits_are_asked_for_and_the_run_is_put_in(void **state)
{
	struct scope s;
	struct buf b = {0};
	struct err err;
	char pid[32];

	(void)state;
	begin(GOOD);
	assert_true(scope_make(&s, &all));
	assert_true(s.holder > 0 && kill(s.holder, 0) == 0);
	(void)snprintf(pid, sizeof(pid), "PIDs=%d\n", (int)s.holder);
	assert_int_equal(scope_enter(&s, "/run", getpid(), &err), 0);
	assert_int_equal(s.holder, 0);
	assert_null(s.bus);
	end(&b);
	assert_true(SAID(&b, "StartTransientUnit"));
	assert_true(SAID(&b, "MemoryMax=536870912\n"));
	assert_true(SAID(&b, "MemorySwapMax=0\n"));
	assert_true(SAID(&b, "CPUQuotaPerSecUSec=1500000\n"));
	assert_true(SAID(&b, "TasksMax=77\n"));
	assert_true(SAID(&b, "Delegate=1\n"));
	assert_true(SAID(&b, pid));
	assert_true(SAID(&b, "AttachProcessesToUnit\n"));
	assert_true(SAID(&b, ".scope /run\n"));
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
	assert_null(s.bus);
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
	assert_null(s.bus);
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

	if (!load_other_side()) {
		(void)fprintf(stderr, "libsystemd is missing\n");
		return 99;
	}
	/* Runs only in the throw-away root, never beside a real systemd. */
	if (!getenv("GUARD_TEST_ROOT")) {
		(void)fprintf(stderr, "only in the root of the tests\n");
		return 99;
	}
	(void)signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
