/*
 * Names and objects of a repository that a stranger made.
 */
/* users: one */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "base/auto.h"
#include "restore/git/gitname.h"
#include "restore/git/gitparse.h"

#define ID "0123456789abcdef0123456789abcdef01234567"
#define WHO "A U Thor <a@example.org> 1700000000 +0100"

static void wrong(const char *what, const char *name)
{
	print_error("%s: %s\n", what, name);
	assert_true(false);
}

static bool bad(const char *name)
{
	return gitname_fault(name, strlen(name)) != NULL;
}

static void names_that_mean_a_folder_are_refused(void **state)
{
	(void)state;
	assert_true(bad(""));
	assert_true(bad("."));
	assert_true(bad(".."));
	assert_true(bad("a/b"));
	assert_true(bad("../a/b"));
	assert_true(bad("/"));
}

static void every_spelling_of_git_is_refused(void **state)
{
	static const char *const names[] = {
		".git",
		".GIT",
		".Git",
		".g\u200cit",
		"\ufeff.git",
		".git\u200d",
		".g\u202eI\u206ft",
		"git~1",
		"GIT~1",
		".git.",
		".git ",
		".git. . ",
		"git~1 .",
		".git::$INDEX_ALLOCATION",
		".git:x",
		"a\\.git",
		".git\\hooks",
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!bad(names[i]))
			wrong("accepted", names[i]);
}

static void ordinary_names_are_accepted(void **state)
{
	static const char *const names[] = {
		"a",
		"...",
		".gitignore",
		".gitattributes",
		".github",
		"git",
		"git~2",
		".gi",
		".gitx",
		"a\\b",
		"x.git",
		"\xff\xfe",
		"\u00e4\u4e2d",
		".git\xff",
		"..a",
		" ",
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (bad(names[i]))
			wrong("refused", names[i]);
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
		if (!gitname_ref_ok(good[i]))
			wrong("refused", good[i]);
	for (i = 0; i < sizeof(worse) / sizeof(*worse); i++)
		if (gitname_ref_ok(worse[i]))
			wrong("accepted", worse[i]);
}

struct seen {
	size_t count;
	enum gittype types[8];
};

static int note(void *arg, enum gittype type, const struct gitid *id,
		struct err *err)
{
	struct seen *seen = arg;

	(void)id;
	(void)err;
	assert_true(seen->count < 8);
	seen->types[seen->count++] = type;
	return 0;
}

static int parse(enum gittype type, const char *text, struct seen *seen)
{
	struct err err;

	*seen = (struct seen){0};
	return gitparse_object(type, text, strlen(text), note, seen, &err);
}

static void a_commit_gives_its_tree_and_parents(void **state)
{
	struct seen seen;

	(void)state;
	assert_int_equal(parse(GITTYPE_COMMIT,
			       "tree " ID "\nparent " ID "\nparent " ID
			       "\nauthor " WHO "\ncommitter " WHO
			       "\nencoding x\n\nsubject\n",
			       &seen),
			 0);
	assert_int_equal(seen.count, 3);
	assert_int_equal(seen.types[0], GITTYPE_TREE);
	assert_int_equal(seen.types[2], GITTYPE_COMMIT);
}

static void a_commit_that_git_would_not_make_is_refused(void **state)
{
	static const char *const worse[] = {
		"",
		"tree " ID "\n",
		"tree " ID "\nauthor " WHO "\n\nx",
		"parent " ID "\nauthor " WHO "\ncommitter " WHO "\n\nx",
		"tree " ID "x\nauthor " WHO "\ncommitter " WHO "\n\nx",
		"tree 0123\nauthor " WHO "\ncommitter " WHO "\n\nx",
		"tree " ID "\nauthor " WHO "\ncommitter nobody\n\nx",
		"tree " ID "\nauthor a <b> 01 +0000\ncommitter " WHO "\n\nx",
		"tree " ID "\nauthor a <b> 1 0000\ncommitter " WHO "\n\nx",
		"tree " ID "\nauthor <b> 1 +0000\ncommitter " WHO "\n\nx",
		"tree " ID "\nauthor a <b<c> 1 +0000\ncommitter " WHO "\n\nx",
	};
	struct seen seen;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(worse) / sizeof(*worse); i++)
		if (parse(GITTYPE_COMMIT, worse[i], &seen) != -EBADMSG)
			wrong("accepted", worse[i]);
}

