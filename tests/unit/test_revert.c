#include "overlay_lab.h"

static int number;

static int take_back(struct lab *lab, const char *path)
{
	auto_free char *name = mem_printf("back-%d", number++);
	struct err err;

	return layer_revert(lab->upper_fd, lab->project_fd, path, lab->trash_fd,
			    name, &err);
}

static void make_tree(struct lab *lab)
{
	int fd = lab->project_fd;

	assert_int_equal(mkdirat(fd, "d", 0755), 0);
	assert_int_equal(mkdirat(fd, "d/e", 0750), 0);
	assert_int_equal(mkdirat(fd, "d/e/f", 0755), 0);
	assert_int_equal(lab_file(fd, "d/e/f/deep", "deep"), 0);
	assert_int_equal(lab_file(fd, "d/e/near", "near"), 0);
	assert_int_equal(lab_file(fd, "d/top", "top"), 0);
	assert_int_equal(lab_file(fd, "file", "text"), 0);
}

static int remove_d(void)
{
	return unlink("d/e/f/deep") < 0 || rmdir("d/e/f") < 0 ||
	       unlink("d/e/near") < 0 || rmdir("d/e") < 0 ||
	       unlink("d/top") < 0 || rmdir("d") < 0;
}

static int do_edit(void *arg)
{
	(void)arg;
	return lab_file(AT_FDCWD, "file", "other") < 0 ||
	       lab_file(AT_FDCWD, "new", "new") < 0 || unlink("d/top") < 0;
}

static void test_single(void **state)
{
	struct lab lab;
	struct stat st;

	(void)state;
	lab_open(&lab, "p");
	make_tree(&lab);
	assert_int_equal(lab_run(&lab, do_edit, NULL), 0);
	lab_expect(&lab, "D d/top, M file, A new");
	number = 0;
	assert_int_equal(take_back(&lab, "file"), 0);
	lab_expect(&lab, "D d/top, A new");
	assert_int_equal(take_back(&lab, "new"), 0);
	assert_int_equal(take_back(&lab, "d/top"), 0);
	lab_expect(&lab, "");
	/* What was taken back lies in the trash, whole. */
	assert_int_equal(fstatat(lab.trash_fd, "back-0", &st, 0), 0);
	assert_int_equal(st.st_size, 5);
	assert_int_equal(fstatat(lab.trash_fd, "back-1", &st, 0), 0);
	/* A second time, and of something that never was: nothing to do. */
	assert_int_equal(take_back(&lab, "file"), 0);
	assert_int_equal(take_back(&lab, "none/at/all"), 0);
	lab_close(&lab);
}

static int do_delete(void *arg)
{
	(void)arg;
	return remove_d();
}

static int do_read(void *arg)
{
	struct stat st;

	(void)arg;
	return stat("d/e/f/deep", &st) < 0 || st.st_size != 4 ||
	       access("d/e/near", F_OK) == 0 || access("d/top", F_OK) == 0 ||
	       stat("d/e", &st) < 0 || (st.st_mode & 07777) != 0750;
}

static void test_one_of_a_deleted_folder(void **state)
{
	struct lab lab;

	(void)state;
	lab_open(&lab, "p");
	make_tree(&lab);
	assert_int_equal(lab_run(&lab, do_delete, NULL), 0);
	assert_int_equal(take_back(&lab, "d/e/f/deep"), 0);
	lab_expect(&lab, "D d/e/near, D d/top");
	assert_int_equal(lab_run(&lab, do_read, NULL), 0);
	assert_int_equal(take_back(&lab, "d/e/near"), 0);
	assert_int_equal(take_back(&lab, "d"), 0);
	lab_expect(&lab, "");
	lab_close(&lab);
}

static int do_replace(void *arg)
{
	(void)arg;
	return remove_d() || mkdir("d", 0755) < 0 || mkdir("d/e", 0750) < 0 ||
	       lab_file(AT_FDCWD, "d/e/mine", "x") < 0;
}

static int do_read_replaced(void *arg)
{
	(void)arg;
	return access("d/e/near", F_OK) == 0 || access("d/e/f", F_OK) == 0 ||
	       access("d/e/mine", F_OK) < 0 || access("d/top", F_OK) < 0;
}

