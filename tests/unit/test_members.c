/* guard/agent/members.c: members of JSON and TOML files that are no data. */
/* users: one */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/auto.h"
#include "guard/agent/members.h"

static void note_member(void *arg, char letter, const char *member)
{
	buf_printf(arg, "%c %s\n", letter, member);
}

/* The differences as text; "?" when the files cannot be compared. */
static const char *compare(const char *file, const char *data,
			   const char *before, const char *now)
{
	static struct buf got;
	const struct members m = {file, data, "/p"};
	AUTO(buf) struct buf a = {0}, b = {0};

	buf_clear(&got);
	if (before)
		buf_add_text(&a, before);
	if (now)
		buf_add_text(&b, now);
	if (!members_compare(&m, before ? &a : NULL, now ? &b : NULL,
			     note_member, &got)) {
		assert_int_equal(got.len, 0);
		return "?";
	}
	return buf_text(&got);
}

static void members_that_are_no_data_are_named(void **state)
{
	(void)state;
	assert_string_equal(compare("a.json", "n", "{\"n\":1}", "{\"n\":2}"),
			    "");
	assert_string_equal(compare("a.json", "n", "{\"n\":1}",
				    "{\"n\":1,\"m\":{\"x\":1}}"),
			    "a m\n");
	assert_string_equal(compare("a.json", "n", "{\"m\":1}", "{\"m\":[2]}"),
			    "m m\n");
	assert_string_equal(compare("a.json", "n", "{\"m\":1}", NULL), "d m\n");
	assert_string_equal(compare("a.json", "n", NULL, "{\"n\":1}"), "");
	assert_string_equal(compare("a.json", "", "{\"n\":1}", "{\"n\":2}"),
			    "m n\n");
}

static void an_empty_member_is_no_member(void **state)
{
	(void)state;
	assert_string_equal(
		compare("a.json", "", NULL, "{\"a\":{},\"b\":[],\"c\":null}"),
		"");
	assert_string_equal(compare("a.json", "", "{\"a\":[1]}", "{\"a\":[]}"),
			    "d a\n");
	assert_string_equal(compare("a.json", "", NULL, "{\"a\":false}"),
			    "a a\n");
}

static void patterns_match_members_of_members(void **state)
{
	static const char data[] = "p.*.cost,p.<project>.trust,p.*.ok=false";

	(void)state;
	assert_string_equal(
		compare("a.json", data, NULL,
			"{\"p\":{\"/p\":{\"cost\":1,\"trust\":true},"
			"\"/p/sub\":{\"trust\":true,\"ok\":false}}}"),
		"");
	assert_string_equal(compare("a.json", data, "{\"p\":{\"/q\":{}}}",
				    "{\"p\":{\"/q\":{\"trust\":true,"
				    "\"cost\":{\"x\":1},\"ok\":true}}}"),
			    "A p./q.trust\nA p./q.ok\n");
	/* A name that looks like a path of the pattern. */
	assert_string_equal(compare("a.json", data, NULL,
				    "{\"p\":{\"/q.cost\":{\"x\":1}}}"),
			    "A p./q.cost.x\n");
	assert_string_equal(compare("a.json", data, NULL, "{\"p\":\"x\"}"),
			    "A p\n");
	assert_string_equal(compare("a.json", data, NULL,
				    "{\"p\":{\"/pp\":{\"trust\":true}}}"),
			    "A p./pp.trust\n");
}

static void other_texts_are_not_compared(void **state)
{
	(void)state;
	assert_string_equal(compare("a.json", "n", "{\"n\":1}", "{"), "?");
	assert_string_equal(compare("a.json", "n", "[1]", "{\"n\":1}"), "m \n");
	assert_string_equal(
		compare("a.json", "n", NULL, "{\"n\":1,\"n\":{\"x\":1}}"), "?");
	assert_string_equal(compare("a.yaml", "n", "n: 1", "n: 2"), "?");
	assert_string_equal(
		compare("a.json", "n", "// x\n{\"n\":1}", "\t// y\n{\"n\":2}"),
		"");
}

