/* base/: errors, memory, paths, codec and text: everything that needs no file.
 */
/* users: one */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/auto.h"
#include "base/codec.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/text.h"
#include "guard/cli/output.h"

static void an_error_has_number_text_and_context(void **state)
{
	struct err err;

	(void)state;
	errno = ENOSPC;
	assert_int_equal(fail_errno(&err, "write %s", "x"), -ENOSPC);
	assert_string_equal(err.text, "write x: No space left on device");
	assert_int_equal(err_context(&err, "back up %s", "'a'"), -ENOSPC);
	assert_string_equal(err.text,
			    "back up 'a': write x: No space left on device");
	assert_string_equal(err.file, __FILE__);
}

static void a_failure_is_never_a_success(void **state)
{
	struct err err;

	(void)state;
	assert_int_equal(fail(&err, 0, "odd"), -EIO);
	assert_int_equal(fail(&err, -7, "odd"), -EIO);
}

static void a_long_error_is_cut_and_ends(void **state)
{
	auto_free char *text = mem_alloc(5000);
	struct err err;
	int i;

	(void)state;
	memset(text, 'x', 4999);
	text[4999] = '\0';
	assert_int_equal(fail(&err, EPERM, "%s", text), -EPERM);
	assert_int_equal(strlen(err.text), ERR_TEXT_LEN - 1);
	for (i = 0; i < 100; i++)
		(void)err_context(&err, "%s", text);
	assert_int_equal(strlen(err.text), ERR_TEXT_LEN - 1);
	assert_int_equal(err.num, EPERM);
}

static void a_buffer_grows_and_is_handed_on(void **state)
{
	struct buf b = {0};
	auto_free char *text = NULL;
	size_t i;

	(void)state;
	assert_string_equal(buf_text(&b), "");
	for (i = 0; i < 1000; i++)
		buf_printf(&b, "%zu,", i);
	assert_int_equal(b.len, 3890);
	text = buf_take_text(&b);
	assert_null(b.data);
	assert_int_equal(strlen(text), 3890);
	assert_string_equal(text + 3885, ",999,");
	buf_free(&b);
}

static void names_that_lead_elsewhere_are_no_names(void **state)
{
	char name[300];

	(void)state;
	memset(name, 'n', sizeof(name));
	assert_true(path_name_ok("...", 3));
	assert_true(path_name_ok(name, 255));
	assert_false(path_name_ok(name, 256));
	assert_false(path_name_ok("", 0));
	assert_false(path_name_ok(".", 1));
	assert_false(path_name_ok("..", 2));
	assert_false(path_name_ok("a/b", 3));
	assert_false(path_name_ok("a\0b", 3));
	assert_true(path_ok(""));
	assert_true(path_ok("a/b"));
	assert_false(path_ok("/a"));
	assert_false(path_ok("a/"));
	assert_false(path_ok("a//b"));
	assert_false(path_ok("a/../b"));
	assert_false(path_ok("./a"));
}

static void below_means_whole_parts(void **state)
{
	(void)state;
	assert_true(path_below("a/b", "a"));
	assert_true(path_below("a", "a"));
	assert_false(path_below("ab", "a"));
	assert_false(path_below("a", "a/b"));
	assert_true(path_below("/x", "/"));
	assert_true(path_below("x", ""));
	assert_string_equal(path_rest("a/b/c", "a"), "b/c");
	assert_string_equal(path_rest("a", "a"), "");
	assert_string_equal(path_rest("/x/y", "/"), "x/y");
	assert_true(path_has_part("a/.git/b", ".git"));
	assert_false(path_has_part("a/.gitx/b", ".git"));
	assert_int_equal(path_part_end("a/.git/b/.git", ".git"), 6);
	assert_int_equal(path_part_end(".git", ".git"), 4);
	assert_int_equal(path_part_end("a/.gitx/b.git", ".git"), 0);
}

