/* users: one */
/* link: -Wl,--wrap=clock_gettime */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/mem.h"
#include "guard/change/changes.h"
#include "guard/cli/output.h"
#include "guard/cli/progress.h"
#include "guard/cli/table.h"

static void child_assert(bool ok)
{
	if (!ok)
		_exit(1);
}

/* Runs body in a process of its own, stdin, stdout and stderr on a terminal
 * when tty is set, else on /dev/null; its output is returned as text. */
static char *in_child(bool tty, void (*body)(void), int *ret_status)
{
	struct buf b = {0};
	int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	pid_t pid;

	assert_true(master >= 0);
	assert_int_equal(grantpt(master), 0);
	assert_int_equal(unlockpt(master), 0);
	(void)fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		int end = open(tty ? ptsname(master) : "/dev/null",
			       O_RDWR | O_NOCTTY);

		child_assert(end >= 0 && dup2(end, 0) == 0 &&
			     dup2(end, 1) == 1 && dup2(end, 2) == 2);
		body();
		(void)fflush(NULL);
		_exit(0);
	}
	if (tty) {
		char piece[4096];
		ssize_t n;

		/* Ends with EIO once the last descriptor of the slave is
		 * closed. */
		while ((n = read(master, piece, sizeof(piece))) > 0)
			buf_add(&b, piece, (size_t)n);
	}
	assert_int_equal(waitpid(pid, ret_status, 0), pid);
	assert_int_equal(close(master), 0);
	return buf_take_text(&b);
}

static void run_child(bool tty, void (*body)(void))
{
	int status;
	auto_free char *text = in_child(tty, body, &status);

	assert_non_null(text);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void without_a_terminal_body(void)
{
	child_assert(output_ask("sure?") == -1);
	output_color(OUTPUT_AUTO);
	child_assert(!output_has_color());
	output_color(OUTPUT_ALWAYS);
	child_assert(output_has_color());
}

static void without_a_terminal_nothing_is_asked_or_coloured(void **state)
{
	(void)state;
	run_child(false, without_a_terminal_body);
}

static void colours_body(void)
{
	(void)setenv("TERM", "xterm", 1);
	(void)unsetenv("NO_COLOR");
	output_color(OUTPUT_AUTO);
	child_assert(output_has_color());
	(void)setenv("NO_COLOR", "1", 1);
	output_color(OUTPUT_AUTO);
	child_assert(!output_has_color());
	(void)setenv("NO_COLOR", "", 1);
	output_color(OUTPUT_AUTO);
	child_assert(output_has_color());
	(void)setenv("TERM", "dumb", 1);
	output_color(OUTPUT_AUTO);
	child_assert(!output_has_color());
	(void)unsetenv("TERM");
	output_color(OUTPUT_AUTO);
	child_assert(!output_has_color());
}

static void on_a_terminal_colours_obey_the_environment(void **state)
{
	(void)state;
	run_child(true, colours_body);
}

static void pager_body(void)
{
	(void)setenv("GUARD_PAGER", "sed s/^/paged:/", 1);
	(void)setenv("PAGER", "false", 1);
	output_pager_start("diff");
	(void)printf("one\ntwo\n");
	output_pager_end();
}

static void the_pager_gets_all_of_the_output(void **state)
{
	int status;
	auto_free char *text = in_child(true, pager_body, &status);

	(void)state;
	assert_int_equal(status, 0);
	assert_non_null(strstr(text, "paged:one"));
	assert_non_null(strstr(text, "paged:two"));
}

static void no_pager_body(void)
{
	(void)setenv("GUARD_PAGER", "", 1);
	(void)setenv("PAGER", "sed s/^/paged:/", 1);
	output_pager_start("diff");
	(void)printf("one\n");
	output_pager_end();
}

static void an_empty_guard_pager_means_none(void **state)
{
	int status;
	auto_free char *text = in_child(true, no_pager_body, &status);

	(void)state;
	assert_int_equal(status, 0);
	assert_non_null(strstr(text, "one"));
	assert_null(strstr(text, "paged:"));
}

static void left_pager_body(void)
{
	size_t i;

	(void)setenv("GUARD_PAGER", "true", 1);
	output_pager_start("diff");
	for (i = 0; i < 100000 && !output_has_failed(); i++)
		(void)printf("line %zu\n", i);
	child_assert(i < 100000);
	child_assert(output_finish());
	output_pager_end();
}

static void a_pager_that_is_left_early_ends_only_the_output(void **state)
{
	(void)state;
	run_child(true, left_pager_body);
}

static void full_disk_body(void)
{
	child_assert(freopen("/dev/full", "w", stdout) != NULL);
	(void)printf("results\n");
	child_assert(!output_finish());
}

static void output_that_cannot_be_written_is_no_success(void **state)
{
	(void)state;
	run_child(false, full_disk_body);
}

static void ages_are_told_in_one_unit(void **state)
{
	struct timestamp now = timestamp_now();

	(void)state;
	now.sec -= 5;
	assert_non_null(strstr(text_age(now), " s ago"));
	now.sec -= 600;
	assert_string_equal(text_age(now), "10 min ago");
	now.sec -= 7 * 3600;
	assert_string_equal(text_age(now), "7 h ago");
	now.sec -= 30 * 86400;
	assert_string_equal(text_age(now), "30 d ago");
	now.sec += 60 * 86400;
	assert_memory_equal(text_age(now), "in ", 3);
}

static void a_name_reaches_nobody_as_a_control_sequence(void **state)
{
	AUTO(buf) struct buf b = {0};

	(void)state;
	text_escape_name(&b, "a\x1b[2J\n\xe2\x80\xae\xff");
	assert_string_equal(buf_text(&b), "a\\x1b[2J\\n<U+202E>\\xff");
}

static void columns_line_up_as_a_terminal_shows_them(void **state)
{
	struct table t = {.width = 23};
	auto_free char *text = NULL;
	size_t len;
	FILE *to = open_memstream(&text, &len);

	(void)state;
	assert_non_null(to);
	table_row(&t, "\xc3\xa4", "1");
	table_row(&t, "long", "2");
	table_row(&t, "\xe6\xbc\xa2", "3");
	table_row(&t, "e\xcc\x81", "45678901234567890");
	table_print(&t, ">", to);
	assert_int_equal(fclose(to), 0);
	assert_string_equal(text, ">\xc3\xa4     1\n>long  2\n"
				  ">\xe6\xbc\xa2    3\n"
				  ">e\xcc\x81     4567890123456...\n");
	table_free(&t);
}

/* Seconds that the monotonic clock is ahead of the real one. */
static time_t clock_ahead;

int __real_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
	int got = __real_clock_gettime(clock, ret);

	if (clock == CLOCK_MONOTONIC)
		ret->tv_sec += clock_ahead;
	return got;
}

