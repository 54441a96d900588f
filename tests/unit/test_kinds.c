/* Kinds of hunks: which are alike, and their order. */
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
#include "guard/review/kinds.h"

/* Adds the hunk of these lines, each with its sign; "\\" ends a line without a
 * line feed. */
static void add_hunk(struct kinds *k, size_t item, size_t part,
		     const char *text, bool marked)
{
	struct hunk h = {0};

	while (*text) {
		size_t len = strcspn(text, "\n");
		bool feed = text[len] == '\n' && text[len + 1] != '\\';

		*VEC_ADD(&h.lines) = (struct hunk_line){
			.kind = *text,
			.text = text + 1,
			.len = len - 1 + feed,
		};
		text += len + (text[len] == '\n');
		if (*text == '\\')
			text += 2;
	}
	kinds_add(k, item, part, &h, marked);
	VEC_FREE(&h.lines);
}

/* The number of kinds of these hunks. */
static size_t kinds_of(const char *one, const char *two)
{
	AUTO(kinds) struct kinds k = {0};

	add_hunk(&k, 0, 0, one, false);
	add_hunk(&k, 1, 0, two, false);
	kinds_finish(&k);
	return k.items.count;
}

static void values_on_both_sides_are_no_difference(void **state)
{
	(void)state;
	assert_int_equal(kinds_of("-var a = require(\"a\")\n"
				  "+import a from \"a\"\n",
				  "-var bc  =  require(\"x/y\");\n"
				  "+import bc from \"x/y\"\n"),
			 2); /* one has a semicolon */
	assert_int_equal(kinds_of("-var a = require(\"a\")\n"
				  "+import a from \"a\"\n",
				  " context\n-\tvar bc=require(\"x/y\")\n"
				  "+\timport bc from \"x/y\"\n"),
			 1);
	assert_int_equal(
		kinds_of("-f(1, x)\n+g(x, 1)\n", "-f(22, y)\n+g(y, 22)\n"), 1);
}

static void another_place_of_a_value_is_a_difference(void **state)
{
	(void)state;
	assert_int_equal(
		kinds_of("-f(1, x)\n+f(x, 1)\n", "-f(1, x)\n+f(x, x)\n"), 2);
	assert_int_equal(kinds_of("-f(a)\n+g(a)\n", "-f(\"a\")\n+g(\"a\")\n"),
			 2);
	assert_int_equal(kinds_of("-f(a)\n+g(a)\n", "-f(a)\n-h\n+g(a)\n"), 2);
}

static void an_added_or_removed_value_is_a_difference(void **state)
{
	(void)state;
	assert_int_equal(kinds_of("-get(old)\n+get(\"https://a\")\n",
				  "-get(old)\n+get(\"https://b\")\n"),
			 2);
	assert_int_equal(kinds_of("-a(30)\n+a()\n", "-a(31)\n+a()\n"), 2);
	assert_int_equal(kinds_of("+x = 1\n", "+x = 2\n"), 2);
}

static void a_missing_line_feed_is_a_difference(void **state)
{
	(void)state;
	assert_int_equal(kinds_of("-a\n+b\n", "-a\n+b\n\\\n"), 2);
}

static void whitespace_counts_where_nothing_else_changes(void **state)
{
	(void)state;
	assert_int_equal(kinds_of("-a\n+\ta\n", "-b\n+  b\n"), 2);
	assert_int_equal(kinds_of("-a\n+\ta\n", "-a\n+  a\n"), 2);
	assert_int_equal(kinds_of("-a\n+\ta\n", "-a\n+\ta\n"), 1);
}

static void text_cannot_imitate_a_slot(void **state)
{
	(void)state;
	assert_int_equal(kinds_of("-f(a)\n+g(a)\n", "-f(\1I1 )\n+g(\1I1 )\n"),
			 2);
	assert_int_equal(kinds_of("-\n+\"x\\\"\n", "-\n+\" x \\ \"\n"), 2);
}

static void bytes_behind_a_nul_count(void **state)
{
	static const char one[] = "a\0b\n", two[] = "a\0c\n";
	AUTO(kinds) struct kinds k = {0};
	struct hunk h = {0};
	size_t i;

	(void)state;
	for (i = 0; i < 2; i++) {
		h.lines.count = 0;
		*VEC_ADD(&h.lines) = (struct hunk_line){
			.kind = '+', .text = i ? two : one, .len = 4};
		kinds_add(&k, i, 0, &h, false);
	}
	kinds_finish(&k);
	assert_int_equal(k.items.count, 2);
	VEC_FREE(&h.lines);
}

#define CODEMOD 10000

static void add_codemod(struct kinds *k)
{
	size_t i;

	for (i = 0; i < CODEMOD; i++) {
		auto_free char *hunk =
			mem_printf("-var m%zu = require(\"lib/m%zu\");\n"
				   "+import m%zu from \"lib/m%zu\";\n",
				   i, i, i, i);
		auto_free char *other = mem_printf("-module.exports = m%zu\n"
						   "+export default m%zu\n",
						   i, i);

		if (i == 7777)
			add_hunk(k, i, 0,
				 "-var m7777 = require(\"lib/m7777\");\n"
				 "+import m7777 from \"lib/m7778\";\n",
				 false);
		else
			add_hunk(k, i, 0, hunk, false);
		add_hunk(k, i, 1, other, false);
	}
}

