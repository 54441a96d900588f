#include "overlay_lab.h"

#include <sys/resource.h>

#include "base/beneath.h"
#include "base/codec.h"
#include "overlay/scan_range.h"
#include "overlay/whiteout.h"
#include "tests/unit/skip.h"

/* ---- the change list for single changes ---- */

static int do_plain(void *arg)
{
	(void)arg;
	return lab_file(AT_FDCWD, "edited", "new text") < 0 ||
	       lab_file(AT_FDCWD, "added", "x") < 0 || unlink("gone") < 0 ||
	       chmod("mode", 0600) < 0;
}

static void test_plain_changes(void **state)
{
	struct lab lab;

	(void)state;
	lab_open(&lab, "p");
	(void)lab_file(lab.project_fd, "edited", "old");
	(void)lab_file(lab.project_fd, "gone", "old");
	(void)lab_file(lab.project_fd, "mode", "old");
	(void)lab_file(lab.project_fd, "other", "old");
	assert_int_equal(lab_run(&lab, do_plain, NULL), 0);
	lab_expect(&lab, "A added, M edited, D gone, m mode");
	lab_close(&lab);
}

static int do_touch(void *arg)
{
	struct timespec times[2] = {{.tv_sec = 5}, {.tv_sec = 5}};
	(void)arg;
	return lab_file(AT_FDCWD, "same", "text") < 0 ||
	       utimensat(AT_FDCWD, "time", times, 0) < 0 ||
	       utimensat(AT_FDCWD, "d", times, 0) < 0;
}

static void test_no_change(void **state)
{
	struct lab lab;

	(void)state;
	lab_open(&lab, "p");
	(void)lab_file(lab.project_fd, "same", "text");
	(void)lab_file(lab.project_fd, "time", "text");
	assert_int_equal(mkdirat(lab.project_fd, "d", 0755), 0);
	assert_int_equal(lab_run(&lab, do_touch, NULL), 0);
	AUTO(change_list) struct change_list list = lab_scan(&lab);
	assert_int_equal(list.count, 0);
	assert_int_equal(list.touched_count, 3);
	assert_string_equal(list.touched[0], "d");
	assert_string_equal(list.touched[1], "same");
	assert_string_equal(list.touched[2], "time");
	lab_close(&lab);
}

static int do_nothing(void *arg)
{
	(void)arg;
	return access(".", R_OK) != 0;
}

static void test_empty(void **state)
{
	struct lab lab;

	(void)state;
	lab_open(&lab, "p");
	(void)lab_file(lab.project_fd, "f", "text");
	assert_int_equal(lab_run(&lab, do_nothing, NULL), 0);
	lab_expect(&lab, "");
	lab_close(&lab);
}

static int do_remove_dir(void *arg)
{
	(void)arg;
	return unlink("d/e/f") < 0 || rmdir("d/e") < 0 || unlink("d/g") < 0 ||
	       rmdir("d") < 0;
}

static void make_dir(struct lab *lab)
{
	assert_int_equal(mkdirat(lab->project_fd, "d", 0755), 0);
	assert_int_equal(mkdirat(lab->project_fd, "d/e", 0755), 0);
	assert_int_equal(lab_file(lab->project_fd, "d/e/f", "text"), 0);
	assert_int_equal(lab_file(lab->project_fd, "d/g", "text"), 0);
}

static void test_deleted_dir(void **state)
{
	struct lab lab;

	(void)state;
	lab_open(&lab, "p");
	make_dir(&lab);
	assert_int_equal(lab_run(&lab, do_remove_dir, NULL), 0);
	lab_expect(&lab, "D d, D+ d/e, D+ d/e/f, D+ d/g");
	lab_close(&lab);
}

static int do_opaque(void *arg)
{
	return do_remove_dir(arg) || mkdir("d", 0755) < 0 ||
	       lab_file(AT_FDCWD, "d/g", "text") < 0 ||
	       lab_file(AT_FDCWD, "d/h", "new") < 0;
}

