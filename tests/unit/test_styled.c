/* users: one */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/auto.h"
#include "guard/cli/styled.h"
#include "guard/review/words.h"

/* A medium that keeps the last line. */
struct kept {
	struct styled styled;
	struct styled_line line;
	char text[200];
};

static void take_kept(struct styled *to, const struct styled_line *line)
{
	struct kept *k = (struct kept *)to;

	k->line = *line;
	assert_in_range(strlen(line->text), 0, sizeof(k->text) - 1);
	memcpy(k->text, line->text, strlen(line->text) + 1);
}

static void test_no_name_begins_a_style(void **state)
{
	AUTO(buf) struct buf b = {0};

	(void)state;
	styled_row(&b, 'D', "~/", "a\003b\033[31m\016\n\xe2\x80\xae", true);
	assert_string_equal(buf_text(&b),
			    "  " DELETED "D  " NAME
			    "~/a\\x03b\\x1b[31m\\x0e\\n<U+202E>" NAME_END
			    "/" PLAIN);
}

static void test_a_line_of_a_text_has_no_byte_of_a_style(void **state)
{
	struct words_range word = {2, 3};
	const struct words_ranges words = {.items = &word, .count = 1};
	struct kept k = {.styled.take = take_kept};

	(void)state;
	styled_text(&k.styled, '+', "\001 new\tx\n", 8, &words);
	assert_int_equal(k.line.kind, LINE_TEXT);
	assert_int_equal(k.line.sign, '+');
	assert_string_equal(k.text, "\\x01 " MARK "new" MARK_END "\tx");
	styled_target(&k.styled, '-', "a\nb\t\002", 5);
	assert_string_equal(k.text, "a\\nb\\t\\x02");
}

static void test_a_terminal_gets_known_sequences_only(void **state)
{
	AUTO(buf) struct buf colored = {0}, plain = {0};
	static const char text[] =
		BOLD "a" PLAIN "\t" NAME "b" NAME_END "\033[2J\r\x1f\nc";

	(void)state;
	styled_terminal(&colored, text, true);
	styled_terminal(&plain, text, false);
	assert_string_equal(buf_text(&colored), "\x1b[1ma\x1b[m\tb[2J\nc");
	assert_string_equal(buf_text(&plain), "a\tb[2J\nc");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_name_begins_a_style),
		cmocka_unit_test(test_a_line_of_a_text_has_no_byte_of_a_style),
		cmocka_unit_test(test_a_terminal_gets_known_sequences_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