static void one_bad_value_in_ten_thousand_is_on_top(void **state)
{
	AUTO(kinds) struct kinds k = {0};
	const struct kind *bad;

	(void)state;
	add_codemod(&k);
	kinds_finish(&k);
	assert_int_equal(k.hunks, 2 * CODEMOD);
	assert_int_equal(k.items.count, 3);
	bad = &k.items.items[0];
	assert_int_equal(bad->places.count, 1);
	assert_int_equal(bad->places.items[0].item, 7777);
	assert_string_equal(bad->added, "import from \"lib/m7778\"");
	assert_string_equal(buf_text(&k.items.items[0].sample),
			    "-var m7777 = require(\"lib/m7777\");\n"
			    "+import m7777 from \"lib/m7778\";\n");
	assert_int_equal(k.items.items[1].places.count +
				 k.items.items[2].places.count,
			 2 * CODEMOD - 1);
	assert_int_equal(k.items.items[1].files, CODEMOD - 1);
}

static void a_marked_kind_is_before_rarer_ones(void **state)
{
	AUTO(kinds) struct kinds k = {0};

	(void)state;
	add_codemod(&k);
	add_hunk(&k, CODEMOD, 0, "-a\n+system(x)\n", true);
	add_hunk(&k, CODEMOD, 1, "-a\n+system(x)\n", false);
	kinds_finish(&k);
	assert_true(k.items.items[0].marked);
	assert_int_equal(k.items.items[0].places.count, 2);
	assert_int_equal(k.items.items[0].files, 1);
	assert_int_equal(k.items.items[1].places.count, 1);
}

static void a_family_has_its_rare_kinds_first(void **state)
{
	AUTO(kinds) struct kinds k = {0};
	const struct kind_family *f;
	size_t i;

	(void)state;
	for (i = 0; i < 100; i++)
		add_hunk(&k, i, 0,
			 i == 50       ? "-v: 1\n+v: 9\n"
			 : i % 10 == 0 ? "-v: 1\n+v: 3\n"
				       : "-v: 1\n+v: 2\n",
			 false);
	add_hunk(&k, 100, 0, "-one thing\n+another\n", false);
	kinds_finish(&k);
	assert_int_equal(k.families.count, 2);
	assert_int_equal(k.families.items[0].count, 1);
	f = &k.families.items[1];
	assert_int_equal(f->count, 3);
	assert_int_equal(f->hunks, 100);
	assert_int_equal(f->files, 100);
	assert_string_equal(k.items.items[f->first].added, "9");
	assert_string_equal(k.items.items[f->first + 1].added, "3");
	assert_string_equal(k.items.items[f->first + 2].added, "2");
	assert_string_equal(k.items.items[f->first + 2].removed, "1");
}

static void ids_find_their_kinds(void **state)
{
	AUTO(kinds) struct kinds k = {0}, again = {0};
	bool ambiguous;
	size_t i;

	(void)state;
	/* So many that six digits are not enough. */
	for (i = 0; i < 20000; i++) {
		char hunk[40];

		(void)snprintf(hunk, sizeof(hunk), "+x = %zu\n", i);
		add_hunk(&k, i, 0, hunk, false);
	}
	kinds_finish(&k);
	assert_in_range(k.id_len, 7, 16);
	for (i = 0; i < k.items.count; i++)
		assert_ptr_equal(
			kinds_find(&k, k.items.items[i].id, &ambiguous),
			&k.items.items[i]);
	assert_null(kinds_find(&k, "00000", &ambiguous));
	assert_null(kinds_find(&k, "zzzzzz", &ambiguous));
	assert_false(ambiguous);
	/* An id does not depend on the other kinds. */
	add_hunk(&again, 0, 0, "+x = 3\n", false);
	kinds_finish(&again);
	assert_int_equal(again.id_len, KINDS_ID_LEAST);
	assert_memory_equal(again.items.items[0].id, "8f452b", 6);
	assert_ptr_equal(kinds_find(&again, "8f452b", &ambiguous),
			 &again.items.items[0]);
}

static void a_huge_hunk_is_compared_as_it_is(void **state)
{
	AUTO(kinds) struct kinds k = {0};
	AUTO(buf) struct buf one = {0};
	size_t i;

	(void)state;
	for (i = 0; i < 3000; i++)
		buf_printf(&one, "-a%zu\n+b%zu a%zu\n", i, i, i);
	add_hunk(&k, 0, 0, buf_text(&one), false);
	add_hunk(&k, 1, 0, buf_text(&one), false);
	kinds_finish(&k);
	assert_int_equal(k.items.count, 1);
	assert_int_equal(k.items.items[0].places.count, 2);
}

static void no_hunk_is_no_kind(void **state)
{
	AUTO(kinds) struct kinds k = {0};
	bool ambiguous;

	(void)state;
	kinds_finish(&k);
	assert_int_equal(k.items.count, 0);
	assert_null(kinds_find(&k, "abcdef", &ambiguous));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_on_both_sides_are_no_difference),
		cmocka_unit_test(another_place_of_a_value_is_a_difference),
		cmocka_unit_test(an_added_or_removed_value_is_a_difference),
		cmocka_unit_test(a_missing_line_feed_is_a_difference),
		cmocka_unit_test(whitespace_counts_where_nothing_else_changes),
		cmocka_unit_test(text_cannot_imitate_a_slot),
		cmocka_unit_test(bytes_behind_a_nul_count),
		cmocka_unit_test(one_bad_value_in_ten_thousand_is_on_top),
		cmocka_unit_test(a_marked_kind_is_before_rarer_ones),
		cmocka_unit_test(a_family_has_its_rare_kinds_first),
		cmocka_unit_test(ids_find_their_kinds),
		cmocka_unit_test(a_huge_hunk_is_compared_as_it_is),
		cmocka_unit_test(no_hunk_is_no_kind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
