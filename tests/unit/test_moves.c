/* users: one */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "guard/parse/parse_worker.h"
#include "restore/git/moves.h"

/* An artificial tree: paths with their texts, up to a path of NULL; a text of
 * NULL is a directory. */
struct made {
	const char *path, *text;
	mode_t mode; /* 0: a file, or a directory */
	bool over;
};

struct world {
	const struct made *deleted, *added;
	size_t keys, bytes; /* asked for */
};

static const char *text_of(const struct world *w, const struct moves_file *f)
{
	return (f->added ? w->added : w->deleted)[f->index].text;
}

static int key_of(void *arg, const struct moves_file *f,
		  unsigned char ret[HASH_LEN], struct err *err)
{
	struct world *w = arg;
	const char *text = text_of(w, f);
	uint64_t sum;

	if (strcmp(text, "unreadable") == 0)
		return fail(err, EACCES, "unreadable");
	if (strcmp(text, "too much") == 0)
		return fail(err, EFBIG, "too much");
	w->keys++;
	sum = hash_check(text, strlen(text));
	memset(ret, 0, HASH_LEN);
	memcpy(ret, &sum, sizeof(sum));
	return 0;
}

static int bytes_of(void *arg, const struct moves_file *f, struct buf *to,
		    struct err *err)
{
	struct world *w = arg;

	(void)err;
	w->bytes++;
	buf_add_text(to, text_of(w, f));
	return 0;
}

static void add(struct moves *m, bool added, const struct made *list)
{
	size_t i;

	for (i = 0; list[i].path; i++) {
		mode_t mode = list[i].text ? S_IFREG | 0644 : S_IFDIR | 0755;
		struct moves_file *f;

		f = moves_add(m, added, list[i].path,
			      list[i].mode ? list[i].mode : mode,
			      list[i].text ? strlen(list[i].text) : 0);
		f->index = i;
		f->over = list[i].over;
	}
}

/* The moves as "a>b a/f>b/f*90 ", sorted by the new path; + marks a move with
 * the parent directory, a number a similarity. */
static void told(const struct moves *m, struct buf *to)
{
	size_t i;

	for (i = 0; i < m->added.count; i++) {
		const struct moves_file *f = &m->added.items[i];
		const struct moves_file *g = f->other;

		if (!g)
			continue;
		assert_ptr_equal(g->other, f);
		assert_int_equal(g->percent, f->percent);
		assert_int_equal(g->with_parent, f->with_parent);
		buf_printf(to, "%s>%s%s%s ", g->path, f->path,
			   f->percent < 100 ? "*" : "",
			   f->with_parent ? "+" : "");
		assert_true(f->percent >= MOVES_SIMILAR);
	}
}

static void check_world(struct world *w, const char *want, bool limited)
{
	const struct moves_source source = {key_of, bytes_of, w};
	struct moves m = {0};
	struct buf b = {0};

	add(&m, false, w->deleted);
	add(&m, true, w->added);
	moves_find(&m, &source);
	told(&m, &b);
	assert_string_equal(buf_text(&b), want);
	assert_int_equal(m.limited, limited);
	buf_free(&b);
	moves_free(&m);
}

static void check(const struct made *deleted, const struct made *added,
		  const char *want)
{
	struct world w = {.deleted = deleted, .added = added};

	check_world(&w, want, false);
}

#define END                                                                    \
	{                                                                      \
		0                                                              \
	}
#define LINES "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n"

static void test_same_bytes_are_a_move_and_others_none(void **state)
{
	(void)state;
	check((const struct made[]){{"a", "hello"}, {"b", "other"}, END},
	      (const struct made[]){{"c", "hello"}, {"d", "x"}, END}, "a>c ");
	check((const struct made[]){{"a", "hello"}, END},
	      (const struct made[]){{"c", "hullo"}, END}, "");
	check((const struct made[]){END},
	      (const struct made[]){{"c", "x"}, END}, "");
	/* A symbolic link with the same target text is no such file. */
	check((const struct made[]){{"a", "hello", S_IFLNK | 0777}, END},
	      (const struct made[]){{"c", "hello"}, END}, "");
	check((const struct made[]){{"a", "hello", S_IFLNK | 0777}, END},
	      (const struct made[]){{"b/a", "hello", S_IFLNK | 0777}, END},
	      "a>b/a ");
}

static void test_an_empty_file_moves_under_its_own_name_only(void **state)
{
	(void)state;
	check((const struct made[]){{"a/empty", ""}, {"b/none", ""}, END},
	      (const struct made[]){{"c/empty", ""}, {"d", ""}, END},
	      "a/empty>c/empty ");
}

