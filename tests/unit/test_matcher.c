/* users: one */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/auto.h"
#include "guard/history/matcher.h"

#ifdef __SANITIZE_ADDRESS__
#include <dlfcn.h>
#include <regex.h>

#pragma GCC diagnostic ignored "-Wvla" /* as in its declaration */

/*
 * The matcher passes text without a NUL by REG_STARTEND; the sanitizer's
 * regexec() calls strlen() on it nevertheless.
 */
int regexec(const regex_t *regex, const char *text, size_t count,
	    regmatch_t matches[restrict count], int flags)
{
	static __typeof__(regexec) *real;

	if (!real)
		*(void **)&real =
			dlsym(dlopen("libc.so.6", RTLD_LAZY), "regexec");
	return real(regex, text, count, matches, flags);
}
#endif

static int note(void *arg, const struct match *m, struct err *err)
{
	struct buf *to = arg;

	(void)err;
	buf_printf(to, "%llu:%.*s[%zu-%zu]\n", (unsigned long long)m->number,
		   (int)m->len, m->line, m->start, m->end);
	return 0;
}

/* The matches in the text when it is passed in pieces of that length. */
static char *found(const char *pattern, bool fixed, bool no_case,
		   const char *text, size_t len, size_t piece)
{
	AUTO(matcher) struct matcher m = {0};
	struct buf to = {0};
	AUTO(scanner)
	struct scanner s = {.matcher = &m, .each = note, .arg = &to};
	struct err err;
	size_t at;
	int got = 0;

	assert_int_equal(matcher_compile(&m, pattern, fixed, no_case, &err), 0);
	for (at = 0; at < len && got == 0; at += piece)
		got = scanner_add(&s, text + at,
				  len - at < piece ? len - at : piece, &err);
	if (got == 0)
		got = scanner_end(&s, &err);
	assert_true(got >= 0);
	if (s.binary)
		buf_printf(&to, "binary%s\n", s.any ? " matches" : "");
	return buf_take_text(&to);
}

static void check(const char *pattern, bool fixed, bool no_case,
		  const char *text, const char *wanted)
{
	size_t len = strlen(text), piece;

	for (piece = 1; piece <= len + 1; piece++) {
		auto_free char *got =
			found(pattern, fixed, no_case, text, len, piece);

		assert_string_equal(got, wanted);
	}
}

static void lines_are_found_however_the_text_is_cut(void **state)
{
	const char *text = "one\ntwo\n\nthree two\nlast two";

	(void)state;
	check("two", false, false, text,
	      "2:two[0-3]\n4:three two[6-9]\n5:last two[5-8]\n");
	check("t[wh]", false, false, text,
	      "2:two[0-2]\n4:three two[0-2]\n5:last two[5-7]\n");
	check("^$", false, false, text, "3:[0-0]\n");
	check("o$", false, false, text,
	      "2:two[2-3]\n4:three two[8-9]\n5:last two[7-8]\n");
	check("none", false, false, text, "");
	check("e|s", false, false, "e\n", "1:e[0-1]\n");
}

static void an_empty_match_is_one_of_every_line(void **state)
{
	(void)state;
	check("x*", false, false, "a\n\nxx\n",
	      "1:a[0-0]\n2:[0-0]\n3:xx[0-2]\n");
}

static void plain_text_means_itself(void **state)
{
	(void)state;
	check("a.c(", true, false, "abc(\na.c(\n", "2:a.c([0-4]\n");
	check("A.c(", true, true, "abc(\na.C(\n", "2:a.C([0-4]\n");
	check("ONE", false, true, "none\n", "1:none[1-4]\n");
}

static void what_every_match_holds_is_no_more_than_a_hint(void **state)
{
	const char *text = "abd\nab\nacd\nxabcd\nabcd\n";

	(void)state;
	check("abc*d", false, false, text,
	      "1:abd[0-3]\n4:xabcd[1-5]\n5:abcd[0-4]\n");
	check("ab?d", false, false, text, "1:abd[0-3]\n");
	check("abx{0,1}d", false, false, text, "1:abd[0-3]\n");
	check("[^]x]bc", false, false, text, "4:xabcd[1-4]\n5:abcd[0-3]\n");
	check("[[:alpha:]]bcd", false, false, text,
	      "4:xabcd[1-5]\n5:abcd[0-4]\n");
	check("^abc.$", false, false, text, "5:abcd[0-4]\n");
	check("abd|acd", false, false, text, "1:abd[0-3]\n3:acd[0-3]\n");
	check("a(b|c)d", false, false, text, "1:abd[0-3]\n3:acd[0-3]\n");
	check("a\\.b|ab$", false, false, text, "2:ab[0-2]\n");
}

static void a_nul_makes_it_binary(void **state)
{
	const char text[] = "a\0b\nneedle\n";
	auto_free char *yes =
		found("needle", false, false, text, sizeof(text) - 1, 3);
	auto_free char *no =
		found("none", false, false, text, sizeof(text) - 1, 3);

	(void)state;
	assert_string_equal(yes, "binary matches\n");
	assert_string_equal(no, "binary\n");
}

static void of_an_endless_line_the_start_is_searched(void **state)
{
	size_t len = 3 * MATCHER_LINE_MAX;
	auto_free char *text = mem_alloc(len);
	auto_free char *got = NULL;

	(void)state;
	memset(text, 'x', len);
	memcpy(text + 100, "needle", 6);
	memcpy(text + len - 100, "needle", 6);
	memcpy(text + len - 50, "\nneedle\n", 8);
	got = found("needle", false, false, text, len, 70000);
	assert_non_null(strstr(got, "[100-106]\n2:needle[0-6]\n"));
}

static void what_is_no_expression_is_named(void **state)
{
	struct matcher m;
	struct err err;

	(void)state;
	assert_int_equal(matcher_compile(&m, "a(", false, false, &err),
			 -EINVAL);
	assert_non_null(strstr(err.text, "'a('"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_are_found_however_the_text_is_cut),
		cmocka_unit_test(an_empty_match_is_one_of_every_line),
		cmocka_unit_test(plain_text_means_itself),
		cmocka_unit_test(what_every_match_holds_is_no_more_than_a_hint),
		cmocka_unit_test(a_nul_makes_it_binary),
		cmocka_unit_test(of_an_endless_line_the_start_is_searched),
		cmocka_unit_test(what_is_no_expression_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