/* The folder d/e lies in an opaque one and has no mark of its own: it must
 * not let the real d/e through when d stops to be opaque. */
static void test_one_of_a_replaced_folder(void **state)
{
	struct lab lab;

	(void)state;
	lab_open(&lab, "p");
	make_tree(&lab);
	assert_int_equal(lab_run(&lab, do_replace, NULL), 0);
	lab_expect(&lab, "D d/e/f, D+ d/e/f/deep, A d/e/mine, D d/e/near, "
			 "D d/top");
	assert_int_equal(take_back(&lab, "d/top"), 0);
	lab_expect(&lab, "D d/e/f, D+ d/e/f/deep, A d/e/mine, D d/e/near");
	assert_int_equal(lab_run(&lab, do_read_replaced, NULL), 0);
	lab_close(&lab);
}

static int do_type(void *arg)
{
	(void)arg;
	return remove_d() || lab_file(AT_FDCWD, "d", "file") < 0 ||
	       unlink("file") < 0 || mkdir("file", 0755) < 0 ||
	       lab_file(AT_FDCWD, "file/in", "x") < 0;
}

static void test_types(void **state)
{
	struct lab lab;

	(void)state;
	lab_open(&lab, "p");
	make_tree(&lab);
	assert_int_equal(lab_run(&lab, do_type, NULL), 0);
	/* Below a file nothing can come back. */
	assert_int_equal(take_back(&lab, "d/top"), -ENOTDIR);
	assert_int_equal(take_back(&lab, "file/in"), 0);
	lab_expect(&lab, "T d, D+ d/e, D+ d/e/f, D+ d/e/f/deep, D+ d/e/near, "
			 "D+ d/top, T file");
	assert_int_equal(take_back(&lab, "d"), 0);
	assert_int_equal(take_back(&lab, "file"), 0);
	lab_expect(&lab, "");
	lab_close(&lab);
}

static int do_lock(void *arg)
{
	(void)arg;
	return lab_file(AT_FDCWD, "d/e/near", "far") < 0 ||
	       chmod("d/e", 0) < 0 || chmod("d", 0500) < 0 ||
	       mkdir("closed", 0755) < 0 || mkdir("closed/in", 0) < 0 ||
	       chmod("closed", 0) < 0 || chmod(".", 0500) < 0;
}

static void test_unreadable(void **state)
{
	struct lab lab;
	struct meta m;

	(void)state;
	lab_open(&lab, "p");
	make_tree(&lab);
	assert_int_equal(lab_run(&lab, do_lock, NULL), 0);
	number = 0;
	assert_int_equal(take_back(&lab, "closed"), 0);
	assert_int_equal(meta_get(lab.trash_fd, "back-0", &m), 0);
	assert_int_equal(m.mode, S_IFDIR);
	assert_int_equal(take_back(&lab, "d/e/near"), 0);
	lab_expect(&lab, "m , m d, m d/e");
	assert_int_equal(take_back(&lab, "d"), 0);
	assert_int_equal(take_back(&lab, ""), 0);
	lab_expect(&lab, "");
	lab_close(&lab);
}

static int do_all(void *arg)
{
	return do_replace(arg) || do_edit(NULL) == 0 || chmod(".", 0700) < 0;
}

static void test_everything(void **state)
{
	struct lab lab;
	struct err err;
	struct stat st;

	(void)state;
	lab_open(&lab, "p");
	make_tree(&lab);
	assert_int_equal(lab_run(&lab, do_all, NULL), 0);
	number = 0;
	assert_int_equal(take_back(&lab, ""), 0);
	lab_expect(&lab, "");
	assert_int_equal(scan_is_empty(lab.upper_fd, &err), 1);
	assert_int_equal(fstatat(lab.trash_fd, "back-0/new", &st, 0), 0);
	lab_close(&lab);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_single),
		cmocka_unit_test(test_one_of_a_deleted_folder),
		cmocka_unit_test(test_one_of_a_replaced_folder),
		cmocka_unit_test(test_types),
		cmocka_unit_test(test_unreadable),
		cmocka_unit_test(test_everything),
	};

	return cmocka_run_group_tests_name("revert", tests, NULL, NULL);
}
