/* Kernel resources that a run can exhaust: made-up figures, and processes that
 * really hold the counted resources. */
#include "guard/sandbox/watch.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

/* cmocka has a fail() too. */
#undef fail
#include <cmocka.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"

static char top[] = "/tmp/quotas.XXXXXX";

static void put(const char *name, const char *text)
{
	char path[256];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/%s", top, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(fd_write(fd, text, strlen(text)), 0);
	(void)close(fd);
}

static int make_top(void **state)
{
	static const char *const dirs[] = {"", "/sys", "/sys/fs", "/sys/net",
					   "/sys/net/ipv4"};
	char path[256];
	size_t i;

	(void)state;
	if (!mkdtemp(top))
		return -1;
	for (i = 1; i < sizeof(dirs) / sizeof(*dirs); i++) {
		(void)snprintf(path, sizeof(path), "%s%s", top, dirs[i]);
		if (mkdir(path, 0755) < 0)
			return -1;
	}
	put("sys/fs/file-nr", "1000\t0\t100000\n");
	put("sys/fs/aio-nr", "0\n");
	put("sys/fs/aio-max-nr", "1000\n");
	put("sys/net/ipv4/ip_local_port_range", "1000\t2000\n");
	return 0;
}

/* ---- processes that hold something ---- */

static int hold_files(int count)
{
	while (count-- > 0)
		if (open("/dev/null", O_RDONLY | O_CLOEXEC) < 0)
			return 1;
	return 0;
}

static int hold_requests(int count)
{
	unsigned long context = 0;

	return syscall(SYS_io_setup, count, &context) < 0;
}

static int hold_sockets(int count)
{
	while (count-- > 0)
		if (socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0) < 0)
			return 1;
	return 0;
}

/* Starts a process that holds count of them until it is killed. */
static pid_t holder(int (*hold)(int count), int count)
{
	int ready[2];
	char byte = 'n';
	pid_t pid;

	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		byte = hold(count) == 0 ? 'y' : 'n';
		(void)!write(ready[1], &byte, 1);
		for (;;)
			(void)pause();
	}
	(void)close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	assert_int_equal(byte, 'y');
	(void)close(ready[0]);
	return pid;
}

static void end(pid_t pid)
{
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
}

static struct kernel_quotas made_up(void)
{
	struct kernel_quotas s = KERNEL_QUOTAS_CLOSED;

	s.proc = top;
	return s;
}

/* A process with more than half is found, a process with a few is not. */
static void compare(const struct kernel_quotas *s, enum quota quota,
		    int (*hold)(int count))
{
	pid_t pids[2] = {holder(hold, 600), holder(hold, 10)};

	assert_true(kernel_quotas_held(s, quota, pids, 2));
	assert_true(kernel_quotas_held(s, quota, pids, 1));
	assert_false(kernel_quotas_held(s, quota, pids + 1, 1));
	assert_false(kernel_quotas_held(s, quota, NULL, 0));
	end(pids[0]);
	end(pids[1]);
}

/* ---- */

static void nothing_is_used_up_where_nobody_takes_it(void **state)
{
	struct kernel_quotas s = KERNEL_QUOTAS_CLOSED;

	(void)state;
	s.ports = true;
	assert_int_equal(kernel_quotas_check(&s, QUOTA_NONE), QUOTA_NONE);
	assert_int_equal(kernel_quotas_check(&s, QUOTA_NONE), QUOTA_NONE);
	assert_true(s.files_fd >= 0);
	kernel_quotas_close(&s);
	assert_int_equal(s.files_fd, -1);
}

static void open_files_are_counted_when_half_are_gone(void **state)
{
	struct kernel_quotas s = made_up();

	(void)state;
	assert_int_equal(kernel_quotas_check(&s, QUOTA_NONE), QUOTA_NONE);
	put("sys/fs/file-nr", "501\t0\t1000\n");
	assert_int_equal(kernel_quotas_check(&s, QUOTA_NONE), QUOTA_FILES);
	compare(&s, QUOTA_FILES, hold_files);
	/* Without a useful number in file-nr, memory decides. */
	put("sys/fs/file-nr", "2000\t0\t9223372036854775807\n");
	assert_int_equal(kernel_quotas_check(&s, QUOTA_NONE), QUOTA_NONE);
	put("sys/fs/file-nr", "900000000000\t0\t9223372036854775807\n");
	assert_int_equal(kernel_quotas_check(&s, QUOTA_NONE), QUOTA_FILES);
	put("sys/fs/file-nr", "1000\t0\t100000\n");
	kernel_quotas_close(&s);
}