static void test_opaque_dir(void **state)
{
	struct lab lab;

	(void)state;
	lab_open(&lab, "p");
	make_dir(&lab);
	assert_int_equal(lab_run(&lab, do_opaque, NULL), 0);
	lab_expect(&lab, "D d/e, D+ d/e/f, A d/h");
	lab_close(&lab);
}

static int do_types(void *arg)
{
	(void)arg;
	return do_remove_dir(NULL) || lab_file(AT_FDCWD, "d", "file") < 0 ||
	       unlink("f") < 0 || mkdir("f", 0755) < 0 ||
	       mkdir("f/sub", 0755) < 0 || unlink("l") < 0 ||
	       symlink("/etc/passwd", "l") < 0;
}

static void test_types(void **state)
{
	struct lab lab;

	(void)state;
	lab_open(&lab, "p");
	make_dir(&lab);
	assert_int_equal(lab_file(lab.project_fd, "f", "text"), 0);
	assert_int_equal(lab_file(lab.project_fd, "l", "text"), 0);
	assert_int_equal(lab_run(&lab, do_types, NULL), 0);
	lab_expect(&lab, "T d, D+ d/e, D+ d/e/f, D+ d/g, T f, A+ f/sub, T l");
	lab_close(&lab);
}

static int do_flags(void *arg)
{
	(void)arg;
	return mkfifo("fifo", 0600) < 0 || mkdir(".git", 0755) < 0 ||
	       mkdir(".git/hooks", 0755) < 0 ||
	       lab_file(AT_FDCWD, ".git/hooks/x", "#!") < 0 ||
	       lab_file(AT_FDCWD, "suid", "x") < 0 ||
	       chmod("suid", 04755) < 0 || chmod("both", 0700) < 0 ||
	       lab_file(AT_FDCWD, "both", "longer") < 0 ||
	       mkdir("new", 0755) < 0 || rename("moved", "new/moved") < 0;
}

static void test_flags(void **state)
{
	struct lab lab;

	(void)state;
	lab_open(&lab, "p");
	assert_int_equal(lab_file(lab.project_fd, "both", "x"), 0);
	assert_int_equal(lab_file(lab.project_fd, "moved", "x"), 0);
	assert_int_equal(lab_run(&lab, do_flags, NULL), 0);
	AUTO(change_list) struct change_list list = lab_scan(&lab);
	assert_int_equal(lab_find(&list, "fifo")->flags, CHANGE_NODE);
	assert_int_equal(lab_find(&list, ".git")->flags, CHANGE_GIT);
	assert_int_equal(lab_find(&list, ".git/hooks/x")->flags,
			 CHANGE_GIT | CHANGE_WITH_PARENT | CHANGE_UNMARKED);
	assert_int_equal(lab_find(&list, "suid")->flags,
			 CHANGE_SETID | CHANGE_UNMARKED);
	/* A file that was copied up has a record of its origin. */
	assert_int_equal(lab_find(&list, "new/moved")->flags,
			 CHANGE_WITH_PARENT);
	assert_int_equal(lab_find(&list, "both")->kind, CHANGE_MODIFIED);
	assert_int_equal(lab_find(&list, "both")->flags, CHANGE_META_TOO);
	lab_close(&lab);
}

static int do_unreadable(void *arg)
{
	(void)arg;
	return lab_file(AT_FDCWD, "f", "taxt") < 0 || chmod("f", 0) < 0 ||
	       lab_file(AT_FDCWD, "s", "text") < 0 || chmod("s", 0) < 0 ||
	       mkdir("new", 0755) < 0 || mkdir("new/in", 0755) < 0 ||
	       lab_file(AT_FDCWD, "new/in/x", "deep") < 0 ||
	       chmod("new/in/x", 0) < 0 || chmod("new/in", 0) < 0 ||
	       chmod("new", 0) < 0 || lab_file(AT_FDCWD, "d/h", "x") < 0 ||
	       chmod("d", 0) < 0 || chmod(".", 0) < 0;
}