static void lines_of_toml_that_are_no_data_are_named(void **state)
{
	static const char data[] = "t.a,p.<project>.trust,n.*";

	(void)state;
	assert_string_equal(compare("a.toml", data, "x = 1\n",
				    "x = 1\n\n[t]\na = true\n"
				    "[n]\n\"b c\" = \"d\"\n[p.\"/p\"]\n"
				    "trust = \"yes\"\n"),
			    "");
	assert_string_equal(
		compare("a.toml", data, "x = 1\n", "x = 1\n[u]\na = true\n"),
		"M \n");
	assert_string_equal(compare("a.toml", data, "x = 1\n",
				    "x = 1\n[p.\"/q\"]\ntrust = \"yes\"\n"),
			    "M \n");
	/* The line moves into another table. */
	assert_string_equal(
		compare("a.toml", data, "x = 1\n[s]\n", "[s]\nx = 1\n"),
		"M \n");
	/* Values that go on in the next line, and other forms. */
	assert_string_equal(compare("a.toml", data, "[t]\na = 1\n",
				    "[t]\na = \"\"\"\nx\n\"\"\"\n"),
			    "A \n");
	assert_string_equal(compare("a.toml", data, "", "[t]\na = [1]\n"),
			    "A \n");
	assert_string_equal(compare("a.toml", data, "", "[[t]]\na = 1\n"),
			    "A \n");
	assert_string_equal(compare("a.toml", data, "", "[t]\na = '''\n"),
			    "A \n");
	assert_string_equal(compare("a.toml", data, "x = 1\n", NULL), "D \n");
}

/* The text after members_undo(); "?" when nothing goes back. */
static const char *undo(const char *data, const char *before, const char *after,
			const char *now)
{
	static struct buf got;
	const struct members m = {"a.json", data, "/p"};
	AUTO(buf) struct buf a = {0}, b = {0}, c = {0};
	char *at;

	buf_clear(&got);
	if (before)
		buf_add_text(&a, before);
	buf_add_text(&b, after);
	buf_add_text(&c, now);
	if (!members_undo(&m, before ? &a : NULL, &b, &c, &got)) {
		assert_int_equal(got.len, 0);
		return "?";
	}
	/* Without the indentation. */
	buf_add_char(&got, '\0');
	for (at = (char *)got.data; (at = strpbrk(at, " \n"));)
		memmove(at, at + 1, strlen(at));
	return (const char *)got.data;
}

static void changed_members_go_back(void **state)
{
	(void)state;
	assert_string_equal(undo("n", "{\"n\":1,\"m\":1}",
				 "{\"n\":2,\"m\":2,\"a\":[1]}",
				 "{\"n\":3,\"m\":2,\"a\":[1],\"b\":1}"),
			    "{\"n\":3,\"m\":1,\"b\":1}");
	assert_string_equal(
		undo("n", NULL, "{\"n\":2,\"m\":2}", "{\"n\":3,\"m\":2}"),
		"{\"n\":3}");
	/* A deleted member, in an object that is gone, too. */
	assert_string_equal(
		undo("p.*.n", "{\"p\":{\"x\":{\"m\":1}}}", "{}", "{\"n\":3}"),
		"{\"n\":3,\"p\":{\"x\":{\"m\":1}}}");
}

static void members_that_changed_since_stay(void **state)
{
	(void)state;
	assert_string_equal(undo("n", "{\"m\":1}", "{\"m\":2}", "{\"m\":3}"),
			    "?");
	assert_string_equal(undo("n", "{\"n\":1}", "{\"n\":2}", "{\"n\":2}"),
			    "?");
	assert_string_equal(undo("n", "{\"m\":1}", "{\"m\":2}", "{"), "?");
	assert_string_equal(undo("n", "{", "{\"m\":2}", "{\"m\":2}"), "?");
}

static void note_text(void *arg, const char *text)
{
	buf_printf(arg, "%s\n", text);
}

static void strings_outside_of_data_may_name_commands(void **state)
{
	const struct members json = {"a.json", "n", "/p"};
	const struct members other = {"a.sh", "", "/p"};
	AUTO(buf) struct buf file = {0}, got = {0};

	(void)state;
	buf_add_text(&file, "{\"n\":[\"no\"],\"m\":[{\"x\":\"\\u007e/b\"}]}");
	members_texts(&json, &file, note_text, &got);
	assert_string_equal(buf_text(&got), "~/b\n");
	buf_clear(&got);
	members_texts(&other, &file, note_text, &got);
	assert_non_null(strstr(buf_text(&got), "\\u007e/b"));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(members_that_are_no_data_are_named),
		cmocka_unit_test(an_empty_member_is_no_member),
		cmocka_unit_test(patterns_match_members_of_members),
		cmocka_unit_test(other_texts_are_not_compared),
		cmocka_unit_test(lines_of_toml_that_are_no_data_are_named),
		cmocka_unit_test(changed_members_go_back),
		cmocka_unit_test(members_that_changed_since_stay),
		cmocka_unit_test(strings_outside_of_data_may_name_commands),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