static void progress_body(void)
{
	struct winsize narrow = {.ws_row = 24, .ws_col = 30};

	child_assert(ioctl(STDERR_FILENO, TIOCSWINSZ, &narrow) == 0);
	(void)setenv("TERM", "xterm", 1);
	progress_start("verify");
	clock_ahead += 10;
	progress_bytes(500000000, 900000000);
	progress_end();
	(void)setenv("TERM", "dumb", 1);
	progress_start("dumb");
	clock_ahead += 10;
	progress_bytes(500000000, 900000000);
	progress_end();
}

static void progress_stays_in_its_line(void **state)
{
	int status;
	auto_free char *text = in_child(true, progress_body, &status);

	(void)state;
	assert_int_equal(status, 0);
	assert_string_equal(text, "\r\033[Kguard: verify: 500 MB of 900 "
				  "\r\033[K");
}

static void add_change(struct change_list *list, enum change_kind kind,
		       unsigned int flags, const char *path)
{
	struct meta file = {.mode = S_IFREG | 0644, .size = 10};

	change_list_add(list, path, kind, flags,
			kind == CHANGE_ADDED ? NULL : &file,
			kind == CHANGE_DELETED ? NULL : &file);
}

#define DELETIONS 1000

static void judged(void)
{
}

static void summary_body(void)
{
	struct changes_root roots[] = {
		{.upper_fd = -1, .lower_fd = -1, .prefix = "", .where = ""},
		{.upper_fd = -1,
		 .lower_fd = -1,
		 .prefix = "~/",
		 .where = " in your home directory",
		 .home = true},
	};
	struct changes c = {.roots = roots, .root_count = 2};
	struct session s = {.id = "3mk9zq-4t"};
	size_t i;

	for (i = 0; i < DELETIONS; i++) {
		auto_free char *path = mem_printf("gone%zu.", i);

		add_change(&roots[0].list, CHANGE_DELETED, 0, path);
		path[0] = 'n';
		add_change(&roots[0].list, CHANGE_ADDED, 0, path);
	}
	add_change(&roots[0].list, CHANGE_MODIFIED, CHANGE_GIT, ".git/HEAD");
	add_change(&roots[1].list, CHANGE_ADDED, 0, ".cache/x");
	add_change(&roots[1].list, CHANGE_ADDED, 0, ".bashrc");
	output_run_summary(&s, &c, judged);
}