static void a_tag_gives_what_it_is_for(void **state)
{
	struct seen seen;

	(void)state;
	assert_int_equal(parse(GITTYPE_TAG,
			       "object " ID "\ntype tree\ntag v1\ntagger " WHO
			       "\n\nx\n",
			       &seen),
			 0);
	assert_int_equal(seen.types[0], GITTYPE_TREE);
	assert_int_equal(parse(GITTYPE_TAG,
			       "object " ID "\ntype hook\ntag v1\ntagger " WHO
			       "\n\nx\n",
			       &seen),
			 -EBADMSG);
}

static int parse_tree(const char *const *items, struct seen *seen,
		      struct err *err)
{
	AUTO(buf) struct buf b = {0};

	*seen = (struct seen){0};
	for (; *items; items++) {
		buf_add(&b, *items, strlen(*items) + 1);
		buf_add(&b, "\1\2\3\4\5\6\7\1\2\3\4\5\6\7\1\2\3\4\5\6", 20);
	}
	return gitparse_object(GITTYPE_TREE, b.data, b.len, note, seen, err);
}

static void a_tree_gives_its_entries_but_no_submodule(void **state)
{
	static const char *const items[] = {"100644 a.b", "40000 a",
					    "100755 a0",  "120000 l",
					    "160000 sub", NULL};
	struct seen seen;
	struct err err;

	(void)state;
	assert_int_equal(parse_tree(items, &seen, &err), 0);
	assert_int_equal(seen.count, 4);
	assert_int_equal(seen.types[1], GITTYPE_TREE);
	assert_int_equal(seen.types[2], GITTYPE_BLOB);
}

static void a_tree_that_git_would_not_make_is_refused(void **state)
{
	static const char *const trees[][4] = {
		{"100644 .git"},
		{"40000 .GIT"},
		{"40000 .."},
		{"100644 a/b"},
		{"100644 "},
		{"100640 a"},
		{"20000 a"},
		{"100644"},
		{" a"},
		{"-1 a"},
		{"100644 b", "100644 a"},
		{"100644 a", "100644 a"},
		{"100644 a", "100644 a.b", "40000 a"},
		{"120000 .gitmodules"},
	};
	struct seen seen;
	struct err err;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(trees) / sizeof(*trees); i++)
		if (parse_tree(trees[i], &seen, &err) != -EBADMSG)
			wrong("accepted", trees[i][0]);
	assert_int_equal(gitparse_object(GITTYPE_TREE, "100644 a\0abc", 12,
					 note, &seen, &err),
			 -EBADMSG);
}

/* Whatever the bytes are: an answer, and no read beyond the end (the buffers
 * are exact, so that the address sanitizer sees one). */
static void damaged_objects_end_in_an_answer(void **state)
{
	static const char commit[] = "tree " ID "\nparent " ID "\nauthor " WHO
				     "\ncommitter " WHO "\n\nsubject\n";
	static const char tree[] = "100644 a\0AAAAAAAAAAAAAAAAAAAA"
				   "40000 b\0BBBBBBBBBBBBBBBBBBBB";
	static const struct {
		const char *data;
		size_t len;
		enum gittype type;
	} seeds[] = {
		{commit, sizeof(commit) - 1, GITTYPE_COMMIT},
		{commit, sizeof(commit) - 1, GITTYPE_TAG},
		{tree, sizeof(tree) - 1, GITTYPE_TREE},
	};
	unsigned int random = 12345, accepted = 0, i;

	(void)state;
	for (i = 0; i < 30000; i++) {
		size_t len = seeds[i % 3].len, n;
		auto_free char *copy = mem_dup(seeds[i % 3].data, len);
		struct seen seen = {0};
		struct err err;

		for (n = i % 4; n; n--) {
			random = random * 1103515245 + 12345;
			copy[(random >> 8) % len] = (char)(random >> 16);
		}
		if (i % 7 == 0)
			copy = mem_resize(copy, len = (random >> 4) % len, 1);
		accepted += gitparse_object(seeds[i % 3].type, copy, len, note,
					    &seen, &err) == 0;
	}
	assert_true(accepted > 100);
	assert_true(accepted < 20000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_that_mean_a_folder_are_refused),
		cmocka_unit_test(every_spelling_of_git_is_refused),
		cmocka_unit_test(ordinary_names_are_accepted),
		cmocka_unit_test(refs_have_the_names_that_git_allows),
		cmocka_unit_test(a_commit_gives_its_tree_and_parents),
		cmocka_unit_test(a_commit_that_git_would_not_make_is_refused),
		cmocka_unit_test(a_tag_gives_what_it_is_for),
		cmocka_unit_test(a_tree_gives_its_entries_but_no_submodule),
		cmocka_unit_test(a_tree_that_git_would_not_make_is_refused),
		cmocka_unit_test(damaged_objects_end_in_an_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
