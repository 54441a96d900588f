/* users: one */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>
#include <sys/stat.h>

#include "guard/review/overlaps.h"

#define FILE_MODE (S_IFREG | 0644)
#define FOLDER (S_IFDIR | 0755)

static struct change change(enum change_kind kind, char *path, uint32_t mode)
{
	struct change c = {.kind = kind, .path = path};

	if (kind != CHANGE_ADDED)
		c.old.mode = mode;
	if (kind != CHANGE_DELETED)
		c.now.mode = mode;
	return c;
}

#define LIST(...)                                                              \
	{                                                                      \
		.items = (struct change[]){__VA_ARGS__},                       \
		.count = sizeof((struct change[]){__VA_ARGS__}) /              \
			 sizeof(struct change)                                 \
	}

static char a[] = "a", b[] = "b", dir[] = "dir", in[] = "dir/in",
	    more[] = "dir/more", git[] = ".git/HEAD";

static void what_both_changed_is_found(void **state)
{
	struct change_list one = LIST(change(CHANGE_MODIFIED, a, FILE_MODE),
				      change(CHANGE_ADDED, b, FILE_MODE));
	struct change_list two = LIST(change(CHANGE_DELETED, a, FILE_MODE),
				      change(CHANGE_ADDED, b, FILE_MODE));
	struct overlap o;

	(void)state;
	overlaps_find(&one, &two, &o);
	assert_int_equal(o.count, 2);
	assert_string_equal(o.paths[0], "a");
	assert_string_equal(o.paths[1], "b");
}

static void what_is_in_nobodys_way_is_not(void **state)
{
	struct change_list one = LIST(change(CHANGE_DELETED, a, FILE_MODE),
				      change(CHANGE_ADDED, dir, FOLDER),
				      change(CHANGE_ADDED, in, FILE_MODE));
	struct change_list two = LIST(change(CHANGE_DELETED, a, FILE_MODE),
				      change(CHANGE_MODIFIED, b, FILE_MODE),
				      change(CHANGE_ADDED, dir, FOLDER),
				      change(CHANGE_ADDED, more, FILE_MODE));
	struct change_list none = {0};
	struct overlap o;

	(void)state;
	overlaps_find(&one, &two, &o);
	assert_int_equal(o.count, 0);
	overlaps_find(&one, &none, &o);
	assert_int_equal(o.count, 0);
}

static void a_new_file_in_a_folder_that_goes_is_found(void **state)
{
	struct change_list one = LIST(change(CHANGE_DELETED, dir, FOLDER),
				      change(CHANGE_DELETED, in, FILE_MODE));
	struct change_list two = LIST(change(CHANGE_ADDED, more, FILE_MODE));
	struct overlap o;

	(void)state;
	overlaps_find(&one, &two, &o);
	assert_int_equal(o.count, 1);
	assert_string_equal(o.paths[0], "dir/more");
	overlaps_find(&two, &one, &o);
	assert_int_equal(o.count, 1);
}

static void traces_of_git_are_not_counted(void **state)
{
	struct change c = change(CHANGE_MODIFIED, git, FILE_MODE);
	struct change_list list = {.items = &c, .count = 1};
	struct overlap o;

	(void)state;
	overlaps_find(&list, &list, &o);
	assert_int_equal(o.count, 1);
	c.flags = CHANGE_GIT;
	overlaps_find(&list, &list, &o);
	assert_int_equal(o.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_both_changed_is_found),
		cmocka_unit_test(what_is_in_nobodys_way_is_not),
		cmocka_unit_test(a_new_file_in_a_folder_that_goes_is_found),
		cmocka_unit_test(traces_of_git_are_not_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