static void the_summary_of_a_run_names_every_deletion(void **state)
{
	int status;
	auto_free char *text = in_child(true, summary_body, &status);
	size_t i;

	(void)state;
	assert_int_equal(status, 0);
	for (i = 0; i < DELETIONS; i++) {
		auto_free char *path = mem_printf("gone%zu.", i);

		assert_non_null(strstr(text, path));
	}
	assert_non_null(strstr(text, "1000 deleted"));
	assert_non_null(strstr(text, "1000 added"));
	assert_non_null(strstr(text, "1 in .git"));
	assert_non_null(strstr(text, "1 change in your home directory"));
	assert_non_null(strstr(text, "guard diff 3mk9zq-4t"));
	assert_non_null(strstr(text, "guard apply 3mk9zq-4t"));
	assert_non_null(strstr(text, "guard discard 3mk9zq-4t"));
}

static void nothing_body(void)
{
	AUTO(changes) struct changes none = changes_of_project();
	struct session s = {.id = "3mk9zq-4t"};

	output_run_summary(&s, &none, judged);
}

static void a_run_that_changed_nothing_asks_for_no_decision(void **state)
{
	int status;
	auto_free char *text = in_child(true, nothing_body, &status);

	(void)state;
	assert_int_equal(status, 0);
	assert_non_null(strstr(text, "changed nothing"));
	assert_null(strstr(text, "guard apply"));
}

static bool has_line(const struct changes_git *g, const char *text)
{
	size_t i;

	for (i = 0; i < g->count; i++)
		if (strstr(g->items[i].text, text))
			return true;
	return false;
}

static void changes_of_git_are_summed_up_but_deletions_are_named(void **state)
{
	static const char *const deleted[] = {".git/refs/heads/main",
					      ".git/hooks/pre-commit",
					      ".git/description"};
	struct changes_root root = {.upper_fd = -1, .lower_fd = -1};
	struct changes_git g = {0};
	size_t i;

	(void)state;
	for (i = 0; i < 3; i++)
		add_change(&root.list, CHANGE_DELETED, CHANGE_GIT, deleted[i]);
	for (i = 0; i < 500; i++) {
		auto_free char *path = mem_printf(".git/objects/aa/%zu", i);

		add_change(&root.list, CHANGE_ADDED, CHANGE_GIT, path);
	}
	add_change(&root.list, CHANGE_DELETED, CHANGE_GIT,
		   ".git/objects/pack/p");
	add_change(&root.list, CHANGE_ADDED, CHANGE_GIT,
		   "sub/.git/hooks/post-merge");
	add_change(&root.list, CHANGE_MODIFIED, CHANGE_GIT, ".git/config");
	add_change(&root.list, CHANGE_MODIFIED, CHANGE_GIT,
		   ".git/logs/refs/heads/main");
	changes_git_make(&root, &g);
	for (i = 0; i < 3; i++)
		assert_true(has_line(&g, deleted[i]));
	assert_true(has_line(&g, "500 object files added"));
	assert_true(has_line(&g, "1 object file deleted"));
	assert_true(has_line(&g, "1 reflog modified"));
	assert_true(has_line(&g, "sub/.git/hooks/post-merge  hook"));
	assert_true(has_line(&g, ".git/config  configuration"));
	assert_true(g.count < 12);
	for (i = 0; i < g.count; i++)
		if (strstr(g.items[i].text, "post-merge") ||
		    strstr(g.items[i].text, ".git/config"))
			assert_true(g.items[i].runs);
	changes_git_free(&g);
	change_list_free(&root.list);
}

static void paths_keep_what_is_below_them_only(void **state)
{
	const char *const paths[] = {"src", NULL};
	struct change_list list = {0};

	(void)state;
	add_change(&list, CHANGE_ADDED, 0, "src");
	add_change(&list, CHANGE_ADDED, 0, "src/a");
	add_change(&list, CHANGE_ADDED, 0, "src2");
	add_change(&list, CHANGE_DELETED, 0, "other/src");
	changes_filter(&list, paths);
	assert_int_equal(list.count, 2);
	assert_string_equal(list.items[1].path, "src/a");
	change_list_free(&list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			without_a_terminal_nothing_is_asked_or_coloured),
		cmocka_unit_test(on_a_terminal_colours_obey_the_environment),
		cmocka_unit_test(the_pager_gets_all_of_the_output),
		cmocka_unit_test(an_empty_guard_pager_means_none),
		cmocka_unit_test(
			a_pager_that_is_left_early_ends_only_the_output),
		cmocka_unit_test(output_that_cannot_be_written_is_no_success),
		cmocka_unit_test(ages_are_told_in_one_unit),
		cmocka_unit_test(a_name_reaches_nobody_as_a_control_sequence),
		cmocka_unit_test(progress_stays_in_its_line),
		cmocka_unit_test(columns_line_up_as_a_terminal_shows_them),
		cmocka_unit_test(the_summary_of_a_run_names_every_deletion),
		cmocka_unit_test(
			a_run_that_changed_nothing_asks_for_no_decision),
		cmocka_unit_test(
			changes_of_git_are_summed_up_but_deletions_are_named),
		cmocka_unit_test(paths_keep_what_is_below_them_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