static void test_unreadable(void **state)
{
	struct lab lab;
	struct meta m;
	struct err err;
	char text[5] = "";

	(void)state;
	lab_open(&lab, "p");
	make_dir(&lab);
	assert_int_equal(lab_file(lab.project_fd, "f", "text"), 0);
	assert_int_equal(lab_file(lab.project_fd, "s", "text"), 0);
	assert_int_equal(lab_run(&lab, do_unreadable, NULL), 0);
	lab_expect(&lab, "m , m d, A d/h, M f, A new, A+ new/in, A+ new/in/x, "
			 "m s");
	/* The second scan shows whether the modes were restored. */
	AUTO(change_list) struct change_list list = lab_scan(&lab);
	assert_int_equal(lab_find(&list, "f")->now.mode, S_IFREG);
	assert_int_equal(lab_find(&list, "new")->now.mode, S_IFDIR);
	assert_int_equal(lab_find(&list, "new/in")->now.mode, S_IFDIR);
	assert_int_equal(lab_find(&list, "d")->now.mode, S_IFDIR);
	assert_int_equal(list.items[0].now.mode, S_IFDIR);
	auto_close int fd = scan_open(lab.upper_fd, "new/in/x", &err);
	assert_true(fd >= 0);
	assert_int_equal(fd_read(fd, text, 4), 4);
	assert_string_equal(text, "deep");
	assert_int_equal(meta_get(lab.upper_fd, "", &m), 0);
	assert_int_equal(m.mode, S_IFDIR);
	lab_close(&lab);
}

static int do_private(void *arg)
{
	(void)arg;
	if (setxattr("d", "user.overlay.opaque", "y", 1, 0) < 0)
		return errno == EOPNOTSUPP ? 50 : 1;
	return setxattr("f", "user.overlay.metacopy", "zz", 2, 0) < 0 ||
	       setxattr("f", "user.mine", "a", 1, 0) < 0 ||
	       setxattr("f", "user.overlay.overlay.x", "q", 1, 0) < 0;
}

static void test_private_xattrs(void **state)
{
	struct lab lab;
	int got;

	(void)state;
	lab_open(&lab, "p");
	make_dir(&lab);
	assert_int_equal(lab_file(lab.project_fd, "f", "text"), 0);
	got = lab_run(&lab, do_private, NULL);
	if (got == 50) {
		lab_close(&lab);
		skip_because("the kernel does not escape xattrs");
	}
	assert_int_equal(got, 0);
	/* No entry of d counts as deleted: the mark is the run's own, and stays
	 * in the layer. */
	lab_expect(&lab, "m f");
	lab_close(&lab);
}

static int do_names(void *arg)
{
	char name[256];

	(void)arg;
	memset(name, 'n', 255);
	name[255] = '\0';
	return lab_file(AT_FDCWD, name, "x") < 0 || unlink("a\nb") < 0 ||
	       lab_file(AT_FDCWD, "c\nd", "x") < 0;
}

static bool lists_skel(const struct lab *lab, int lower)
{
	AUTO(change_list) struct change_list list = {0};
	struct err err;
	size_t i;

	if (scan_layer(lab->upper_fd, lower, NULL, &list, &err) < 0)
		lab_fail(&err);
	for (i = 0; i < list.count; i++)
		if (strcmp(list.items[i].path, "skel") == 0)
			return true;
	return false;
}

