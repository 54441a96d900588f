/* base/vec.h and base/sorted.h: growing arrays, sorted and searched. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/sorted.h"
#include "base/vec.h"

struct item {
	int number;
	const char *path;
};

static void test_an_empty_array_can_be_sorted_and_searched(void **state)
{
	VEC(struct item) list = {0};

	(void)state;
	SORT_BY_PATH(list.items, list.count, path);
	VEC_SORT(&list, sorted_compare_paths);
	assert_null(FIND_BY_PATH("a", list.items, list.count, path));
	assert_int_equal(INDEX_BY_TEXT("a", list.items, list.count, path), 0);
	VEC_FREE(&list);
}

static void
test_added_items_are_zero_and_stay_when_the_array_grows(void **state)
{
	VEC(struct item) list = {0};
	int i;

	(void)state;
	for (i = 0; i < 1000; i++) {
		struct item *added = VEC_ADD(&list);

		assert_int_equal(added->number, 0);
		assert_null(added->path);
		added->number = i;
	}
	assert_int_equal(list.count, 1000);
	for (i = 0; i < 1000; i++)
		assert_int_equal(list.items[i].number, i);
	VEC_FREE(&list);
	assert_null(list.items);
	assert_int_equal(list.count + list.capacity, 0);
}

/* In the order of paths a directory is followed by its entries; in the order of
 * texts "a-b" is between them. */
static void test_paths_and_texts_have_orders_of_their_own(void **state)
{
	VEC(struct item) list = {0};
	const char *const paths[] = {"b", "a-b", "a/c", "a", "a/b"};
	const char *const by_path[] = {"a", "a/b", "a/c", "a-b", "b"};
	const char *const by_text[] = {"a", "a-b", "a/b", "a/c", "b"};
	size_t i;

	(void)state;
	for (i = 0; i < 5; i++)
		*VEC_ADD(&list) = (struct item){(int)i, paths[i]};
	SORT_BY_PATH(list.items, list.count, path);
	for (i = 0; i < 5; i++) {
		assert_string_equal(list.items[i].path, by_path[i]);
		assert_ptr_equal(
			FIND_BY_PATH(by_path[i], list.items, list.count, path),
			&list.items[i]);
	}
	assert_null(FIND_BY_PATH("a/bb", list.items, list.count, path));
	assert_int_equal(INDEX_BY_PATH("a/bb", list.items, list.count, path),
			 2);
	assert_int_equal(INDEX_BY_PATH("c", list.items, list.count, path), 5);
	SORT_BY_TEXT(list.items, list.count, path);
	for (i = 0; i < 5; i++) {
		assert_string_equal(list.items[i].path, by_text[i]);
		assert_ptr_equal(
			FIND_BY_TEXT(by_text[i], list.items, list.count, path),
			&list.items[i]);
	}
	VEC_FREE(&list);
}

static void test_the_first_of_equal_items_is_found(void **state)
{
	struct item items[] = {{1, "a"}, {2, "b"}, {3, "b"}, {4, "b"}};

	(void)state;
	assert_int_equal(FIND_BY_PATH("b", items, 4, path)->number, 2);
	assert_int_equal(INDEX_BY_TEXT("b", items, 4, path), 1);
}

/* For lists of all lengths, with each text twice. */
static void test_every_index_of_every_list_is_found(void **state)
{
	static const char *const texts[] = {"b", "d", "f", "h", "j"};
	static const char *const others[] = {"a", "c", "e", "g", "i"};
	const char *items[10];
	size_t count, i;

	(void)state;
	for (i = 0; i < 10; i++)
		items[i] = texts[i / 2];
	for (count = 0; count <= 10; count++) {
		for (i = 0; i < count; i++) {
			assert_int_equal(sorted_index(items[i], items, count,
						      sizeof(*items), 0,
						      path_compare),
					 i / 2 * 2);
			assert_int_equal(sorted_index(others[i / 2], items,
						      count, sizeof(*items), 0,
						      strcmp),
					 i / 2 * 2);
		}
		assert_int_equal(sorted_index("z", items, count, sizeof(*items),
					      0, strcmp),
				 count);
	}
}

static void test_the_first_of_equal_numbers_is_found(void **state)
{
	static const struct {
		uint64_t number;
		char name;
	} items[] = {{1, 'a'}, {3, 'b'}, {3, 'c'}, {3, 'd'}, {UINT64_MAX, 'e'}};
	uint64_t numbers[] = {3, UINT64_MAX, 0, 1};

	(void)state;
	assert_ptr_equal(sorted_find_number(1, items, 5, sizeof(*items)),
			 &items[0]);
	assert_ptr_equal(sorted_find_number(3, items, 5, sizeof(*items)),
			 &items[1]);
	assert_ptr_equal(
		sorted_find_number(UINT64_MAX, items, 5, sizeof(*items)),
		&items[4]);
	assert_null(sorted_find_number(2, items, 5, sizeof(*items)));
	assert_null(sorted_find_number(2, NULL, 0, sizeof(*items)));
	qsort(numbers, 4, sizeof(*numbers), sorted_compare_numbers);
	assert_int_equal(numbers[0], 0);
	assert_int_equal(numbers[3], UINT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_an_empty_array_can_be_sorted_and_searched),
		cmocka_unit_test(
			test_added_items_are_zero_and_stay_when_the_array_grows),
		cmocka_unit_test(test_paths_and_texts_have_orders_of_their_own),
		cmocka_unit_test(test_the_first_of_equal_items_is_found),
		cmocka_unit_test(test_every_index_of_every_list_is_found),
		cmocka_unit_test(test_the_first_of_equal_numbers_is_found),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
