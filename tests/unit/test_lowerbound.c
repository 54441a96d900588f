/* base/lowerbound.c: the first of a sorted list that a key does not follow. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/lowerbound.h"

static int by_number(const void *key, const void *item)
{
	const int *a = key, *b = item;

	return (*a > *b) - (*a < *b);
}

static size_t at(int key, const int *items, size_t count)
{
	return lowerbound(&key, items, count, sizeof(*items), by_number);
}

/* Of lists of all lengths, with each number twice. */
static void test_every_place_of_every_list(void **state)
{
	int items[40];
	size_t count, i;

	(void)state;
	for (i = 0; i < 40; i++)
		items[i] = (int)(i / 2) * 10;
	for (count = 0; count <= 40; count++) {
		for (i = 0; i < count; i++) {
			assert_int_equal(at(items[i], items, count), i / 2 * 2);
			assert_int_equal(at(items[i] - 5, items, count),
					 i / 2 * 2);
		}
		assert_int_equal(at(1000, items, count), count);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_place_of_every_list),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
