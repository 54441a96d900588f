/* Descriptors with a proxy process. Each case runs in a process of its own,
 * whose descriptors 0, 1, 2 are replaced. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "guard/sandbox/stdio_proxy.h"

#undef fail
#include <cmocka.h>

static bool all_in(void *arg, int fd)
{
	return fd >= *(int *)arg;
}

/* Opens a file with this text at its start. */
static int file_of(const char *text)
{
	char name[] = "/tmp/stdio-XXXXXX";
	int fd = mkstemp(name);

	assert_true(fd > 2);
	assert_int_equal(unlink(name), 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

static void holds(int fd, const char *wanted)
{
	char got[64] = "";

	assert_int_equal(pread(fd, got, sizeof(got) - 1, 0), strlen(wanted));
	assert_string_equal(got, wanted);
}

/* Runs act() in a process with in as 0 and out as 1 and 2; descriptors from
 * `first` on get a proxy. */
static void play(int in, int out, int first, bool (*act)(void))
{
	struct stdio_proxies f = {0};
	struct err err;
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		if (dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0 ||
		    stdio_proxy_start(&f, all_in, &first, &err) < 0 || !act())
			_exit(1);
		stdio_proxy_stop(&f);
		stdio_proxy_stop(&f);
		/* The original descriptors are restored. */
		_exit(write(1, "end\n", 4) == 4 ? 0 : 2);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static bool copy(void)
{
	char data[32];
	ssize_t n = read(0, data, sizeof(data));

	return lseek(0, 0, SEEK_CUR) < 0 && n > 0 &&
	       write(1, data, (size_t)n) == n && read(0, data, 1) == 0;
}

static bool take_turns(void)
{
	int i;

	for (i = 0; i < 3; i++)
		if (write(1, "o\n", 2) != 2 || write(2, "e\n", 2) != 2)
			return false;
	return true;
}

/* A process of the caller's keeps the other end open until the caller has
 * ended. */
static bool leave_one(void)
{
	int ends[2];

	if (write(1, "told\n", 5) != 5 || pipe(ends) < 0)
		return false;
	if (fork() == 0) {
		char c;

		(void)close(ends[1]);
		(void)!read(ends[0], &c, 1);
		_exit(0);
	}
	return true;
}

static void bytes_come_and_go(void **state)
{
	auto_close int in = file_of("words\n"), out = file_of("");

	(void)state;
	play(in, out, 0, copy);
	holds(out, "words\nend\n");
}

static void output_and_errors_keep_their_order(void **state)
{
	auto_close int in = file_of(""), out = file_of("");

	(void)state;
	play(in, out, 1, take_turns);
	holds(out, "o\ne\no\ne\no\ne\nend\n");
}

static void who_keeps_the_other_end_holds_nobody_up_for_long(void **state)
{
	auto_close int in = file_of(""), out = file_of("");

	(void)state;
	/* Whatever outlives the case becomes a child of this process. */
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
	play(in, out, 1, leave_one);
	assert_true(wait(NULL) > 0);
	while (wait(NULL) > 0)
		;
	holds(out, "told\nend\n");
}

static void what_is_not_wanted_stays(void **state)
{
	auto_close int in = file_of("words\n"), out = file_of("");
	struct stdio_proxies f = {0};
	struct err err;
	int first = 3;

	(void)state;
	(void)in;
	assert_int_equal(stdio_proxy_start(&f, all_in, &first, &err), 0);
	stdio_proxy_stop(&f);
	holds(out, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_come_and_go),
		cmocka_unit_test(output_and_errors_keep_their_order),
		cmocka_unit_test(
			who_keeps_the_other_end_holds_nobody_up_for_long),
		cmocka_unit_test(what_is_not_wanted_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
