/* users: one */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "guard/rules/twins.h"

/* What the directories have besides. */
static const char *const here[] = {"sub", "README.md", "na\u00efve", NULL};

static void list_here(void *arg, const char *dir, struct names *to)
{
	size_t i;

	(void)arg;
	for (i = 0; here[i] && !*dir; i++)
		names_add(to, here[i]);
}

static void twins_differ_by_case_or_form(void **state)
{
	static const struct {
		const char *path, *other;
	} cases[] = {
		{"Readme.md", "README.md"},
		{"NAI\u0308VE", "na\u00efve"},
		{"a/x", "X"},
		{"a/X", "x"},
		{"a/\u00c9", "e\u0301"},
		{"a/e\u0301", "\u00c9"},
		{"a/\u0434", "\u0414"},
		{"a/\u0414", "\u0434"},
		{"naive", NULL},
		{"b/x", NULL},
		{"a/e", NULL},
		{"a/sub", NULL},
		{"a/\xff", NULL},
		{"a/\xfe", NULL},
		{"a/ss", NULL},
		{"a/\u00df", NULL},
	};
	AUTO(twins) struct twins t = {0};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		twins_add(&t, cases[i].path);
	twins_find(&t, list_here, NULL);
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const char *other = twins_other(&t, cases[i].path);

		if (!other || !cases[i].other)
			assert_ptr_equal(other, cases[i].other);
		else
			assert_string_equal(other, cases[i].other);
	}
	assert_null(twins_other(&t, "sub"));
}

/* All have one form: comparing each with each would take minutes. */
static void many_twins_are_found_soon(void **state)
{
	AUTO(names) struct names paths = {0};
	AUTO(twins) struct twins t = {0};
	size_t i, k;

	(void)state;
	for (i = 0; i < 1u << 17; i++) {
		char name[18] = "abcdefghijklmnopq";

		for (k = 0; k < 17; k++)
			if (i >> k & 1)
				name[k] -= 'a' - 'A';
		names_add(&paths, name);
	}
	for (i = 0; i < paths.count; i++)
		twins_add(&t, paths.items[i]);
	twins_find(&t, list_here, NULL);
	for (i = 0; i < paths.count; i++)
		assert_non_null(twins_other(&t, paths.items[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(twins_differ_by_case_or_form),
		cmocka_unit_test(many_twins_are_found_soon),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
