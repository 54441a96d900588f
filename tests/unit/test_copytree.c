/* guard/sandbox/rename_exdev.c: the files of a renamed
 * directory. tests/integration/rename-exdev.t has the effects on a layer. */
#include "guard/sandbox/rename_exdev.c"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>

#include "tests/unit/directory_fixture.h"
#include "tests/unit/skip.h"

#define LATER (time(NULL) + 1000)

static int top; /* the test's directory */

static bool always(void *arg)
{
	(void)arg;
	return true;
}

/* Returns false on the arg-th call. */
static bool some_times(void *arg)
{
	return --*(int *)arg > 0;
}

static void write_file(const char *path, const char *text)
{
	int fd = openat(top, path, O_WRONLY | O_CREAT | O_EXCL, 0640);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(close(fd), 0);
}

static int setup(void **state)
{
	(void)folder_box_setup(state);
	top = ((struct folder_box *)*state)->fd;
	assert_int_equal(mkdirat(top, "from", 0750), 0);
	assert_int_equal(mkdirat(top, "from/in", 0700), 0);
	write_file("from/plain", "plain text");
	write_file("from/in/one", "one");
	assert_int_equal(linkat(top, "from/in/one", top, "from/two", 0), 0);
	assert_int_equal(symlinkat("plain", top, "from/link"), 0);
	return 0;
}

static ino_t inode_of(const char *path)
{
	struct stat st;

	assert_int_equal(fstatat(top, path, &st, AT_SYMLINK_NOFOLLOW), 0);
	return st.st_ino;
}

static int copy(time_t settled)
{
	struct copytree_options how = {always, NULL, settled};
	struct err err;

	return copytree(top, "from", top, "to", &how, &err);
}

static void test_what_may_be_open_stays_the_same_file(void **state)
{
	(void)state;
	assert_int_equal(copy(0), 0);
	assert_int_equal(inode_of("to/plain"), inode_of("from/plain"));
	assert_int_equal(inode_of("to/in/one"), inode_of("from/in/one"));
}

static void
test_what_nobody_writes_is_copied_with_all_that_is_said(void **state)
{
	struct stat a, b;
	char text[32] = "";
	int fd;

	(void)state;
	assert_int_equal(copy(LATER), 0);
	assert_int_equal(fstatat(top, "from/plain", &a, 0), 0);
	assert_int_equal(fstatat(top, "to/plain", &b, 0), 0);
	assert_true(a.st_ino != b.st_ino);
	assert_int_equal(a.st_mode, b.st_mode);
	assert_int_equal(a.st_mtim.tv_nsec, b.st_mtim.tv_nsec);
	assert_int_equal(b.st_nlink, 1);
	fd = openat(top, "to/plain", O_RDONLY);
	assert_int_equal(read(fd, text, sizeof(text) - 1), 10);
	assert_string_equal(text, "plain text");
	(void)close(fd);
}

/* The other name may be outside of the directory. */
static void test_a_file_with_several_names_stays_the_same(void **state)
{
	(void)state;
	assert_int_equal(copy(LATER), 0);
	assert_int_equal(inode_of("to/in/one"), inode_of("from/in/one"));
	assert_int_equal(inode_of("to/in/one"), inode_of("to/two"));
}

static void test_what_cannot_be_copied_is_linked(void **state)
{
	(void)state;
	if (geteuid() == 0)
		skip_because("root can copy every entry");
	assert_int_equal(fchmodat(top, "from/plain", 0, 0), 0);
	assert_int_equal(copy(LATER), 0);
	assert_int_equal(inode_of("to/plain"), inode_of("from/plain"));
}

static void test_a_no_in_a_copy_ends_it(void **state)
{
	int i, rc = -EINTR;
	struct err err;

	(void)state;
	for (i = 1; rc == -EINTR; i++) {
		int left = i;
		struct copytree_options how = {some_times, &left, LATER};

		rc = copytree(top, "from", top, "to", &how, &err);
		if (rc < 0)
			assert_int_equal(dirtree_remove(top, "to", &err), 0);
	}
	assert_int_equal(rc, 0);
	assert_true(i > 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, folder_box_teardown)
		T(test_what_may_be_open_stays_the_same_file),
		T(test_what_nobody_writes_is_copied_with_all_that_is_said),
		T(test_a_file_with_several_names_stays_the_same),
		T(test_what_cannot_be_copied_is_linked),
		T(test_a_no_in_a_copy_ends_it),
#undef T
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
