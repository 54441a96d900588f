/* users: one */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "guard/parse/parse_worker.h"
#include "restore/git/textdiff.h"

static int add_line(void *arg, const struct textdiff_line *line)
{
	struct buf *b = arg;

	buf_add_char(b, line->kind);
	buf_add(b, line->text, line->len);
	return 0;
}

static int stop(void *arg, const struct textdiff_line *line)
{
	(void)line;
	++*(int *)arg;
	return -ECANCELED;
}

static void check(const char *old, const char *now, int context,
		  const char *want, size_t want_added, size_t want_removed)
{
	struct err err = {0};
	struct buf b = {0};
	size_t added = 99, removed = 99;

	assert_int_equal(textdiff(old, strlen(old), now, strlen(now), context,
				  add_line, &b, &added, &removed, &err),
			 0);
	assert_string_equal(buf_text(&b), want);
	assert_int_equal(added, want_added);
	assert_int_equal(removed, want_removed);
	buf_free(&b);
}

static void shows_changed_lines_with_their_context(void **state)
{
	(void)state;
	check("a\nb\nc\nd\ne\n", "a\nb\nX\nd\ne\n", 1,
	      "@@@ -2,3 +2,3 @@ a\n b\n-c\n+X\n d\n", 1, 1);
}

static void gives_nothing_for_equal_texts(void **state)
{
	(void)state;
	check("a\n", "a\n", 3, "", 0, 0);
	check("", "", 3, "", 0, 0);
}

static void takes_empty_sides(void **state)
{
	(void)state;
	check("", "a\nb\n", 3, "@@@ -0,0 +1,2 @@\n+a\n+b\n", 2, 0);
	check("a\n", "", 3, "@@@ -1 +0,0 @@\n-a\n", 0, 1);
}

static void says_that_the_last_newline_is_missing(void **state)
{
	struct err err = {0};
	struct buf b = {0};

	(void)state;
	assert_int_equal(
		textdiff("a\n", 2, "a", 1, 3, add_line, &b, NULL, NULL, &err),
		0);
	assert_non_null(strstr(buf_text(&b), "\\"));
	assert_non_null(strstr(buf_text(&b), "No newline"));
	buf_free(&b);
}

static void calls_bytes_with_zeros_binary(void **state)
{
	struct err err = {0};
	int calls = 0;

	(void)state;
	assert_int_equal(textdiff("a\0b", 3, "a\0c", 3, 3, stop, &calls, NULL,
				  NULL, &err),
			 1);
	assert_int_equal(calls, 0);
}

static void counts_without_a_listener(void **state)
{
	struct err err = {0};
	size_t added, removed;

	(void)state;
	assert_int_equal(textdiff("a\nb\n", 4, "b\nc\nd\n", 6, 3, NULL, NULL,
				  &added, &removed, &err),
			 0);
	assert_int_equal(added, 2);
	assert_int_equal(removed, 1);
}

static void stops_when_the_listener_does(void **state)
{
	struct err err = {0};
	int calls = 0;

	(void)state;
	assert_int_equal(
		textdiff("a\n", 2, "b\n", 2, 3, stop, &calls, NULL, NULL, &err),
		-ECANCELED);
	assert_int_equal(calls, 1);
	assert_true(err.text[0] != '\0');
}

static void leaves_control_characters_as_they_are(void **state)
{
	(void)state;
	check("\x1b[31m\n", "x\n", 3, "@@@ -1 +1 @@\n-\x1b[31m\n+x\n", 1, 1);
}

/* Equal lines far from a change stay in this process, and change nothing. */
static void numbers_lines_in_long_texts(void **state)
{
	struct buf old = {0}, now = {0}, repeated = {0};
	int i;

	(void)state;
	buf_add_text(&old, "int first(void) \n");
	for (i = 2; i <= 2000; i++)
		buf_printf(&old, "\tline %d\n", i);
	buf_add(&now, old.data, old.len);
	memcpy(strstr(buf_text(&now), "line 1000"), "LINE", 4);
	check(buf_text(&old), buf_text(&now), 1,
	      "@@@ -999,3 +999,3 @@ int first(void)\n"
	      " \tline 999\n-\tline 1000\n+\tLINE 1000\n \tline 1001\n",
	      1, 1);
	memcpy(strstr(buf_text(&old), "\tline 500"), "g_500", 5);
	memcpy(strstr(buf_text(&now), "\tline 500"), "g_500", 5);
	check(buf_text(&old), buf_text(&now), 0,
	      "@@@ -1000 +1000 @@ g_500 500\n-\tline 1000\n+\tLINE 1000\n", 1,
	      1);
	/* One more of equal lines is added behind all. */
	buf_clear(&old);
	for (i = 0; i < 1000; i++)
		buf_add_text(&old, "\tsame\n");
	buf_add(&repeated, old.data, old.len);
	buf_add_text(&repeated, "\tsame\n");
	check(buf_text(&old), buf_text(&repeated), 0,
	      "@@@ -1000,0 +1001 @@\n+\tsame\n", 1, 0);
	buf_free(&old);
	buf_free(&now);
	buf_free(&repeated);
}

/* git looks for a NUL in the first bytes only. */
static void takes_a_late_zero_for_text(void **state)
{
	struct buf old = {0}, now = {0};
	struct err err = {0};
	size_t added, removed;
	int i;

	(void)state;
	for (i = 0; i < 2000; i++)
		buf_printf(&old, "line %d\n", i);
	buf_add(&now, old.data, old.len);
	buf_add(&old, "a\0b\n", 4);
	buf_add(&now, "a\0c\n", 4);
	assert_int_equal(textdiff(old.data, old.len, now.data, now.len, 3, NULL,
				  NULL, &added, &removed, &err),
			 0);
	assert_int_equal(added, 1);
	assert_int_equal(removed, 1);
	buf_free(&old);
	buf_free(&now);
}

/* With a configuration that would call every text binary, or another one by
 * way of attributes, the answer stays the same. */
static void reads_no_configuration(void **state)
{
	char home[] = "/tmp/test-textdiff-XXXXXX";
	char config[64], attributes[64];
	FILE *f;

	(void)state;
	assert_non_null(mkdtemp(home));
	(void)snprintf(config, sizeof(config), "%s/.gitconfig", home);
	(void)snprintf(attributes, sizeof(attributes), "%s/attributes", home);
	f = fopen(config, "w");
	assert_non_null(f);
	(void)fprintf(f, "[core]\n\tattributesFile = %s\n", attributes);
	assert_int_equal(fclose(f), 0);
	f = fopen(attributes, "w");
	assert_non_null(f);
	(void)fputs("* binary\n", f);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(setenv("HOME", home, 1), 0);
	check("a\n", "b\n", 3, "@@@ -1 +1 @@\n-a\n+b\n", 1, 1);
	assert_int_equal(unlink(config), 0);
	assert_int_equal(unlink(attributes), 0);
	assert_int_equal(rmdir(home), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_no_configuration),
		cmocka_unit_test(shows_changed_lines_with_their_context),
		cmocka_unit_test(gives_nothing_for_equal_texts),
		cmocka_unit_test(takes_empty_sides),
		cmocka_unit_test(says_that_the_last_newline_is_missing),
		cmocka_unit_test(calls_bytes_with_zeros_binary),
		cmocka_unit_test(counts_without_a_listener),
		cmocka_unit_test(stops_when_the_listener_does),
		cmocka_unit_test(leaves_control_characters_as_they_are),
		cmocka_unit_test(numbers_lines_in_long_texts),
		cmocka_unit_test(takes_a_late_zero_for_text),
	};

	parse_worker_install();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