static void a_folder_comes_before_what_is_in_it(void **state)
{
	static const char *const order[] = {"",	   "a",	  "a/b", "a/b/c",
					    "a/c", "a-b", "ab",	 "b"};
	size_t i, k;

	(void)state;
	for (i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		for (k = 0; k < sizeof(order) / sizeof(order[0]); k++) {
			int c = path_compare(order[i], order[k]);

			assert_int_equal((c > 0) - (c < 0), (i > k) - (i < k));
		}
}

static void parents_and_names_of_paths(void **state)
{
	static const char *const cases[][3] = {{"a/b/c", "a/b", "c"},
					       {"a", "", "a"},
					       {"/a", "/", "a"},
					       {"", "", ""}};
	size_t i;

	(void)state;
	for (i = 0; i < 4; i++) {
		auto_free char *parent = path_parent(cases[i][0]);
		auto_free char *joined = path_join(parent, cases[i][2]);

		assert_string_equal(parent, cases[i][1]);
		assert_string_equal(path_name(cases[i][0]), cases[i][2]);
		assert_string_equal(joined, cases[i][0]);
	}
	assert_true(path_ends("hooks/update.sample", ".sample"));
	assert_true(path_ends(".sample", ".sample"));
	assert_false(path_ends("update.sample/a", ".sample"));
	assert_false(path_ends("sample", ".sample"));
}

static void numbers_come_back(void **state)
{
	static const uint64_t values[] = {
		0,	    1,	      127,	  128,
		16383,	    16384,    UINT32_MAX, (uint64_t)1 << 63,
		UINT64_MAX, INT64_MAX};
	AUTO(buf) struct buf b = {0};
	struct dec d;
	size_t i;

	(void)state;
	for (i = 0; i < 10; i++) {
		enc_var(&b, values[i]);
		enc_svar(&b, (int64_t)values[i]);
		enc_u64(&b, values[i]);
		enc_u32(&b, (uint32_t)values[i]);
	}
	d = dec_start(b.data, b.len);
	for (i = 0; i < 10; i++) {
		assert_true(dec_var(&d) == values[i]);
		assert_true(dec_svar(&d) == (int64_t)values[i]);
		assert_true(dec_u64(&d) == values[i]);
		assert_true(dec_u32(&d) == (uint32_t)values[i]);
	}
	assert_true(dec_end(&d));
}

/* Every prefix of an encoding is invalid, and no byte behind it is read. */
static void cut_bytes_are_bad_and_read_as_nothing(void **state)
{
	AUTO(buf) struct buf b = {0};
	size_t len;

	(void)state;
	enc_text(&b, "name");
	enc_u32(&b, 7);
	enc_var(&b, 300);
	for (len = 0; len < b.len; len++) {
		auto_free unsigned char *copy = mem_dup(b.data, len);
		struct dec d = dec_start(copy, len);
		auto_free char *text = dec_text(&d);

		assert_non_null(text);
		(void)dec_u32(&d);
		assert_true(dec_var(&d) == 0);
		assert_true(d.bad);
		assert_false(dec_end(&d));
	}
}

static void odd_encodings_are_bad(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
	} odd[] = {{"\x80\x00", 2}, /* longer than necessary */
		   {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10},
		   {"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 11}};
	struct dec d;
	size_t i;
	auto_free char *text = NULL;

	(void)state;
	for (i = 0; i < 3; i++) {
		d = dec_start(odd[i].bytes, odd[i].len);
		assert_true(dec_var(&d) == 0);
		assert_true(d.bad);
	}
	d = dec_start("\x03"
		      "a\0b",
		      4);
	text = dec_text(&d);
	assert_true(d.bad);
	assert_string_equal(text, "");
}

static void what_a_terminal_obeys_is_escaped(void **state)
{
	static const struct {
		const char *raw, *shown;
	} cases[] = {{"plain \xc3\xa4", "plain \xc3\xa4"},
		     {"\x1b[2J", "\\x1b[2J"},
		     {"a\nb\tc\r", "a\\nb\\tc\\r"},
		     {"\x7f", "\\x7f"},
		     {"\xe2\x80\xae", "<U+202E>"},
		     {"\xe2\x80\x8b", "<U+200B>"},
		     {"\xc2\x9b", "<U+009B>"},
		     {"\xff\xfe", "\\xff\\xfe"},
		     {"\xc0\xaf", "\\xc0\\xaf"},
		     {"\xed\xa0\x80", "\\xed\\xa0\\x80"},
		     {"\xe2\x82", "\\xe2\\x82"}};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		AUTO(buf) struct buf b = {0};

		text_escape(&b, cases[i].raw, strlen(cases[i].raw), false);
		assert_string_equal(buf_text(&b), cases[i].shown);
	}
}

/* As many as Unicode 14 has of Default_Ignorable_Code_Point, the separators of
 * lines, annotations and blank glyphs, and C1. */
static void all_ignorable_characters_are_invisible(void **state)
{
	size_t found = 0;
	uint32_t c;

	(void)state;
	for (c = 0; c <= 0x10ffff; c++)
		found += text_is_invisible(c);
	assert_int_equal(found, 4174 + 2 + 3 + 5 + 32);
}

static void letters_that_pass_for_others_are_escaped_in_their_word(void **state)
{
	static const struct {
		const char *raw, *shown;
	} cases[] = {
		/* One word of two alphabets. */
		{"us\u0435r", "us<U+0435>r"},
		{"\u0410dmin", "<U+0410>dmin"},
		{"passw\u03bfrd = 1", "passw<U+03BF>rd = 1"},
		{"a\uff42c", "a<U+FF42>c"},
		{"ev\U0001d41a"
		 "l(x)",
		 "ev<U+1D41A>l(x)"},
		{"x.s\u0441ript.y", "x.s<U+0441>ript.y"},
		{"env\u01c3=1", "env<U+01C3>=1"},
		{"\u13a0ate", "<U+13A0>ate"},
		{"s\u0585rt", "s<U+0585>rt"},
		{"user\u0435_\u0438\u043c\u044f",
		 "user<U+0435>_\u0438\u043c\u044f"},
		/* The letters of a host or path pass for Latin ones. */
		{"https://\u0430\u0440\u0440\u04cf\u0435.com/",
		 "https://<U+0430><U+0440><U+0440><U+04CF><U+0435>.com/"},
		{"import lib.\u043e\u0455", "import lib.<U+043E><U+0455>"},
		/* A language reads them as ASCII. */
		{"\uff45\uff56\uff41\uff4c()",
		 "<U+FF45><U+FF56><U+FF41><U+FF4C>()"},
		{"\U0001d41e\U0001d42f()", "<U+1D41E><U+1D42F>()"},
		/* A text of another alphabet, beside Latin words. */
		{"\u0430 user", NULL},
		{"Git\u2014\u044d\u0442\u043e \u0441 API", NULL},
		{"\u0441\u0430\u0445\u0430\u0440 \u0432 JSON", NULL},
		{"API-\u0441\u0435\u0440\u0432\u0435\u0440", NULL},
		{"\u0444\u0430\u0439\u043b.txt", NULL},
		{"\u03b1\u03c1\u03c7\u03b5\u03af\u03bf.txt", NULL},
		{"\u03c3_x = \u03bb * \u0394t", NULL},
		{"\u211d^n \U0001d49c x", NULL},
		{"\uff21\uff30\uff29\u3092\u4f7f\u3046", NULL},
		{"na\u00efve caf\u00e9 \u0131\u015f\u0131k", NULL},
		{"5\u00b5m \u00d7 3", NULL},
		{"\u05e9\u05dc\u05d5\u05dd abc", NULL},
		{"abc\u65e5\u672c", NULL},
		{"\u0540\u0561\u0575\u0565\u0580\u0565\u0576.txt", NULL},
		{"\u049b\u0430\u0437\u0430\u049b.txt", NULL},
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const char *raw = cases[i].raw;
		AUTO(buf) struct buf b = {0}, parts = {0};
		size_t len = strlen(raw), at, n;
		uint32_t c;

		text_escape(&b, raw, len, false);
		assert_string_equal(buf_text(&b), cases[i].shown ?: raw);
		assert_int_equal(text_has_lookalikes(raw, len),
				 cases[i].shown != NULL);
		/* A part of a word is judged with all of it. */
		for (at = 0; at < len; at += n) {
			n = text_decode(raw + at, len - at, &c);
			text_escape_part(&parts, raw, len, at, n, false);
		}
		assert_string_equal(buf_text(&parts), buf_text(&b));
	}
}

/* The letters around a look-alike are read for each word, not for each letter.
 */
static void a_long_word_is_judged_in_time(void **state)
{
	AUTO(buf) struct buf raw = {0}, b = {0};
	size_t i;

	(void)state;
	for (i = 0; i < 200000; i++)
		buf_add_text(&raw, i % 2 ? "\u0430" : "a.");
	text_escape(&b, raw.data, raw.len, false);
	assert_true(b.len >= raw.len);
}

/* All single and double bytes: never a control character in the output. */
static void no_two_bytes_make_a_control_character(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 0; i < 65536; i++) {
		unsigned char raw[2] = {(unsigned char)(i >> 8),
					(unsigned char)i};
		AUTO(buf) struct buf b = {0};
		size_t k;

		text_escape(&b, raw, 2, false);
		for (k = 0; k < b.len; k++)
			assert_true(b.data[k] >= 0x20 && b.data[k] != 0x7f);
		assert_true(text_is_utf8(b.data, b.len));
	}
}

