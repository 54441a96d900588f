/*
 * Names of refs in a repository of a run.
 */
/* users: one */
#include "restore/git/gittips.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka has a fail() too. */
#undef fail
#include <cmocka.h>

static void wrong(const char *what, const char *name)
{
	print_error("%s: %s\n", what, name);
	assert_true(false);
}

static void refs_have_the_names_that_git_allows(void **state)
{
	static const char *const good[] = {
		"refs/heads/main",    "refs/tags/v1.0",	   "refs/heads/a/b/c",
		"refs/stash",	      "refs/heads/\u00e4", "refs/heads/@",
		"refs/heads/x.locks", "refs/heads/{a}",
	};
	static const char *const worse[] = {
		"",
		"HEAD",
		"heads/main",
		"refs",
		"refs/",
		"refs//a",
		"refs/heads/",
		"refs/../../x",
		"refs/heads/..",
		"refs/heads/.a",
		"refs/heads/a.lock",
		"refs/a.lock/b",
		"refs/heads/a..b",
		"refs/heads/a b",
		"refs/heads/a\nb",
		"refs/heads/a\x1b[31m",
		"refs/heads/a\x7f",
		"refs/heads/a~1",
		"refs/heads/a^",
		"refs/heads/a:b",
		"refs/heads/a*",
		"refs/heads/a?",
		"refs/heads/a[",
		"refs/heads/a\\b",
		"refs/heads/a@{1}",
		"refs/heads/a.",
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(good) / sizeof(*good); i++)
		if (!gittips_ref_ok(good[i]))
			wrong("refused", good[i]);
	for (i = 0; i < sizeof(worse) / sizeof(*worse); i++)
		if (gittips_ref_ok(worse[i]))
			wrong("accepted", worse[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refs_have_the_names_that_git_allows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