static void test_a_folder_goes_with_what_is_in_it(void **state)
{
	(void)state;
	check((const struct made[]){{"src"},
				    {"src/a", "alpha"},
				    {"src/sub"},
				    {"src/sub/b", "beta"},
				    {"src/void"},
				    END},
	      (const struct made[]){{"lib"},
				    {"lib/a", "alpha"},
				    {"lib/sub"},
				    {"lib/sub/b", "beta"},
				    {"lib/void"},
				    END},
	      "src>lib src/a>lib/a+ src/sub>lib/sub+ "
	      "src/sub/b>lib/sub/b+ src/void>lib/void+ ");
}

static void test_what_is_lost_or_new_in_a_moved_folder_is_no_move(void **state)
{
	(void)state;
	check((const struct made[]){{"src"},
				    {"src/a", "alpha"},
				    {"src/b", "beta"},
				    {"src/lost", "lost"},
				    END},
	      (const struct made[]){{"lib"},
				    {"lib/a", "alpha"},
				    {"lib/b", "beta"},
				    {"lib/new", "not it"},
				    END},
	      "src>lib src/a>lib/a+ src/b>lib/b+ ");
	/* Less than half of its content: the directory has not moved. */
	check(
		(const struct made[]){
			{"src"}, {"src/a", "alpha"}, {"src/b", "beta"}, END},
		(const struct made[]){{"lib"}, {"lib/a", "alpha"}, END},
		"src/a>lib/a ");
}

static void test_a_folder_that_is_torn_apart_is_told_in_parts(void **state)
{
	(void)state;
	check((const struct made[]){{"src"},
				    {"src/one"},
				    {"src/one/a", "alpha"},
				    {"src/one/b", "beta"},
				    {"src/two"},
				    {"src/two/c", "gamma"},
				    END},
	      (const struct made[]){{"else"},
				    {"else/c", "gamma"},
				    {"lib"},
				    {"lib/one"},
				    {"lib/one/a", "alpha"},
				    {"lib/one/b", "beta"},
				    END},
	      "src/two>else src/two/c>else/c+ src>lib src/one>lib/one+ "
	      "src/one/a>lib/one/a+ src/one/b>lib/one/b+ ");
}

static void test_of_several_the_one_of_the_same_place_is_taken(void **state)
{
	(void)state;
	/* Equal licence files everywhere, one of which did not move. */
	check((const struct made[]){{"src"},
				    {"src/a"},
				    {"src/a/licence", "free"},
				    {"src/a/x", "xxxx1"},
				    {"src/b"},
				    {"src/b/licence", "free"},
				    {"src/b/y", "yyyy2"},
				    END},
	      (const struct made[]){{"lib"},
				    {"lib/a"},
				    {"lib/a/x", "xxxx1"},
				    {"lib/b"},
				    {"lib/b/licence", "free"},
				    {"lib/b/y", "yyyy2"},
				    END},
	      "src>lib src/a>lib/a+ src/a/x>lib/a/x+ src/b>lib/b+ "
	      "src/b/licence>lib/b/licence+ src/b/y>lib/b/y+ ");
	/* No directory gives a hint: by name, then in order. */
	check((const struct made[]){{"p", "same"}, {"q", "same"}, END},
	      (const struct made[]){{"n/q", "same"}, {"z", "same"}, END},
	      "q>n/q p>z ");
}

static void test_texts_that_are_alike_are_moved_with_changes(void **state)
{
	(void)state;
	check((const struct made[]){{"a", LINES "eleven\n"},
				    {"b", "nothing\nof\nthe\nkind\nat\nall\n"},
				    END},
	      (const struct made[]){{"c", LINES "twelve\n"}, END}, "a>c* ");
	/* In a moved directory, and by a name that is unique. */
	check((const struct made[]){{"src"},
				    {"src/a", "alpha"},
				    {"src/b", "beta"},
				    {"src/c", LINES "1\n"},
				    END},
	      (const struct made[]){{"lib"},
				    {"lib/a", "alpha"},
				    {"lib/b", "beta"},
				    {"lib/c", LINES "2\n"},
				    END},
	      "src>lib src/a>lib/a+ src/b>lib/b+ src/c>lib/c*+ ");
}

static void test_the_most_alike_wins(void **state)
{
	(void)state;
	check((const struct made[]){{"far", LINES "a\nb\nc\nd\n"},
				    {"near", LINES "1\n2\n3\n4\n"},
				    END},
	      (const struct made[]){{"new", LINES "1\n2\n3\n5\n"}, END},
	      "near>new* ");
}