static void a_long_name_is_cut_in_the_middle(void **state)
{
	char name[2001];
	const char *quoted;

	(void)state;
	memset(name, '\x01', 2000);
	name[2000] = '\0';
	quoted = text_quote(name);
	assert_true(strlen(quoted) < 2048);
	assert_int_equal(quoted[0], '\'');
	assert_int_equal(quoted[strlen(quoted) - 1], '\'');
	assert_non_null(strstr(quoted, "..."));
}

static void a_width_is_what_a_terminal_gives(void **state)
{
	(void)state;
	assert_int_equal(text_width(""), 0);
	assert_int_equal(text_width("abc"), 3);
	assert_int_equal(text_width("\xe6\xbc\xa2\xe5\xad\x97"), 4);
	assert_int_equal(text_width("\xf0\x9f\x98\x80!"), 3);
	/* An accent over its letter; bytes that are no character. */
	assert_int_equal(text_width("e\xcc\x81x"), 2);
	assert_int_equal(text_width("\xe6\xbc"), 2);
}

static void a_cut_parts_no_character(void **state)
{
	(void)state;
	assert_int_equal(text_fit("abc", 2), 2);
	assert_int_equal(text_fit("abc", 9), 3);
	/* The second character takes two columns, one column is left. */
	assert_int_equal(text_fit("\xe6\xbc\xa2\xe5\xad\x97", 3), 3);
	assert_int_equal(text_fit("e\xcc\x81x", 1), 3);
	assert_int_equal(text_fit("\xe6\xbc\xa2", 1), 0);
}

