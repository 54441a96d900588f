/* users: one */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/beneath.h"
#include "restore/path_cursor.h"
#include "tests/unit/directory_fixture.h"

#define LEVELS 400

/* A path "name-of-a-folder/..." of that many levels in room. */
static void deep_path(char *room, int levels)
{
	int i;

	*room = '\0';
	for (i = 0; i < levels; i++)
		(void)sprintf(room + strlen(room), "%sfolder-%d", i ? "/" : "",
			      i);
}

/* Directories of LEVELS levels, a file "f" in each. */
static void make_deep(int root_fd)
{
	int dir = openat(root_fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC), i;

	for (i = 0; i < LEVELS; i++) {
		char name[32];
		int next;

		(void)sprintf(name, "folder-%d", i);
		assert_return_code(mkdirat(dir, name, 0700), errno);
		next = openat(dir, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
		assert_true(next >= 0);
		assert_int_equal(close(dir), 0);
		dir = next;
		assert_int_equal(
			close(openat(dir, "f", O_CREAT | O_WRONLY | O_CLOEXEC,
				     0600)),
			0);
	}
	assert_int_equal(close(dir), 0);
}

static uint64_t inode_of(int fd)
{
	struct stat st;

	assert_true(fd >= 0);
	assert_return_code(fstat(fd, &st), errno);
	assert_int_equal(close(fd), 0);
	return st.st_ino;
}

/* Down, up and down again: each result equals that of beneath_open(). */
static void test_down_and_up(void **state)
{
	char path[LEVELS * 16];
	int root = ((struct folder_box *)*state)->fd;
	AUTO(path_cursor) struct path_cursor w = {.root_fd = root};
	struct err err;
	int i;

	make_deep(root);
	for (i = 0; i < 3 * LEVELS; i++) {
		int level = i < LEVELS	     ? i
			    : i < 2 * LEVELS ? 2 * LEVELS - 1 - i
					     : (i * 7919) % LEVELS;
		const char *name;
		struct stat st;
		int dir;

		deep_path(path, level + 1);
		assert_int_equal(
			inode_of(path_cursor_open(&w, path, O_PATH, &err)),
			inode_of(beneath_open(root, path, O_PATH, 0, &err)));
		(void)strcat(path, "/f");
		dir = path_cursor_parent(&w, path, &name, &err);
		assert_true(dir >= 0);
		assert_string_equal(name, "f");
		assert_return_code(fstatat(dir, name, &st, 0), errno);
		assert_int_equal(close(dir), 0);
		assert_true(w.dirs.count <=
			    strlen(path) / (PATH_CURSOR_PIECE / 2));
	}
}

/* Long paths keep a descriptor for some of their directories, short paths for
 * none. */
static void test_marks(void **state)
{
	char path[LEVELS * 16];
	int root = ((struct folder_box *)*state)->fd;
	AUTO(path_cursor) struct path_cursor w = {.root_fd = root};
	struct err err;

	make_deep(root);
	deep_path(path, 90);
	assert_true(strlen(path) < 2 * PATH_CURSOR_PIECE);
	(void)inode_of(path_cursor_open(&w, path, O_PATH, &err));
	assert_int_equal(w.dirs.count, 0);
	deep_path(path, LEVELS);
	(void)inode_of(path_cursor_open(&w, path, O_PATH, &err));
	assert_true(w.dirs.count > 2);
	deep_path(path, 2);
	(void)inode_of(path_cursor_open(&w, path, O_PATH, &err));
	assert_int_equal(w.dirs.count, 0);
}

/* A symbolic link in the path, a missing entry, and a path out of the root. */
static void test_refused(void **state)
{
	char path[LEVELS * 16 + 64], *end;
	int root = ((struct folder_box *)*state)->fd;
	AUTO(path_cursor) struct path_cursor w = {.root_fd = root};
	const char *name;
	struct err err;
	int dir;

	make_deep(root);
	deep_path(path, LEVELS / 2);
	end = path + strlen(path);
	(void)strcpy(end, "/link");
	dir = path_cursor_parent(&w, path, &name, &err);
	assert_true(dir >= 0);
	assert_return_code(symlinkat("..", dir, "link"), errno);
	assert_int_equal(close(dir), 0);
	(void)strcpy(end, "/link/f");
	assert_int_equal(path_cursor_open(&w, path, O_RDONLY, &err), -ELOOP);
	(void)strcpy(end, "/../f");
	assert_int_equal(path_cursor_open(&w, path, O_RDONLY, &err), -EINVAL);
	(void)strcpy(end, "/none");
	assert_int_equal(path_cursor_open(&w, path, O_RDONLY, &err), -ENOENT);
	assert_non_null(strstr(err.text, "folder-0/folder-1/"));
	deep_path(path, LEVELS);
	(void)strcat(path, "/none/other");
	assert_int_equal(path_cursor_parent(&w, path, &name, &err), -ENOENT);
	/* A failure has no effect on later paths. */
	deep_path(path, LEVELS);
	(void)inode_of(path_cursor_open(&w, path, O_PATH, &err));
	assert_int_equal(path_cursor_parent(&w, "", &name, &err), -EINVAL);
	assert_int_equal(inode_of(path_cursor_open(&w, "", O_PATH, &err)),
			 inode_of(dup(root)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_down_and_up,
						folder_box_setup,
						folder_box_teardown),
		cmocka_unit_test_setup_teardown(test_marks, folder_box_setup,
						folder_box_teardown),
		cmocka_unit_test_setup_teardown(test_refused, folder_box_setup,
						folder_box_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