static void test_over_another_only_by_the_very_bytes(void **state)
{
	(void)state;
	check((const struct made[]){{"a", "hello"}, END},
	      (const struct made[]){{"b", "hello", .over = true}, END}, "a>b ");
	check((const struct made[]){{"a", LINES "1\n"}, END},
	      (const struct made[]){{"b", LINES "2\n", .over = true}, END}, "");
	/* A file of a new name is preferred. */
	check((const struct made[]){{"a", "hello"}, END},
	      (const struct made[]){
		      {"b", "hello", .over = true}, {"c", "hello"}, END},
	      "a>c ");
}

static void test_what_cannot_be_read_is_no_move(void **state)
{
	struct world w = {
		.deleted = (const struct made[]){{"a", "unreadable"}, END},
		.added = (const struct made[]){{"b", "unreadable"}, END},
	};
	struct world much = {
		.deleted = (const struct made[]){{"a", "too much"}, END},
		.added = (const struct made[]){{"b", "too much"}, END},
	};

	(void)state;
	check_world(&w, "", false);
	check_world(&much, "", true);
}

static void test_only_what_may_be_the_same_is_read(void **state)
{
	struct world w = {
		.deleted =
			(const struct made[]){{"a", "four"}, {"b", "x"}, END},
		.added = (const struct made[]){{"c", "1234567890"},
					       {"d", "1234567890123"},
					       {"e", "five"},
					       END},
	};

	(void)state;
	check_world(&w, "", false);
	assert_int_equal(w.keys, 2);
	assert_int_equal(w.bytes, 2);
}

/* Every file has its own name: neither name nor directory selects a pair. */
static void fill(struct made *list, char names[][16], char side, size_t count,
		 const char *text)
{
	size_t i;

	for (i = 0; i < count; i++) {
		(void)snprintf(names[i], sizeof(names[i]), "%c%06u", side,
			       (unsigned int)i);
		list[i] = (struct made){.path = names[i], .text = text};
	}
}

static void test_too_many_to_compare_are_left_alone(void **state)
{
	enum { MANY = MOVES_SIMILAR_FILES };
	static struct made deleted[MANY + 1], added[MANY + 1];
	static char gone_names[MANY][16], came_names[MANY][16];
	struct world w = {.deleted = deleted, .added = added};

	(void)state;
	fill(deleted, gone_names, 'g', MANY, LINES "1\n");
	fill(added, came_names, 'n', MANY, LINES "22\n");
	check_world(&w, "", true);
	assert_int_equal(w.bytes, 0);
}

static void test_a_hundred_thousand_on_either_side_take_no_time(void **state)
{
	enum { MANY = 100000 };
	static struct made deleted[MANY + 1], added[MANY + 1];
	static char gone_names[MANY][16], came_names[MANY][16];
	struct world w = {.deleted = deleted, .added = added};
	const struct moves_source source = {key_of, bytes_of, &w};
	struct moves m = {0};
	size_t i, moved = 0;

	(void)state;
	/* Equal bytes in all files: the worst case. */
	fill(deleted, gone_names, 'g', MANY, "same");
	fill(added, came_names, 'n', MANY, "same");
	add(&m, false, deleted);
	add(&m, true, added);
	moves_find(&m, &source);
	for (i = 0; i < MANY; i++)
		moved += m.deleted.items[i].other == &m.added.items[i];
	assert_int_equal(moved, MANY);
	assert_int_equal(w.keys, 2 * MANY);
	moves_free(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_bytes_are_a_move_and_others_none),
		cmocka_unit_test(
			test_an_empty_file_moves_under_its_own_name_only),
		cmocka_unit_test(test_a_folder_goes_with_what_is_in_it),
		cmocka_unit_test(
			test_what_is_lost_or_new_in_a_moved_folder_is_no_move),
		cmocka_unit_test(
			test_a_folder_that_is_torn_apart_is_told_in_parts),
		cmocka_unit_test(
			test_of_several_the_one_of_the_same_place_is_taken),
		cmocka_unit_test(
			test_texts_that_are_alike_are_moved_with_changes),
		cmocka_unit_test(test_the_most_alike_wins),
		cmocka_unit_test(test_over_another_only_by_the_very_bytes),
		cmocka_unit_test(test_what_cannot_be_read_is_no_move),
		cmocka_unit_test(test_only_what_may_be_the_same_is_read),
		cmocka_unit_test(test_too_many_to_compare_are_left_alone),
		cmocka_unit_test(
			test_a_hundred_thousand_on_either_side_take_no_time),
	};

	parse_worker_install();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