static const char *wrapped(const char *text, size_t at, size_t indent,
			   size_t width, size_t column)
{
	static struct buf b;

	buf_clear(&b);
	assert_int_equal(output_wrap(&b, text, at, indent, width), column);
	return buf_text(&b);
}

static void test_wrap(void **state)
{
	(void)state;
	assert_string_equal(wrapped("all in one", 0, 2, 10, 10), "all in one");
	assert_string_equal(wrapped("all in one", 0, 2, 0, 10), "all in one");
	assert_string_equal(wrapped("all in one", 0, 2, 9, 5), "all in\n  one");
	assert_string_equal(wrapped("all in one", 8, 2, 11, 8),
			    "all\n  in one");
	/* The text does not fit behind the present column. */
	assert_string_equal(wrapped("all in one", 9, 2, 10, 5),
			    "\n  all in\n  one");
	/* The user can copy a path as one word. */
	assert_string_equal(wrapped("abcdefgh i", 0, 2, 6, 3), "abcdefgh\n  i");
	assert_string_equal(wrapped("\xe6\xbc\xa2 \xe5\xad\x97", 0, 0, 4, 2),
			    "\xe6\xbc\xa2\n\xe5\xad\x97");
	/* Without any space: nothing is lost, and the function ends. */
	assert_string_equal(wrapped("\xe6\xbc\xa2 \xe5", 0, 0, 1, 1),
			    "\xe6\xbc\xa2\n\xe5");
	(void)wrapped("one", 0, 9, 5, 3);
}

