/* users: one */
#include "guard/review/loss.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka has a fail() too. */
#undef fail
#include <cmocka.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/auto.h"
#include "base/fd.h"
#include "guard/review/verdict.h"

/* Texts as buffers; NULL: no such file. */
static bool is_loss(const char *old, const char *head, const char *now)
{
	AUTO(buf) struct buf o = {0}, h = {0}, n = {0};

	buf_add_text(&o, old);
	buf_add_text(&h, head ? head : "");
	buf_add_text(&n, now ? now : "");
	return loss_of_lines(&o, head ? &h : NULL, now ? &n : NULL);
}

static void an_edit_keeps_most_of_the_own_lines(void **state)
{
	(void)state;
	assert_false(is_loss("a\nb\nc\n", NULL, "a\nb\nx\n"));
	assert_true(is_loss("a\nb\nc\n", NULL, "a\nx\ny\n"));
	assert_false(is_loss("a\nb\n", "a\nb\n", "z\n"));
	assert_false(is_loss("a\r\nb\r\n", "a\nb\n", NULL));
}

static void a_small_edit_of_own_lines_is_no_loss(void **state)
{
	(void)state;
	assert_false(is_loss("a\nown\n", "a\n", "a\nother\n"));
	assert_true(is_loss("a\nown\n", "a\n", "a\n"));
	assert_true(is_loss("a\nown\n", "a\n", NULL));
	assert_true(is_loss("a\n1\n2\n3\n", "a\n", "a\nx\ny\nz\n"));
	assert_false(is_loss("a\n1\n2\n3\n", "a\n", "a\n1\n2\nz\n"));
}

static void a_repeated_line_counts_as_often_as_it_stands(void **state)
{
	(void)state;
	assert_true(is_loss("x\nx\nx\nx\nx\n", NULL, "x\n"));
	assert_false(is_loss("x\nx\nx\nx\n", NULL, "x\nx\n"));
}

static int open_directory(void)
{
	char dir[] = "/tmp/verdict.XXXXXX";

	assert_non_null(mkdtemp(dir));
	return open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static struct verdict example(void)
{
	return (struct verdict){
		.items = {{.id = "no-copy",
			   .level = RISK_CRITICAL,
			   .count = 2,
			   .text = mem_strdup("2 deleted files: a, b"),
			   .brief = mem_strdup("2 only copies")},
			  {.id = "high",
			   .level = RISK_HIGH,
			   .count = 1,
			   .text = mem_strdup("Makefile runs"),
			   .brief = mem_strdup("1 high")}},
		.count = 2,
		.complete = true,
	};
}

static void a_cached_verdict_is_read_for_its_key_only(void **state)
{
	const struct verdict_key key = {7, 3}, other = {8, 3}, fewer = {7, 2};
	AUTO(verdict) struct verdict v = example(), got = {0}, none = {0};
	auto_close int fd = open_directory();
	struct err err;

	(void)state;
	assert_int_equal(verdict_load(fd, key, &none), 0);
	assert_int_equal(verdict_save(fd, key, &v, &err), 0);
	assert_int_equal(verdict_load(fd, other, &none), 0);
	assert_int_equal(verdict_load(fd, fewer, &none), 0);
	assert_int_equal(verdict_load(fd, key, &got), 1);
	assert_true(verdict_equal(&v, &got));
	assert_true(got.complete);
	assert_string_equal(got.items[0].id, "no-copy");
	assert_int_equal(got.items[0].count, 2);
	assert_string_equal(got.items[1].brief, "1 high");
	assert_int_equal(got.items[1].level, RISK_HIGH);
}

static void a_cache_that_is_cut_anywhere_is_no_verdict(void **state)
{
	const struct verdict_key key = {7, 3};
	AUTO(verdict) struct verdict v = example();
	AUTO(buf) struct buf all = {0};
	auto_close int fd = open_directory();
	size_t len;
	struct err err;

	(void)state;
	assert_int_equal(verdict_save(fd, key, &v, &err), 0);
	assert_true(fd_slurp_at(fd, "verdict", 4096, &all, &err) >= 0);
	for (len = 0; len < all.len; len++) {
		AUTO(verdict) struct verdict got = {0};

		assert_int_equal(atomic_write(fd, "verdict", all.data, len,
					      0600, ATOMIC_NO_SYNC, &err),
				 0);
		assert_int_equal(verdict_load(fd, key, &got), 0);
	}
}

static void a_verdict_without_a_stored_result_is_not_cached(void **state)
{
	const struct verdict_key key = {0, 3};
	AUTO(verdict) struct verdict v = example(), got = {0};
	auto_close int fd = open_directory();
	struct err err;

	(void)state;
	assert_int_equal(verdict_save(fd, key, &v, &err), 0);
	assert_int_equal(verdict_load(fd, key, &got), 0);
	assert_int_equal(faccessat(fd, "verdict", F_OK, 0), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_edit_keeps_most_of_the_own_lines),
		cmocka_unit_test(a_small_edit_of_own_lines_is_no_loss),
		cmocka_unit_test(a_repeated_line_counts_as_often_as_it_stands),
		cmocka_unit_test(a_cached_verdict_is_read_for_its_key_only),
		cmocka_unit_test(a_cache_that_is_cut_anywhere_is_no_verdict),
		cmocka_unit_test(
			a_verdict_without_a_stored_result_is_not_cached),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