static void requests_are_counted_when_half_are_gone(void **state)
{
	struct kernel_quotas s = made_up();

	(void)state;
	assert_int_equal(kernel_quotas_check(&s, QUOTA_NONE), QUOTA_NONE);
	put("sys/fs/aio-nr", "501\n");
	assert_int_equal(kernel_quotas_check(&s, QUOTA_NONE), QUOTA_REQUESTS);
	put("sys/fs/aio-nr", "0\n");
	compare(&s, QUOTA_REQUESTS, hold_requests);
	kernel_quotas_close(&s);
}

static void each_that_is_short_is_looked_at(void **state)
{
	struct kernel_quotas s = made_up();

	(void)state;
	assert_int_equal(kernel_quotas_check(&s, QUOTA_NONE), QUOTA_NONE);
	put("sys/fs/file-nr", "501\t0\t1000\n");
	put("sys/fs/aio-nr", "501\n");
	assert_int_equal(kernel_quotas_check(&s, QUOTA_NONE), QUOTA_FILES);
	assert_int_equal(kernel_quotas_check(&s, QUOTA_FILES), QUOTA_REQUESTS);
	assert_int_equal(kernel_quotas_check(&s, QUOTA_REQUESTS), QUOTA_NONE);
	put("sys/fs/file-nr", "1000\t0\t100000\n");
	put("sys/fs/aio-nr", "0\n");
	kernel_quotas_close(&s);
}

static void what_was_short_before_is_the_doing_of_others(void **state)
{
	struct kernel_quotas s = made_up();

	(void)state;
	put("sys/fs/aio-nr", "501\n");
	assert_int_equal(kernel_quotas_check(&s, QUOTA_NONE), QUOTA_NONE);
	assert_int_equal(kernel_quotas_check(&s, QUOTA_NONE), QUOTA_NONE);
	put("sys/fs/aio-nr", "0\n");
	assert_int_equal(kernel_quotas_check(&s, QUOTA_NONE), QUOTA_NONE);
	put("sys/fs/aio-nr", "501\n");
	assert_int_equal(kernel_quotas_check(&s, QUOTA_NONE), QUOTA_REQUESTS);
	put("sys/fs/aio-nr", "0\n");
	kernel_quotas_close(&s);
}

static void sockets_are_counted_against_the_ports(void **state)
{
	struct kernel_quotas s = made_up();

	(void)state;
	compare(&s, QUOTA_PORTS, hold_sockets);
}

static void what_a_process_hides_is_its_own(void **state)
{
	struct kernel_quotas s = made_up();
	pid_t pid = holder(hold_files, 1);

	(void)state;
	/* Process 1 of another user, unless this user made the throw-away
	 * root. */
	if (access("/proc/1/fd", R_OK) < 0) {
		pid_t other = 1;

		assert_true(kernel_quotas_held(&s, QUOTA_PORTS, &other, 1));
		assert_true(kernel_quotas_held(&s, QUOTA_REQUESTS, &other, 1));
		/* The process counts as the run's pid 1, its children as pid
		 * 1's workers. */
		s.init = other;
		assert_false(kernel_quotas_held(&s, QUOTA_PORTS, &other, 1));
		assert_false(kernel_quotas_held(&s, QUOTA_REQUESTS, &other, 1));
		s.init = 0;
	}
	assert_false(kernel_quotas_held(&s, QUOTA_PORTS, &pid, 1));
	end(pid);
}

static void who_has_ended_hides_nothing(void **state)
{
	struct kernel_quotas s = made_up();
	siginfo_t info;
	pid_t pid = fork();

	(void)state;
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	assert_false(kernel_quotas_held(&s, QUOTA_REQUESTS, &pid, 1));
	assert_false(kernel_quotas_held(&s, QUOTA_PORTS, &pid, 1));
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_false(kernel_quotas_held(&s, QUOTA_REQUESTS, &pid, 1));
	assert_false(kernel_quotas_held(&s, QUOTA_PORTS, &pid, 1));
}

static void each_of_them_has_words(void **state)
{
	int i;

	(void)state;
	for (i = QUOTA_NONE + 1; i < QUOTA_KINDS; i++)
		assert_true(strncmp(kernel_quotas_explain((enum quota)i), "it ",
				    3) == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_used_up_where_nobody_takes_it),
		cmocka_unit_test(open_files_are_counted_when_half_are_gone),
		cmocka_unit_test(requests_are_counted_when_half_are_gone),
		cmocka_unit_test(each_that_is_short_is_looked_at),
		cmocka_unit_test(what_was_short_before_is_the_doing_of_others),
		cmocka_unit_test(sockets_are_counted_against_the_ports),
		cmocka_unit_test(what_a_process_hides_is_its_own),
		cmocka_unit_test(who_has_ended_hides_nothing),
		cmocka_unit_test(each_of_them_has_words),
	};

	return cmocka_run_group_tests(tests, make_top, NULL);
}
