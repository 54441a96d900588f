/* users: one */
#include "guard/sandbox/tty.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* cmocka has a fail() too. */
#undef fail
#include <cmocka.h>

#include "base/auto.h"

/* The sequences that undo an output, which is read in pieces of n bytes. */
static char *undo_of(const char *output, size_t n)
{
	struct ttymodes m = {0};
	struct buf b = {0};
	size_t len = strlen(output), at;

	for (at = 0; at < len; at += n)
		ttymodes_read(&m, output + at, len - at < n ? len - at : n);
	ttymodes_undo(&m, "xterm", &b);
	return buf_take_text(&b);
}

/* Around the modes: ends an open sequence; letters and colors. */
#define HEAD                                                                   \
	"\030\033\\\033<\033[4i\033[2l\033[12h\033[20l\033[?9001l\033[?2l"     \
	"\033<\033%G"
#define TAIL                                                                   \
	"\033(B\017\033]8;;\033\\\033]104\033\\\033]110\033\\\033]"            \
	"111\033\\\033]"                                                       \
	"112\033\\\033"                                                        \
	"[0m\033[J"

static void check(const char *output, const char *undo)
{
	auto_free char *wanted = mem_printf("%s%s" TAIL, HEAD, undo);
	size_t n;

	for (n = 1; n < 5; n++) {
		auto_free char *got = undo_of(output, n);

		assert_string_equal(got, wanted);
	}
}

static void output_without_control_sequences_needs_no_undoing(void **state)
{
	auto_free char *got = undo_of("text\r\n\tmore \303\266\a\b\n", 1);

	(void)state;
	assert_string_equal(got, "");
}

static void modes_that_did_not_change_are_not_undone(void **state)
{
	(void)state;
	check("text\r\n\033[31mred\033[0m\033[2J\033[5;7H\033[K", "");
	check("\033]0;a title\a\033P+q544e\033\\", "");
	check("\033(0", "");
	check("\016", "");
	check("\302\220", "");
}

static void a_sequence_cut_anywhere_is_ended_first(void **state)
{
	static const char *const sequences[] = {
		"\033Xtext\033\\", "\033ktext\033\\", "\033Ptext\033\\",
		"\033]0;text\a",   "\033^text\033\\", "\033_text\033\\",
		"\033[38;5;1m",	   "\033(0",	      "\033[5i",
	};
	size_t i, len;

	(void)state;
	for (i = 0; i < sizeof(sequences) / sizeof(*sequences); i++)
		for (len = strlen(sequences[i]); len; len--) {
			auto_free char *cut = mem_strndup(sequences[i], len);

			check(cut, "");
		}
}

static void a_bell_ends_an_osc_only(void **state)
{
	static const char strings[] = "]XkP^_";
	size_t i;

	(void)state;
	for (i = 0; strings[i]; i++) {
		struct ttymodes m = {0};
		auto_free char *text = mem_printf("\033%ctext\a", strings[i]);

		ttymodes_read(&m, text, strlen(text));
		assert_int_equal(m.state, i == 0 ? TTY_TEXT : TTY_STRING);
		ttymodes_read(&m, "\033\\", 2);
		assert_int_equal(m.state, TTY_TEXT);
	}
}

static void the_linux_console_has_a_sequence_for_its_palette(void **state)
{
	struct ttymodes m = {0};
	AUTO(buf) struct buf b = {0};

	(void)state;
	ttymodes_read(&m, "\033[31m", 5);
	ttymodes_undo(&m, "linux", &b);
	assert_string_equal(buf_text(&b), HEAD "\033(B\017\033]R\033[0m\033[J");
}

static void private_modes_go_back_and_the_other_screen_last(void **state)
{
	(void)state;
	check("\033[?1049h\033[?25l\033[?1000;1006h\033[?2004h",
	      "\033[?25h\033[?1000l\033[?1006l\033[?2004l\033[?1049l");
	check("\033[?1049h\033[?25l\033[?1049l\033[?25h", "");
	check("\033[?7l", "\033[?7h");
}

static void modes_without_a_question_mark_are_others(void **state)
{
	(void)state;
	check("\033[25l\033[1000h", "");
	check("\033[4h", "\033[4l");
	check("\033[4h\033[4l", "");
	check("\033[>25l", "");
}

static void the_keyboard_speaks_plainly_again(void **state)
{
	(void)state;
	check("\033[>1u", "\033[<99u\033[=0u\033[<99u\033[=0u");
	check("\033[?1049h\033[=5;1u",
	      "\033[<99u\033[=0u\033[?1049l\033[<99u\033[=0u");
	check("\033[?u", "");
	check("\033[>1u\033[<u", "");
	check("\033[>1u\033[>3u\033[<2u\033[=1u\033[=0u", "");
	check("\033[<9u", "");
	check("\033[>4;2m", "\033[>4m");
	check("\033[>4;2m\033[>4m", "");
	check("\033=", "\033>");
}

static void the_complete_screen_is_in_use_again(void **state)
{
	(void)state;
	check("\033[3;10r", "\0337\033[r\0338");
	check("\033[3;10r\033[r", "");
	check("\033[?69h", "\033[?69l");
	check("\033[?25l\033c", "");
}

static void questions_are_noticed(void **state)
{
	static const char *const questions[] = {
		"\033[5n",     "\033[6n",	 "\033[?6n", "\033[c",
		"\033[>c",     "\033Z",		 "\033[>q",  "\033[?u",
		"\033[?25$p",  "\033[14t",	 "\033[x",   "\005",
		"\033]11;?\a", "\033P$qm\033\\",
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(questions) / sizeof(*questions); i++) {
		struct ttymodes m = {0};

		ttymodes_read(&m, questions[i], strlen(questions[i]));
		assert_true(m.has_query);
		assert_int_equal(m.status_queries, i == 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			output_without_control_sequences_needs_no_undoing),
		cmocka_unit_test(modes_that_did_not_change_are_not_undone),
		cmocka_unit_test(a_sequence_cut_anywhere_is_ended_first),
		cmocka_unit_test(a_bell_ends_an_osc_only),
		cmocka_unit_test(
			the_linux_console_has_a_sequence_for_its_palette),
		cmocka_unit_test(
			private_modes_go_back_and_the_other_screen_last),
		cmocka_unit_test(modes_without_a_question_mark_are_others),
		cmocka_unit_test(the_keyboard_speaks_plainly_again),
		cmocka_unit_test(the_complete_screen_is_in_use_again),
		cmocka_unit_test(questions_are_noticed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