static void sizes_and_counts_for_people(void **state)
{
	(void)state;
	assert_string_equal(text_size(0), "0 B");
	assert_string_equal(text_size(999), "999 B");
	assert_string_equal(text_size(1400), "1.4 KB");
	assert_string_equal(text_size(999999), "1.0 MB");
	assert_string_equal(text_size(UINT64_MAX), "18 EB");
	assert_string_equal(text_count(1, "file"), "1 file");
	assert_string_equal(text_count(0, "file"), "0 files");
	assert_string_equal(text_count(1, "entry"), "1 entry");
	assert_string_equal(text_count(3, "entry"), "3 entries");
	assert_string_equal(text_count(2, "key"), "2 keys");
}

/* Each word as sh(1) reads it. */
static void a_shell_reads_a_quoted_word_as_it_is(void **state)
{
	static const char *const words[] = {
		"plain.c",  "",	    "a b",	"it's",	     "$HOME",
		"`id`",	    "*",    "-x",	"a\nb",	     "\033[31m",
		"\tq'\"\\", "%s\r", "\xff\xfe", "\u202eabc", "~user",
		"a;b&c|d",  "#",    "\303\251", "\n\n-x",    "!x",
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(words) / sizeof(*words); i++) {
		AUTO(buf) struct buf command = {0};
		char got[64] = "";
		FILE *shell;
		size_t len;

		buf_printf(&command, "printf %%s %s", text_shell(words[i]));
		assert_false(strchr(buf_text(&command), '\033'));
		shell = popen(buf_text(&command), "r");
		assert_non_null(shell);
		len = fread(got, 1, sizeof(got) - 1, shell);
		assert_int_equal(pclose(shell), 0);
		got[len] = '\0';
		assert_string_equal(got, words[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_error_has_number_text_and_context),
		cmocka_unit_test(test_wrap),
		cmocka_unit_test(a_failure_is_never_a_success),
		cmocka_unit_test(a_long_error_is_cut_and_ends),
		cmocka_unit_test(a_buffer_grows_and_is_handed_on),
		cmocka_unit_test(names_that_lead_elsewhere_are_no_names),
		cmocka_unit_test(below_means_whole_parts),
		cmocka_unit_test(a_folder_comes_before_what_is_in_it),
		cmocka_unit_test(parents_and_names_of_paths),
		cmocka_unit_test(numbers_come_back),
		cmocka_unit_test(cut_bytes_are_bad_and_read_as_nothing),
		cmocka_unit_test(odd_encodings_are_bad),
		cmocka_unit_test(what_a_terminal_obeys_is_escaped),
		cmocka_unit_test(all_ignorable_characters_are_invisible),
		cmocka_unit_test(
			letters_that_pass_for_others_are_escaped_in_their_word),
		cmocka_unit_test(a_long_word_is_judged_in_time),
		cmocka_unit_test(no_two_bytes_make_a_control_character),
		cmocka_unit_test(a_long_name_is_cut_in_the_middle),
		cmocka_unit_test(a_width_is_what_a_terminal_gives),
		cmocka_unit_test(a_cut_parts_no_character),
		cmocka_unit_test(sizes_and_counts_for_people),
		cmocka_unit_test(a_shell_reads_a_quoted_word_as_it_is),
	};

	return cmocka_run_group_tests_name("base_text", tests, NULL, NULL);
}
