/* guard/agent/profile.c: the lines of profiles, and the lines that a project
 * may have. */
/* users: one */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "guard/agent/profile.h"

static int parse(struct profile *p, bool project, const char *text,
		 struct err *err)
{
	return profile_parse(p, "F", project, text, strlen(text), err);
}

static void refused(bool project, const char *text, const char *where,
		    const char *why)
{
	AUTO(profile) struct profile p = {0};
	struct err err = {0};

	assert_int_equal(parse(&p, project, text, &err), -EINVAL);
	assert_non_null(strstr(err.text, where));
	assert_non_null(strstr(err.text, why));
}

static void lines_keep_their_order_and_place(void **state)
{
	AUTO(profile) struct profile p = {0};
	const struct profile_item *item;
	struct err err;

	(void)state;
	assert_int_equal(parse(&p, false,
			       "# one\n\n  home   ~/.a/./b//c \r\nnested\n"
			       "env A=b c=d\nenv B\ncode ~/.a/b/c/*.md#k,l\n"
			       "ro /etc/a b\nnoise .x*",
			       &err),
			 0);
	assert_int_equal(p.count, 7);
	assert_string_equal(p.items[0].value, ".a/b/c");
	assert_true(p.items[0].in_home);
	assert_string_equal(p.items[0].where, "F:3");
	item = profile_next(&p, PROFILE_ENV, NULL);
	assert_string_equal(item->value, "A=b c=d");
	item = profile_next(&p, PROFILE_ENV, item);
	assert_string_equal(item->value, "B");
	assert_null(profile_next(&p, PROFILE_ENV, item));
	assert_string_equal(profile_next(&p, PROFILE_CODE, NULL)->value,
			    ".a/b/c/*.md#k,l");
	assert_string_equal(profile_next(&p, PROFILE_RO, NULL)->value,
			    "/etc/a b");
	assert_string_equal(profile_next(&p, PROFILE_NOISE, NULL)->where,
			    "F:9");
	assert_null(profile_next(&p, PROFILE_HIDE, NULL));
}

static void a_wrong_line_is_named(void **state)
{
	(void)state;
	refused(false, "\nhome ~/x\nhomes ~/y\n", "'F':3:", "'homes'");
	refused(false, "home x\n", "'F':1:", "must begin with / or ~/");
	refused(false, "home /x\n", "'F':1:", "must begin with ~/");
	refused(false, "home ~/../x\n", "'F':1:", "..");
	refused(false, "home ~\n", "'F':1:", "too general");
	refused(false, "hide /\n", "'F':1:", "too general");
	refused(false, "home\n", "'F':1:", "missing");
	refused(false, "home ~/a*\n", "'F':1:", "wildcards");
	refused(false, "nested yes\n", "'F':1:", "expected FILE#KEY=VALUE");
	refused(false, "tmp-size 1x\n", "'F':1:", "a size like");
	refused(false, "write ~/.a/b\n", "'F':1:", "the text is missing");
	refused(false, "write /a b\n", "'F':1:", "must begin with ~/");
	refused(false, "env 1A\n", "'F':1:", "letters");
	refused(false, "env =x\n", "'F':1:", "letters");
	refused(false, "env A-B=x\n", "'F':1:", "letters");
}

/* Such a path would hide nothing, and such a value would be another one. */
static void a_comment_behind_a_line_is_refused(void **state)
{
	static const char *const lines[] = {
		"hide ~/d # x", "hide /d\t#x",	    "hide # x",
		"ro /d # x",	"env A=b # x",	    "noise *.o # x",
		"nested # a=b", "data ~/a#b,c # x", "login ~/.a/b # x",
	};
	AUTO(profile) struct profile p = {0};
	struct err err;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		refused(false, lines[i], "'F':1:", "a line of its own");
	refused(true, "ro a\nhide d # x", "'F':2:", "a line of its own");
	/* The text of a file may be one. */
	assert_int_equal(parse(&p, false, "write ~/.a/b # x\nhide ~/c#d", &err),
			 0);
	assert_string_equal(p.items[0].text, "# x");
	assert_string_equal(p.items[1].value, "c#d");
}