/* Entries of another user's directory, copied to the layer before the run. */
static void test_owned_by_others(void **state)
{
	auto_close int lower = open("/etc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	auto_close int folder = -1;
	struct stat st;
	struct lab lab;
	struct err err;

	(void)state;
	if (geteuid() == 0 || fstatat(lower, "skel", &st, 0) < 0 ||
	    st.st_uid == geteuid())
		skip_because("needs a directory of another user");
	lab_open(&lab, "p");
	assert_int_equal(mkdirat(lab.upper_fd, "skel", st.st_mode & 0777), 0);
	assert_false(lists_skel(&lab, lower));
	folder = beneath_open(lab.upper_fd, "skel", O_RDONLY, 0, &err);
	assert_int_equal(opaque_set(folder, true, &err), 0);
	assert_true(lists_skel(&lab, lower));
	lab_close(&lab);
}

static void test_names(void **state)
{
	char name[256];
	struct lab lab;

	(void)state;
	memset(name, 'n', 255);
	name[255] = '\0';
	lab_open(&lab, "p");
	assert_int_equal(lab_file(lab.project_fd, "a\nb", "x"), 0);
	assert_int_equal(lab_run(&lab, do_names, NULL), 0);
	AUTO(change_list) struct change_list list = lab_scan(&lab);
	assert_int_equal(list.count, 3);
	assert_int_equal(lab_find(&list, "a\nb")->kind, CHANGE_DELETED);
	assert_int_equal(lab_find(&list, "c\nd")->kind, CHANGE_ADDED);
	assert_int_equal(lab_find(&list, name)->kind, CHANGE_ADDED);
	lab_close(&lab);
}

static int do_deep(void *arg)
{
	int i;

	(void)arg;
	for (i = 0; i < 6000; i++)
		if (mkdir("dd", 0755) < 0 || chdir("dd") < 0)
			return 1;
	return 0;
}

/* Deeper than the limits of descriptors and of the length of a path. */
static void test_deep(void **state)
{
	struct lab lab;

	(void)state;
	lab_open(&lab, "p");
	assert_int_equal(lab_run(&lab, do_deep, NULL), 0);
	AUTO(change_list) struct change_list list = lab_scan(&lab);
	assert_in_range(list.count, 5000, 5999);
	assert_true(list.items[list.count - 1].flags & CHANGE_UNREADABLE);
	assert_false(list.items[list.count - 2].flags & CHANGE_UNREADABLE);
	lab_close(&lab);
}

static void test_skip(void **state)
{
	static const char *const skip[] = {"d/e", "added", NULL};
	struct change_list list;
	struct lab lab;
	struct err err;

	(void)state;
	lab_open(&lab, "p");
	make_dir(&lab);
	assert_int_equal(lab_run(&lab, do_remove_dir, NULL), 0);
	assert_int_equal(
		scan_layer(lab.upper_fd, lab.project_fd, skip, &list, &err), 0);
	auto_free char *text = lab_text(&list);
	assert_string_equal(text, "D d, D+ d/g");
	change_list_free(&list);
	lab_close(&lab);
}

static int do_file_below(void *arg)
{
	int i;

	(void)arg;
	for (i = 0; i < 300; i++)
		if (mkdir("d", 0755) < 0 || chdir("d") < 0)
			return 1;
	return lab_file(AT_FDCWD, "f", "far") < 0;
}

/* Far fewer descriptors than parent directories. */
static void test_open_deep(void **state)
{
	struct rlimit was, few;
	char path[700] = "", text[4] = "";
	struct lab lab;
	struct err err;
	int i;

	(void)state;
	lab_open(&lab, "p");
	assert_int_equal(lab_run(&lab, do_file_below, NULL), 0);
	for (i = 0; i < 300; i++)
		(void)strcat(path, "d/");
	(void)strcat(path, "f");
	assert_return_code(getrlimit(RLIMIT_NOFILE, &was), errno);
	few = (struct rlimit){.rlim_cur = 64, .rlim_max = was.rlim_max};
	assert_return_code(setrlimit(RLIMIT_NOFILE, &few), errno);
	auto_close int fd = scan_open(lab.upper_fd, path, &err);
	assert_return_code(setrlimit(RLIMIT_NOFILE, &was), errno);
	assert_true(fd >= 0);
	assert_int_equal(fd_read(fd, text, 3), 3);
	assert_string_equal(text, "far");
	lab_close(&lab);
}

static void make_many(int dir, const char *data)
{
	char path[32];
	int i, k;

	for (i = 0; i < 100; i++) {
		(void)snprintf(path, sizeof(path), "d%d", i);
		assert_int_equal(mkdirat(dir, path, 0755), 0);
		for (k = 0; k < 5; k++) {
			(void)snprintf(path, sizeof(path), "d%d/f%d", i, k);
			assert_int_equal(lab_file(dir, path, data), 0);
		}
	}
}

/* Changes all, with the same size; "l" is a link to an unreadable file in each
 * directory. */
static int do_many(void *arg)
{
	char path[32];
	int i, k, bad = 0;

	(void)arg;
	for (i = 0; i < 100; i++) {
		for (k = 1; k < 5; k++) {
			(void)snprintf(path, sizeof(path), "d%d/f%d", i, k);
			bad |= lab_file(AT_FDCWD, path, "after!") < 0;
		}
		(void)snprintf(path, sizeof(path), "d%d/l", i);
		bad |= i ? link("d0/l", path)
			 : lab_file(AT_FDCWD, path, "link") < 0 ||
				       chmod(path, 0) < 0;
		(void)snprintf(path, sizeof(path), "d%d", i);
		bad |= i % 10 == 9 && chmod(path, 0) < 0;
	}
	return bad;
}

/* So many names are scanned by two threads. */
static void test_many(void **state)
{
	struct change_list whole;
	struct lab lab;
	struct err err;
	size_t i;

	(void)state;
	lab_open(&lab, "p");
	make_many(lab.project_fd, "before");
	assert_int_equal(lab_run(&lab, do_many, NULL), 0);
	AUTO(change_list) struct change_list list = lab_scan(&lab);
	assert_int_equal(list.count, 100 * 5 + 10);
	const struct scan_range all = {.upper_fd = lab.upper_fd,
				       .lower_fd = lab.project_fd};
	assert_int_equal(scan_range(&all, &whole, &err), 0);
	assert_int_equal(whole.count, list.count);
	for (i = 0; i < list.count; i++) {
		assert_string_equal(list.items[i].path, whole.items[i].path);
		assert_int_equal(list.items[i].kind, whole.items[i].kind);
		assert_int_equal(list.items[i].flags, whole.items[i].flags);
		assert_int_equal(list.items[i].now.mode,
				 whole.items[i].now.mode);
	}
	change_list_free(&whole);
	lab_close(&lab);
}

static void test_open_refuses(void **state)
{
	struct lab lab;
	struct err err;

	(void)state;
	lab_open(&lab, "p");
	assert_int_equal(symlinkat("/etc/passwd", lab.upper_fd, "l"), 0);
	assert_int_equal(mkfifoat(lab.upper_fd, "fifo", 0600), 0);
	assert_int_equal(mkdirat(lab.upper_fd, "d", 0700), 0);
	assert_true(scan_open(lab.upper_fd, "l", &err) < 0);
	assert_int_equal(scan_open(lab.upper_fd, "fifo", &err), -EINVAL);
	assert_int_equal(scan_open(lab.upper_fd, "d", &err), -EISDIR);
	assert_int_equal(scan_open(lab.upper_fd, "none", &err), -ENOENT);
	assert_int_equal(scan_open(lab.upper_fd, "../lock", &err), -EINVAL);
	lab_close(&lab);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain_changes),
		cmocka_unit_test(test_no_change),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_deleted_dir),
		cmocka_unit_test(test_opaque_dir),
		cmocka_unit_test(test_types),
		cmocka_unit_test(test_flags),
		cmocka_unit_test(test_unreadable),
		cmocka_unit_test(test_private_xattrs),
		cmocka_unit_test(test_owned_by_others),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_deep),
		cmocka_unit_test(test_skip),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_open_refuses),
		cmocka_unit_test(test_open_deep),
	};

	return cmocka_run_group_tests_name("scan", tests, NULL, NULL);
}
