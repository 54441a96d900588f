/* users: one */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "guard/cli/table.h"

/* Two rows, the second column empty; to free. */
static char *printed(size_t width, const char *last)
{
	struct table t = {.width = width};
	char *text = NULL;
	size_t len;
	FILE *to = open_memstream(&text, &len);

	assert_non_null(to);
	table_row(&t, "3mk9zq-4t", "", "exit 0", last);
	table_row(&t, "3mk9zr-01", "", "", "none");
	table_print(&t, "", to);
	table_free(&t);
	assert_int_equal(fclose(to), 0);
	return text;
}

static void test_columns_line_up(void **state)
{
	auto_free char *text = printed(TABLE_WHOLE, "make all of it");

	(void)state;
	assert_string_equal(text, "3mk9zq-4t  exit 0  make all of it\n"
				  "3mk9zr-01          none\n");
}

static void test_the_last_column_is_cut(void **state)
{
	auto_free char *text = printed(38, "make all of it and then some");

	(void)state;
	assert_string_equal(text, "3mk9zq-4t  exit 0  make all of it a...\n"
				  "3mk9zr-01          none\n");
}

static void test_too_narrow_a_terminal_gets_several_lines(void **state)
{
	auto_free char *text = printed(24, "make all of it and then some");
	auto_free char *words = printed(16, "make all of it");

	(void)state;
	assert_string_equal(text, "3mk9zq-4t  exit 0\n"
				  "    make all of it and\n"
				  "    then some\n"
				  "3mk9zr-01  none\n");
	assert_string_equal(words, "3mk9zq-4t\n"
				   "    exit 0\n"
				   "    make all of\n"
				   "    it\n"
				   "3mk9zr-01  none\n");
}

static void test_short_last_columns_keep_their_rows(void **state)
{
	auto_free char *text = printed(23, "yes");

	(void)state;
	assert_string_equal(text, "3mk9zq-4t  exit 0  yes\n"
				  "3mk9zr-01          none\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_columns_line_up),
		cmocka_unit_test(test_the_last_column_is_cut),
		cmocka_unit_test(test_too_narrow_a_terminal_gets_several_lines),
		cmocka_unit_test(test_short_last_columns_keep_their_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