static void a_project_may_only_forbid(void **state)
{
	static const char *const loosening[] = {
		"home ~/.x",	"seed ~/.x",	"code ~/.x",   "cache ~/.x",
		"data ~/.x",	"initial ~/.x", "env A=b",     "env A",
		"write ~/.x y", "nested",	"tmp-size 1G", "noise *",
	};
	AUTO(profile) struct profile p = {0};
	auto_free char *path = NULL;
	struct err err;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(loosening) / sizeof(*loosening); i++) {
		auto_free char *text = mem_printf("hide a\n%s\n", loosening[i]);

		refused(true, text, "'F':2:", "would allow more");
	}
	assert_int_equal(
		parse(&p, true, "hide a/b\nro ./c\nhide ~/d\nhide /e", &err),
		0);
	path = profile_path(&p.items[0], "/h", "/p");
	assert_string_equal(path, "/p/a/b");
	free(path);
	path = profile_path(&p.items[2], "/h", "/p");
	assert_string_equal(path, "/h/d");
	free(path);
	path = profile_path(&p.items[3], "/h", "/p");
	assert_string_equal(path, "/e");
	refused(true, "hide ../a\n", "'F':1:", "..");
}

static void a_glob_matches_all_below_it(void **state)
{
	AUTO(profile) struct profile p = {0};
	struct err err;

	(void)state;
	assert_int_equal(parse(&p, false,
			       "data ~/.a/x\ndata ~/.a/*.db\ndata ~/.a/*/c\n"
			       "data ~/.a/f#k",
			       &err),
			 0);
	assert_true(profile_match(&p, PROFILE_DATA, ".a/x"));
	assert_true(profile_match(&p, PROFILE_DATA, ".a/x/y/z"));
	assert_true(profile_match(&p, PROFILE_DATA, ".a/y.db"));
	assert_true(profile_match(&p, PROFILE_DATA, ".a/b/c/d"));
	assert_false(profile_match(&p, PROFILE_DATA, ".a/xy"));
	assert_false(profile_match(&p, PROFILE_DATA, ".a/b/y.db"));
	assert_false(profile_match(&p, PROFILE_DATA, ".a/b/b/c"));
	assert_false(profile_match(&p, PROFILE_DATA, ".a/f"));
	assert_false(profile_match(&p, PROFILE_DATA, ".a"));
	assert_false(profile_match(&p, PROFILE_CODE, ".a/x"));
}

static void what_is_no_text_is_refused(void **state)
{
	AUTO(profile) struct profile p = {0};
	AUTO(buf) struct buf big = {0};
	struct err err = {0};
	size_t i;

	(void)state;
	assert_int_equal(
		profile_parse(&p, "F", false, "hide /a\0b\n", 10, &err),
		-EINVAL);
	for (i = 0; i < 3000; i++)
		buf_add_text(&big, "nested\n");
	assert_int_equal(profile_parse(&p, "F", false, big.data, big.len, &err),
			 -EINVAL);
	assert_non_null(
		strstr(err.text, "'F':2001: the line or the file is too long"));
	while (big.len <= PROFILE_BYTES_MAX)
		buf_add_text(&big, "#\n");
	assert_int_equal(profile_parse(&p, "F", false, big.data, big.len, &err),
			 -EINVAL);
}

static void every_shipped_profile_is_whole(void **state)
{
	const char *name;
	size_t i;

	(void)state;
	for (i = 0; (name = profile_shipped_name(i)); i++) {
		AUTO(profile) struct profile p = {0};
		const char *text = profile_shipped(name);
		struct err err;

		assert_true(profile_name_ok(name));
		assert_int_equal(profile_parse(&p, name, false, text,
					       strlen(text), &err),
				 0);
		assert_true(p.count > 0);
	}
	assert_true(i > 5);
	assert_null(profile_shipped("nobody"));
}

static void a_name_is_no_path(void **state)
{
	(void)state;
	assert_true(profile_name_ok("claude"));
	assert_true(profile_name_ok("my-agent_2.0"));
	assert_false(profile_name_ok(""));
	assert_false(profile_name_ok(".x"));
	assert_false(profile_name_ok("-x"));
	assert_false(profile_name_ok("a/b"));
	assert_false(profile_name_ok("a b"));
	assert_false(profile_name_ok(
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
		"aaaaaaaaaaaaaaaa"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_keep_their_order_and_place),
		cmocka_unit_test(a_wrong_line_is_named),
		cmocka_unit_test(a_comment_behind_a_line_is_refused),
		cmocka_unit_test(a_project_may_only_forbid),
		cmocka_unit_test(a_glob_matches_all_below_it),
		cmocka_unit_test(what_is_no_text_is_refused),
		cmocka_unit_test(every_shipped_profile_is_whole),
		cmocka_unit_test(a_name_is_no_path),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
