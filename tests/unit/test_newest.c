/* overlay/scan.c: whether a process has changed a layer since a timestamp. */
/* users: one */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "overlay/change_list.h"
#include "overlay/scan.h"
#include "tests/unit/directory_fixture.h"

static struct folder_box box;
static int root; /* the layer in it */

static void put(const char *name)
{
	auto_close int fd =
		openat(root, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	assert_return_code(fd, errno);
	assert_int_equal(write(fd, "x", 1), 1);
}

static int set_up(void **state)
{
	(void)state;
	folder_box_make(&box);
	assert_return_code(mkdirat(box.fd, "upper", 0755), errno);
	assert_return_code(mkdirat(box.fd, "lower", 0755), errno);
	root = openat(box.fd, "upper", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_return_code(mkdirat(root, "d", 0755), errno);
	assert_return_code(mkdirat(root, "d/e", 0755), errno);
	put("file");
	put("d/e/file");
	assert_return_code(symlinkat("nowhere", root, "d/link"), errno);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	(void)close(root);
	folder_box_remove(&box);
	return 0;
}

/* The time after all changes, passed by the clock of the file system. */
static struct timestamp rest(void)
{
	struct timespec now;
	struct timestamp then = timestamp_now();

	do {
		(void)sched_yield();
		(void)clock_gettime(CLOCK_REALTIME_COARSE, &now);
	} while (timestamp_compare(
			 (struct timestamp){now.tv_sec, (uint32_t)now.tv_nsec},
			 then) <= 0);
	return then;
}

static bool untouched_since(struct timestamp then)
{
	AUTO(change_list) struct change_list list = {0};
	struct err err;
	auto_close int lower =
		openat(box.fd, "lower", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_return_code(scan_layer(root, lower, NULL, &list, &err),
			   -err.num);
	return timestamp_compare(list.newest, then) < 0;
}

static void touch_mode(void)
{
	assert_return_code(fchmodat(root, "d/e/file", 0600, 0), errno);
}

static void touch_bytes(void)
{
	const struct timespec old[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
	auto_close int fd = openat(root, "file", O_WRONLY | O_CLOEXEC);

	assert_int_equal(write(fd, "y", 1), 1);
	assert_return_code(futimens(fd, old), errno);
}

static void touch_name(void)
{
	assert_return_code(unlinkat(root, "d/link", 0), errno);
}

static void touch_attribute(void)
{
	auto_close int fd = openat(root, "d", O_RDONLY | O_CLOEXEC);

	assert_return_code(fsetxattr(fd, "user.overlay.opaque", "y", 1, 0),
			   errno);
}

static void touch_root(void)
{
	put("new");
}

static void sees_whatever_was_done_since(void **state)
{
	static void (*const touches[])(void) = {touch_mode, touch_bytes,
						touch_name, touch_attribute,
						touch_root};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(touches) / sizeof(touches[0]); i++) {
		struct timestamp then = rest();

		assert_true(untouched_since(then));
		touches[i]();
		assert_false(untouched_since(then));
	}
}

static void knows_also_what_its_owner_may_not_read(void **state)
{
	struct timestamp then;

	(void)state;
	assert_return_code(fchmodat(root, "d/e", 0, 0), errno);
	then = rest();
	assert_true(untouched_since(then));
	assert_return_code(fchmodat(root, "d/e", 0755, 0), errno);
	put("d/e/more");
	assert_return_code(fchmodat(root, "d/e", 0, 0), errno);
	assert_false(untouched_since(then));
	assert_return_code(fchmodat(root, "d/e", 0755, 0), errno);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(sees_whatever_was_done_since),
		TEST(knows_also_what_its_owner_may_not_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
