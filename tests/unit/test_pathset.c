/* Matching of many paths with many names. */
/* users: one */
/* link: -Wl,--wrap=path_below -Wl,--wrap=path_compare */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/pathset.h"
#include "guard/change/changes.h"

static size_t asked;

bool __real_path_below(const char *path, const char *dir);
bool __wrap_path_below(const char *path, const char *dir);
int __real_path_compare(const char *a, const char *b);
int __wrap_path_compare(const char *a, const char *b);

bool __wrap_path_below(const char *path, const char *dir)
{
	asked++;
	return __real_path_below(path, dir);
}

int __wrap_path_compare(const char *a, const char *b)
{
	asked++;
	return __real_path_compare(a, b);
}

static void test_it_is_one_of_them_or_below_one(void **state)
{
	const char *const names[] = {"b/c", "a", "a/x", "b-d", "b/c/d", NULL};
	AUTO(pathset) struct pathset s = pathset_make(names);

	(void)state;
	assert_int_equal(s.count, 3);
	assert_true(pathset_contains(&s, "a"));
	assert_true(pathset_contains(&s, "a/y/z"));
	assert_true(pathset_contains(&s, "b/c/d/e"));
	assert_false(pathset_contains(&s, "a-b"));
	assert_false(pathset_contains(&s, "b"));
	assert_false(pathset_contains(&s, ""));
	assert_true(pathset_has_below(&s, "b"));
	assert_true(pathset_has_below(&s, ""));
	assert_false(pathset_has_below(&s, "b-"));
	assert_false(pathset_has_below(&s, "c"));
}

static void test_no_list_is_everything_and_an_empty_one_nothing(void **state)
{
	const char *const none[] = {NULL}, *const root[] = {"x", "", NULL};
	AUTO(pathset) struct pathset all = pathset_make(NULL);
	AUTO(pathset) struct pathset nothing = pathset_make(none);
	AUTO(pathset) struct pathset top = pathset_make(root);

	(void)state;
	assert_true(pathset_contains(&all, "a") &&
		    pathset_has_below(&all, "a"));
	assert_false(pathset_contains(&nothing, "a"));
	assert_false(pathset_has_below(&nothing, ""));
	assert_true(pathset_contains(&top, "a") && pathset_contains(&top, ""));
}

/* The number of comparisons for as many changes as named paths. */
static size_t asked_for(int count)
{
	const struct meta file = {.mode = S_IFREG | 0644};
	struct changes_root root = {.upper_fd = -1, .lower_fd = AT_FDCWD};
	char **names = NULL;
	struct err err;
	int i;

	for (i = 0; i < count; i++) {
		char name[32];

		(void)snprintf(name, sizeof(name), "d/f%06d", i);
		change_list_add(&root.list, name, CHANGE_ADDED, 0, NULL, &file);
		if (i % 2)
			mem_list_add(&names, name);
	}
	asked = 0;
	assert_int_equal(changes_check(&root, names, NULL, &err), 0);
	changes_filter(&root.list, (const char *const *)names);
	assert_int_equal(root.list.count, count / 2);
	mem_list_free(&names);
	change_list_free(&root.list);
	return asked;
}

static void test_thousands_of_names_are_not_compared_one_by_one(void **state)
{
	size_t once = asked_for(1000);

	(void)state;
	assert_in_range(asked_for(2000), once, 5 * once / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_it_is_one_of_them_or_below_one),
		cmocka_unit_test(
			test_no_list_is_everything_and_an_empty_one_nothing),
		cmocka_unit_test(
			test_thousands_of_names_are_not_compared_one_by_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
