#include "overlay_lab.h"

static int number;

static int take_back(struct lab *lab, const char *path)
{
	auto_free char *name = mem_printf("back-%d", number++);
	struct err err;

	return upper_discard(lab->upper_fd, lab->project_fd, path,
			     lab->trash_fd, name, &err);
}

/* Restores the content of the n-th discard. */
static int put(struct lab *lab, const char *path, int n, bool look)
{
	auto_free char *name = mem_printf("back-%d", n);
	const char *paths[] = {path, NULL};
	AUTO(pathset) struct pathset along = pathset_make(paths);
	struct err err;

	return upper_restore(lab->upper_fd, path, &along, lab->trash_fd, name,
			     look, &err);
}

/* Discard and undo: the layer has the same changes as before, and no other
 * entry is left. */
static void there_and_back(struct lab *lab, const char *path, const char *all,
			   const char *without)
{
	AUTO(dirlist) struct dirlist left = {0};
	struct err err;
	int n = number;

	lab_expect(lab, all);
	assert_int_equal(put(lab, path, n, true), 0);
	assert_int_equal(take_back(lab, path), 0);
	lab_expect(lab, without);
	assert_int_equal(put(lab, path, n, true), 1);
	lab_expect(lab, without);
	assert_int_equal(put(lab, path, n, false), 1);
	lab_expect(lab, all);
	assert_int_equal(put(lab, path, n, false), 0);
	assert_int_equal(dirlist_read(lab->trash_fd, &left, &err), 0);
	assert_int_equal(left.count, 0);
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
	/* The discarded content is complete in the trash. */
	assert_int_equal(fstatat(lab.trash_fd, "back-0", &st, 0), 0);
	assert_int_equal(st.st_size, 5);
	assert_int_equal(fstatat(lab.trash_fd, "back-1", &st, 0), 0);
	/* A second discard, and one of a missing path, do nothing. */
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

/* The directory d/e lies in an opaque one and has no mark of its own: it must
 * hide the real d/e when d is no longer opaque. */
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
	/* No path below a file can be restored. */
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

static size_t names_in(int dir_fd)
{
	AUTO(dirlist) struct dirlist list = {0};
	auto_close int fd = fd_reopen(dir_fd, O_RDONLY | O_DIRECTORY);
	struct err err;

	assert_true(fd >= 0 && dirlist_read(fd, &list, &err) == 0);
	return list.count;
}

static void test_everything(void **state)
{
	struct lab lab;
	struct stat st;

	(void)state;
	lab_open(&lab, "p");
	make_tree(&lab);
	assert_int_equal(lab_run(&lab, do_all, NULL), 0);
	number = 0;
	assert_int_equal(take_back(&lab, ""), 0);
	lab_expect(&lab, "");
	assert_int_equal(names_in(lab.upper_fd), 0);
	assert_int_equal(fstatat(lab.trash_fd, "back-0/new", &st, 0), 0);
	lab_close(&lab);
}

static int do_check_edit(void *arg)
{
	struct stat st;

	(void)arg;
	return stat("new", &st) < 0 || stat("file", &st) < 0 ||
	       st.st_size != 5 || access("d/top", F_OK) == 0;
}

static void what_was_taken_comes_back(void **state)
{
	struct lab lab;

	(void)state;
	lab_open(&lab, "p");
	make_tree(&lab);
	number = 0;
	assert_int_equal(lab_run(&lab, do_edit, NULL), 0);
	there_and_back(&lab, "file", "D d/top, M file, A new",
		       "D d/top, A new");
	there_and_back(&lab, "new", "D d/top, M file, A new",
		       "D d/top, M file");
	there_and_back(&lab, "d/top", "D d/top, M file, A new",
		       "M file, A new");
	assert_int_equal(lab_run(&lab, do_check_edit, NULL), 0);
	lab_close(&lab);
}

static int do_read_deleted(void *arg)
{
	(void)arg;
	return access("d", F_OK) == 0;
}

#define DELETED "D d, D+ d/e, D+ d/e/f, D+ d/e/f/deep, D+ d/e/near, D+ d/top"

static void a_deleted_folder_comes_back_deleted(void **state)
{
	struct lab lab;

	(void)state;
	lab_open(&lab, "p");
	make_tree(&lab);
	number = 0;
	assert_int_equal(lab_run(&lab, do_delete, NULL), 0);
	there_and_back(&lab, "d/e/f/deep", DELETED, "D d/e/near, D d/top");
	there_and_back(&lab, "d/top", DELETED,
		       "D d/e, D+ d/e/f, D+ d/e/f/deep, D+ d/e/near");
	there_and_back(&lab, "d", DELETED, "");
	assert_int_equal(lab_run(&lab, do_read_deleted, NULL), 0);
	lab_close(&lab);
}

/* One after the other, the last one first; the second lies in directories that
 * the undo of the first has created. */
static void several_come_back_in_turn(void **state)
{
	const char *paths[] = {"d/top", "d/e/f/deep", NULL};
	AUTO(pathset) struct pathset along = pathset_make(paths);
	struct lab lab;
	struct err err;

	(void)state;
	lab_open(&lab, "p");
	make_tree(&lab);
	number = 0;
	assert_int_equal(lab_run(&lab, do_delete, NULL), 0);
	assert_int_equal(take_back(&lab, "d/top"), 0);
	assert_int_equal(take_back(&lab, "d/e/f/deep"), 0);
	lab_expect(&lab, "D d/e/near");
	assert_int_equal(upper_restore(lab.upper_fd, "d/top", &along,
				       lab.trash_fd, "back-0", true, &err),
			 1);
	assert_int_equal(put(&lab, "d/top", 0, true), -EEXIST);
	assert_int_equal(put(&lab, "d/e/f/deep", 1, false), 1);
	assert_int_equal(put(&lab, "d/top", 0, false), 1);
	lab_expect(&lab, DELETED);
	lab_close(&lab);
}

static int do_read_all_replaced(void *arg)
{
	(void)arg;
	return access("d/e/near", F_OK) == 0 || access("d/e/f", F_OK) == 0 ||
	       access("d/e/mine", F_OK) < 0 || access("d/top", F_OK) == 0;
}

static void of_a_replaced_folder_each_comes_back(void **state)
{
	static const char all[] = "D d/e/f, D+ d/e/f/deep, A d/e/mine, "
				  "D d/e/near, D d/top";
	struct lab lab;

	(void)state;
	lab_open(&lab, "p");
	make_tree(&lab);
	number = 0;
	assert_int_equal(lab_run(&lab, do_replace, NULL), 0);
	there_and_back(&lab, "d/top", all,
		       "D d/e/f, D+ d/e/f/deep, A d/e/mine, D d/e/near");
	there_and_back(&lab, "d/e/f/deep", all,
		       "A d/e/mine, D d/e/near, D d/top");
	there_and_back(&lab, "d/e/mine", all,
		       "D d/e/f, D+ d/e/f/deep, D d/e/near, D d/top");
	there_and_back(&lab, "d/e", all, "D d/top");
	there_and_back(&lab, "d", all, "");
	assert_int_equal(lab_run(&lab, do_read_all_replaced, NULL), 0);
	lab_close(&lab);
}

static int do_write_again(void *arg)
{
	(void)arg;
	return lab_file(AT_FDCWD, "new", "again") < 0 ||
	       lab_file(AT_FDCWD, "d/e/later", "later") < 0;
}

static void what_the_run_did_since_is_in_the_way(void **state)
{
	struct lab lab;

	(void)state;
	lab_open(&lab, "p");
	make_tree(&lab);
	number = 0;
	assert_int_equal(lab_run(&lab, do_edit, NULL), 0);
	assert_int_equal(take_back(&lab, "new"), 0);
	assert_int_equal(lab_run(&lab, do_write_again, NULL), 0);
	assert_int_equal(put(&lab, "new", 0, true), -EEXIST);
	assert_int_equal(put(&lab, "new", 0, false), -EEXIST);
	lab_close(&lab);
}

static void nor_what_it_did_in_a_folder_that_was_deleted(void **state)
{
	struct lab lab;

	(void)state;
	lab_open(&lab, "p");
	make_tree(&lab);
	number = 0;
	assert_int_equal(lab_run(&lab, do_delete, NULL), 0);
	assert_int_equal(take_back(&lab, "d/e/near"), 0);
	assert_int_equal(lab_run(&lab, do_write_again, NULL), 0);
	lab_expect(&lab, "D d/e/f, D+ d/e/f/deep, A d/e/later, D d/top, A new");
	assert_int_equal(put(&lab, "d/e/near", 0, true), -EEXIST);
	assert_int_equal(put(&lab, "d/e/near", 0, false), -EEXIST);
	lab_expect(&lab, "D d/e/f, D+ d/e/f/deep, A d/e/later, D d/top, A new");
	lab_close(&lab);
}

static int do_make_n(void *arg)
{
	(void)arg;
	return mkdir("n", 0755) < 0 || lab_file(AT_FDCWD, "n/a", "a") < 0 ||
	       lab_file(AT_FDCWD, "n/b", "b") < 0;
}

static int do_remove_n(void *arg)
{
	(void)arg;
	return unlink("n/b") < 0 || rmdir("n") < 0;
}

static void nor_can_it_be_where_the_folder_is_gone(void **state)
{
	struct lab lab;

	(void)state;
	lab_open(&lab, "p");
	make_tree(&lab);
	number = 0;
	assert_int_equal(lab_run(&lab, do_make_n, NULL), 0);
	assert_int_equal(take_back(&lab, "n/a"), 0);
	assert_int_equal(lab_run(&lab, do_remove_n, NULL), 0);
	assert_int_equal(put(&lab, "n/a", 0, true), -EEXIST);
	assert_int_equal(put(&lab, "n/a", 0, false), -EEXIST);
	lab_close(&lab);
}

static void shut_things_come_back_shut(void **state)
{
	static const char all[] = "m , A closed, A+ closed/in, m d, m d/e, "
				  "M d/e/near";
	struct lab lab;
	struct meta m;

	(void)state;
	lab_open(&lab, "p");
	make_tree(&lab);
	number = 0;
	assert_int_equal(lab_run(&lab, do_lock, NULL), 0);
	there_and_back(&lab, "closed", all, "m , m d, m d/e, M d/e/near");
	there_and_back(&lab, "d/e/near", all,
		       "m , A closed, A+ closed/in, m d, m d/e");
	there_and_back(&lab, "d", all, "m , A closed, A+ closed/in");
	there_and_back(&lab, "", all, "");
	assert_int_equal(meta_get(lab.upper_fd, "", &m), 0);
	assert_int_equal(m.mode & 07777, 0500);
	lab_close(&lab);
}

/* As if the undo had been killed in between: the rest is restored. */
static void all_of_it_comes_back_in_two_goes(void **state)
{
	struct lab lab;

	(void)state;
	lab_open(&lab, "p");
	make_tree(&lab);
	number = 0;
	assert_int_equal(lab_run(&lab, do_all, NULL), 0);
	lab_expect(&lab, "m , D d/e/f, D+ d/e/f/deep, A d/e/mine, D d/e/near, "
			 "D d/top, M file, A new");
	assert_int_equal(take_back(&lab, ""), 0);
	assert_int_equal(renameat(lab.trash_fd, "back-0/d", lab.upper_fd, "d"),
			 0);
	assert_int_equal(put(&lab, "", 0, false), 1);
	lab_expect(&lab, "m , D d/e/f, D+ d/e/f/deep, A d/e/mine, D d/e/near, "
			 "D d/top, M file, A new");
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
		cmocka_unit_test(what_was_taken_comes_back),
		cmocka_unit_test(a_deleted_folder_comes_back_deleted),
		cmocka_unit_test(several_come_back_in_turn),
		cmocka_unit_test(of_a_replaced_folder_each_comes_back),
		cmocka_unit_test(what_the_run_did_since_is_in_the_way),
		cmocka_unit_test(nor_what_it_did_in_a_folder_that_was_deleted),
		cmocka_unit_test(nor_can_it_be_where_the_folder_is_gone),
		cmocka_unit_test(shut_things_come_back_shut),
		cmocka_unit_test(all_of_it_comes_back_in_two_goes),
	};

	return cmocka_run_group_tests_name("revert", tests, NULL, NULL);
}
