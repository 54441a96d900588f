/* guard/sandbox/grant.c: which file a grant names, and by which links. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/dirtree.h"
#include "base/fd.h"
#include "base/path.h"
#include "guard/sandbox/grant.h"

#undef fail
#include <cmocka.h>

static char dir[32]; /* the current directory */

static int set_up(void **state)
{
	(void)state;
	(void)strcpy(dir, "/var/tmp/guard-test-XXXXXX");
	assert_non_null(mkdtemp(dir));
	assert_int_equal(chdir(dir), 0);
	assert_int_equal(mkdir("a", 0700) | mkdir("a/b", 0700) |
				 mkdir("other", 0700),
			 0);
	assert_true(close(open("a/file", O_CREAT | O_WRONLY, 0600)) == 0);
	assert_int_equal(symlink("a", "link") | symlink("../other", "a/out") |
				 symlink("/etc", "a/etc") |
				 symlink("link", "chain") |
				 symlink("loop", "loop"),
			 0);
	return 0;
}

static int tear_down(void **state)
{
	struct err err;

	(void)state;
	assert_int_equal(chdir("/"), 0);
	return dirtree_remove(AT_FDCWD, dir, &err);
}

/* Adds a grant of the text and returns the result of grants_add(). */
static int add(struct grants *g, const char *text, const char *beneath)
{
	struct err err;

	grants_free(g);
	return grants_add(g, GRANT_READ_ONLY, mem_strdup("--ro"), text, beneath,
			  &err);
}

static void the_result_is_that_of_the_kernel(void **state)
{
	static const char *const texts[] = {
		"a",	  "a/b/..",	 "./a//b/", "link",	 "link/b",
		"chain",  "chain/out",	 "a/etc",   "link/../a", "..",
		"a/file", "link/out/..", "/",	    "/../usr",	 ".",
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		AUTO(grants) struct grants g = {0};
		char *real = realpath(texts[i], NULL);
		auto_close int fd = -1;
		struct stat x, y;
		struct err err;

		assert_int_equal(add(&g, texts[i], NULL), 0);
		assert_string_equal(g.items[0].real, real);
		fd = grant_reopen(&g.items[0], &err);
		assert_true(fd >= 0);
		assert_int_equal(fstat(fd, &x) | stat(real, &y), 0);
		assert_true(x.st_dev == y.st_dev && x.st_ino == y.st_ino);
		free(real);
	}
}

static void each_link_is_recorded(void **state)
{
	AUTO(grants) struct grants g = {0};
	auto_free char *chain = path_join(dir, "chain");
	auto_free char *link = path_join(dir, "link");
	auto_free char *out = path_join(dir, "a/out");

	(void)state;
	assert_int_equal(add(&g, "a/b", NULL), 0);
	assert_int_equal(g.items[0].links.count, 0);
	assert_int_equal(add(&g, "chain/out", NULL), 0);
	assert_int_equal(g.items[0].links.count, 3);
	assert_string_equal(g.items[0].links.items[0], chain);
	assert_string_equal(g.items[0].links.items[1], link);
	assert_string_equal(g.items[0].links.items[2], out);
}

static void what_cannot_be_granted_is_an_error(void **state)
{
	AUTO(grants) struct grants g = {0};

	(void)state;
	assert_int_equal(add(&g, "none", NULL), -ENOENT);
	assert_int_equal(add(&g, "a/file/x", NULL), -ENOTDIR);
	assert_int_equal(add(&g, "loop", NULL), -ELOOP);
	assert_int_equal(add(&g, "", NULL), -ENOENT);
	assert_int_equal(g.count, 0);
}

static void a_path_beneath_a_directory_does_not_leave_it(void **state)
{
	AUTO(grants) struct grants g = {0};
	auto_free char *a = path_join(dir, "a");
	auto_free char *inner = path_join(a, "b");
	auto_free char *etc = path_join(a, "etc");
	auto_free char *out = path_join(a, "out");
	auto_free char *up = path_join(a, "../a/b");

	(void)state;
	assert_int_equal(add(&g, inner, a), 0);
	assert_int_equal(add(&g, etc, a), -EXDEV);
	assert_int_equal(add(&g, out, a), -EXDEV);
	assert_int_equal(add(&g, up, a), -EXDEV);
	assert_int_equal(add(&g, "/etc", a), -EXDEV);
}

static void a_replaced_path_is_not_opened_again(void **state)
{
	AUTO(grants) struct grants g = {0};
	struct err err;

	(void)state;
	assert_int_equal(add(&g, "a/b", NULL), 0);
	assert_int_equal(rename("a/b", "a/old") | mkdir("a/b", 0700), 0);
	assert_int_equal(grant_reopen(&g.items[0], &err), -ESTALE);
	assert_int_equal(rmdir("a/b") | symlink("old", "a/b"), 0);
	assert_int_equal(grant_reopen(&g.items[0], &err), -ESTALE);
	assert_int_equal(unlink("a/b") | rename("a/old", "a/b"), 0);
	assert_int_equal(rename("a", "moved") | symlink("moved", "a"), 0);
	assert_int_equal(grant_reopen(&g.items[0], &err), -ESTALE);
}

static void a_hidden_path_is_found_behind_a_link(void **state)
{
	AUTO(grants) struct grants g = {0};
	auto_free char *other = path_join(dir, "other");
	auto_free char *link = path_join(dir, "link");
	char *hide[] = {other, link, NULL};
	bool named = true;

	(void)state;
	assert_int_equal(add(&g, "chain/out", NULL), 0);
	assert_ptr_equal(grant_find_hidden(&g.items[0], hide, &named), other);
	assert_false(named);
	assert_int_equal(add(&g, "other", NULL), 0);
	assert_ptr_equal(grant_find_hidden(&g.items[0], hide, &named), other);
	assert_true(named);
	/* The hidden path itself is a link. */
	assert_int_equal(add(&g, "link/b", NULL), 0);
	assert_ptr_equal(grant_find_hidden(&g.items[0], hide, &named), link);
	assert_true(named);
	assert_int_equal(add(&g, "chain/b", NULL), 0);
	assert_ptr_equal(grant_find_hidden(&g.items[0], hide, &named), link);
	assert_false(named);
	assert_int_equal(add(&g, "a/etc", NULL), 0);
	assert_null(grant_find_hidden(&g.items[0], hide + 2, &named));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			the_result_is_that_of_the_kernel, set_up, tear_down),
		cmocka_unit_test_setup_teardown(each_link_is_recorded, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(
			what_cannot_be_granted_is_an_error, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_path_beneath_a_directory_does_not_leave_it, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(
			a_replaced_path_is_not_opened_again, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_hidden_path_is_found_behind_a_link, set_up,
			tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
