/* guard/history/pathglob.c: wildcards in paths. */
/* users: one */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/auto.h"
#include "guard/history/pathglob.h"

static void a_star_stays_within_one_name(void **state)
{
	(void)state;
	assert_true(pathglob_match("/p/*.c", "/p/a.c"));
	assert_true(pathglob_match("/p/*", "/p/a"));
	assert_false(pathglob_match("/p/*.c", "/p/s/a.c"));
	assert_false(pathglob_match("/p/*.c", "/p/a.h"));
	assert_false(pathglob_match("/p/*", "/p"));
	assert_false(pathglob_match("/p/*", "/p/a/b"));
	assert_true(pathglob_match("/p/*/b", "/p/a/b"));
	assert_false(pathglob_match("/p/*/b", "/p/b"));
	assert_true(pathglob_match("/p/[ab]?", "/p/bx"));
	assert_false(pathglob_match("/p/[ab]?", "/p/b"));
}

static void two_stars_are_any_folders(void **state)
{
	(void)state;
	assert_true(pathglob_match("/p/**/x", "/p/x"));
	assert_true(pathglob_match("/p/**/x", "/p/a/b/x"));
	assert_false(pathglob_match("/p/**/x", "/p/a/b/y"));
	assert_true(pathglob_match("/p/**/a/**/x", "/p/a/a/b/x"));
	assert_false(pathglob_match("/p/**/a/x", "/p/a/b/x"));
	assert_true(pathglob_match("/p/**/a/x", "/p/a/b/a/x"));
	assert_true(pathglob_match("/p/**", "/p/a/b"));
	assert_false(pathglob_match("/p/**", "/p"));
	assert_false(pathglob_match("/p/**", "/q/a"));
	assert_true(pathglob_match("/**/*.c", "/p/s/a.c"));
	/* Within a name they are one. */
	assert_false(pathglob_match("/p/a**", "/p/a/b"));
}

static void hidden_names_are_not_met_by_chance(void **state)
{
	(void)state;
	assert_false(pathglob_match("/p/*", "/p/.env"));
	assert_false(pathglob_match("/p/**", "/p/.env"));
	assert_false(pathglob_match("/p/**/x", "/p/.cache/x"));
	assert_true(pathglob_match("/p/.*", "/p/.env"));
	assert_false(pathglob_match("/p/.*", "/p/.git"));
	assert_false(pathglob_match("/p/.gi?", "/p/.git"));
	assert_true(pathglob_match("/p/.git/*", "/p/.git/config"));
	assert_true(pathglob_match("/p/*/.git", "/p/v/.git"));
}

static void expect_fixed(const char *pattern, const char *fixed)
{
	auto_free char *is = pathglob_fixed(pattern);

	assert_string_equal(is, fixed);
}

static void knows_what_is_above_the_first_wildcard(void **state)
{
	(void)state;
	assert_true(pathglob_has_wildcards("/p/*"));
	assert_true(pathglob_has_wildcards("/p/[a]"));
	assert_false(pathglob_has_wildcards("/p/a"));
	expect_fixed("/p/s/*.c", "/p/s");
	expect_fixed("/p/s*/t/*.c", "/p");
	expect_fixed("/*.c", "/");
	expect_fixed("/p/**/x", "/p");
	expect_fixed("/p//?", "/p");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_star_stays_within_one_name),
		cmocka_unit_test(two_stars_are_any_folders),
		cmocka_unit_test(hidden_names_are_not_met_by_chance),
		cmocka_unit_test(knows_what_is_above_the_first_wildcard),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
